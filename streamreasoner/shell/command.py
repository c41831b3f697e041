"""The commands of the shell as values. Invariant: a command names only predicates of the program.

`CATALOGUE` documents their syntax; `parse` reads them from text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.errors import StreamReasonerError

if TYPE_CHECKING:
    from streamreasoner.facts import Fact, FactPattern
    from streamreasoner.lang.ast import Prefix
    from streamreasoner.query.question import Question


class CommandError(StreamReasonerError):
    """A command of the shell that cannot be parsed or executed; nothing has changed."""


class ArgumentKind(Enum):
    """The kind of arguments a command takes, which decides where the command ends."""

    NOTHING = "nothing"
    WORD = "one word"
    FACTS = "facts"
    PATTERN = "a predicate, or an atom with variables"
    QUESTION = "a predicate, or the body of a rule"
    RULES = "rules, ended by a dot"
    REQUEST = "a request of SPARQL Update"


@dataclass(frozen=True, slots=True)
class Entry:
    """Help for a command.

    Attributes:
        usage: An example or pattern.
        summary: A short description.
        argument_kind: The kind of its arguments.
    """

    usage: str
    summary: str
    argument_kind: ArgumentKind = ArgumentKind.NOTHING


CATALOGUE = {
    "insert": Entry(
        "insert f(1), g(2).",
        "queue facts to assert; `* 3` asserts each 3 times",
        ArgumentKind.FACTS,
    ),
    "remove": Entry("remove f(1).", "queue facts to retract", ArgumentKind.FACTS),
    "pending": Entry("pending", "show the pending updates"),
    "commit": Entry("commit", "apply the pending updates as one epoch, and print its changes"),
    "rollback": Entry("rollback", "discard the pending updates"),
    "load": Entry(
        "load FILE",
        "assert the facts of a file, or add the rules of one, as an epoch of its own",
        ArgumentKind.WORD,
    ),
    "update": Entry(
        "update INSERT DATA { ex:a ex:p 1 }",
        "perform a request of SPARQL Update, as an epoch of its own",
        ArgumentKind.REQUEST,
    ),
    "list": Entry(
        "list f(1, ?x), g(?x)",
        "print the present facts of a predicate, or what a body matches",
        ArgumentKind.QUESTION,
    ),
    "count": Entry(
        "count f(1, ?x), g(?x)",
        "count the present facts of a predicate, or what a body matches",
        ArgumentKind.QUESTION,
    ),
    "explain": Entry(
        "explain f(1)", "why a fact is present, or why it is absent", ArgumentKind.PATTERN
    ),
    "trace": Entry(
        "trace f(1, ?x)", "the multiplicities of facts by iteration", ArgumentKind.PATTERN
    ),
    "advance": Entry(
        "advance PT10M",
        "let time pass, as an epoch of its own, and print what expires",
        ArgumentKind.WORD,
    ),
    "predicates": Entry("predicates", "the predicates of the program and how many facts they have"),
    "rules": Entry("rules", "the rules of the program, numbered"),
    "rule": Entry("rule f(?x) :- g(?x).", "add rules, as an epoch of its own", ArgumentKind.RULES),
    "drop": Entry(
        "drop 2", "remove the rule with this number, as an epoch of its own", ArgumentKind.WORD
    ),
    "plan": Entry("plan", "how the program is evaluated"),
    "stats": Entry("stats", "the size of the state"),
    "@prefix": Entry(
        "@prefix ex: <http://…/> .", "declare a prefix for later commands", ArgumentKind.RULES
    ),
    "help": Entry("help COMMAND", "list the commands, or show the usage of one", ArgumentKind.WORD),
    "quit": Entry("quit", "leave the shell, as Ctrl-D does"),
}
"""Every command by name, in the order of `help`."""

ALIASES = {
    "discard": "rollback",
    "why-not": "explain",
    "why": "explain",
    "exit": "quit",
}
"""Aliases of commands."""


@dataclass(frozen=True, slots=True)
class QueueUpdates:
    """`insert` and `remove`: facts to queue as updates, all with the same multiplicity."""

    facts: tuple[Fact, ...]
    multiplicity: int


@dataclass(frozen=True, slots=True)
class PerformUpdate:
    """`update`: a request of SPARQL Update, with the prefixes in scope."""

    text: str


@dataclass(frozen=True, slots=True)
class Load:
    """`load`: the facts or rules of a file."""

    path: str


@dataclass(frozen=True, slots=True)
class ListFacts:
    """`list` of an atom: the present facts that match."""

    pattern: FactPattern


@dataclass(frozen=True, slots=True)
class CountFacts:
    """`count` of an atom: the number of facts that match."""

    pattern: FactPattern


@dataclass(frozen=True, slots=True)
class ListAnswers:
    """`list` of a body: its answers."""

    question: Question


@dataclass(frozen=True, slots=True)
class CountAnswers:
    """`count` of a body: the number of its answers."""

    question: Question


@dataclass(frozen=True, slots=True)
class ShowTrace:
    """`trace`: the multiplicities of the facts that match."""

    pattern: FactPattern


@dataclass(frozen=True, slots=True)
class Explain:
    """`explain`: why a fact is present, or absent."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class AddRules:
    """`rule`: rules to add.

    Attributes:
        typed: The command as typed.
        text: The rules, preceded by the prefixes in scope.
    """

    typed: str
    text: str


@dataclass(frozen=True, slots=True)
class DropRule:
    """`drop`: the number of a rule in the output of `rules`."""

    number: int


@dataclass(frozen=True, slots=True)
class Advance:
    """`advance`: how much time passes, in milliseconds."""

    duration: int


@dataclass(frozen=True, slots=True)
class DeclarePrefix:
    """`@prefix`: a prefix for later commands."""

    prefix: Prefix


@dataclass(frozen=True, slots=True)
class Help:
    """`help`: for one command, or for all."""

    command: str | None


class Simple(Enum):
    """The commands without arguments."""

    PENDING = "pending"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    PREDICATES = "predicates"
    RULES = "rules"
    PLAN = "plan"
    STATS = "stats"
    QUIT = "quit"


Command: TypeAlias = (
    QueueUpdates
    | PerformUpdate
    | Load
    | ListFacts
    | CountFacts
    | ListAnswers
    | CountAnswers
    | ShowTrace
    | Explain
    | AddRules
    | DropRule
    | Advance
    | DeclarePrefix
    | Help
    | Simple
)
