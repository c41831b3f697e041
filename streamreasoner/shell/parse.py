"""Text to Command. Invariant: a returned command is well formed; executing it may still fail."""

from __future__ import annotations

import re
import shlex
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING

from streamreasoner import durations
from streamreasoner.lang.statements import is_blank
from streamreasoner.query.question import Question, read_question
from streamreasoner.query.syntax import (
    read_fact,
    read_facts,
    read_pattern,
    read_prefix,
    read_rules,
    read_update,
)
from streamreasoner.shell.command import (
    ALIASES,
    CATALOGUE,
    AddRules,
    Advance,
    ArgumentKind,
    Command,
    CommandError,
    CountAnswers,
    CountFacts,
    DeclarePrefix,
    DropRule,
    Explain,
    Help,
    ListAnswers,
    ListFacts,
    Load,
    PerformUpdate,
    QueueUpdates,
    ShowTrace,
    Simple,
)
from streamreasoner.shell.inputs import first_word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamreasoner.query.syntax import Scope

MAX_REPETITIONS = 1_000_000_000
"""Maximum of `* N`, so that no sum of typed updates overflows a multiplicity."""

_TIMES = re.compile(r"(?<=[)\]])\s*\*\s*([0-9]+)(?=\s*\.?\s*(?:(?:\#|//|%)[^\n]*)?\s*$)")
_TRAILING_COMMENT = re.compile(r"\s(?:\#|//|%)[^\n]*$")


def parse(text: str, scope: Scope) -> Command:
    """Read one command.

    Args:
        text: The command; it may have several lines and a trailing comment.
        scope: Resolves the names in it.

    Raises:
        CommandError: The command is unknown, or its arguments are wrong.
        ProgramError: A fact, pattern or rule has a syntax error or does not fit the program.
    """
    word, start = first_word(text)
    entry = CATALOGUE.get(word)
    if entry is None:
        raise CommandError(_unknown_command(text, word, start))
    if entry.argument_kind in (
        ArgumentKind.FACTS,
        ArgumentKind.PATTERN,
        ArgumentKind.QUESTION,
        ArgumentKind.RULES,
        ArgumentKind.REQUEST,
    ) and is_blank(text[start:]):
        raise CommandError(f"`{word}` needs {entry.argument_kind.value}, as in `{entry.usage}`.")
    reader = _READERS.get(word)
    if reader is None:
        return _from_words(word, _words(word, text[start:]))
    return reader(text, start, scope)


def _queue(text: str, start: int, scope: Scope, sign: int) -> QueueUpdates:
    times = _TIMES.search(text, start)
    multiplicity = 1
    if times is not None:
        multiplicity = int(times[1])
        if not 1 <= multiplicity <= MAX_REPETITIONS:
            raise CommandError(f"Cannot repeat {multiplicity} times; use 1 to {MAX_REPETITIONS:,}.")
        text = text[: times.start()] + " " * len(times[0]) + text[times.end() :]
    return QueueUpdates(read_facts(text, start, scope), sign * multiplicity)


def _list(text: str, start: int, scope: Scope) -> ListFacts | ListAnswers:
    asked = read_question(text, start, scope)
    return ListAnswers(asked) if isinstance(asked, Question) else ListFacts(asked)


def _count(text: str, start: int, scope: Scope) -> CountFacts | CountAnswers:
    asked = read_question(text, start, scope)
    return CountAnswers(asked) if isinstance(asked, Question) else CountFacts(asked)


_READERS: Mapping[str, Callable[[str, int, Scope], Command]] = MappingProxyType(
    {
        "insert": lambda text, start, scope: _queue(text, start, scope, 1),
        "remove": lambda text, start, scope: _queue(text, start, scope, -1),
        "list": _list,
        "count": _count,
        "trace": lambda text, start, scope: ShowTrace(read_pattern(text, start, scope)),
        "explain": lambda text, start, scope: Explain(read_fact(text, start, scope)),
        "update": lambda text, start, scope: PerformUpdate(read_update(text, start, scope)),
        "rule": lambda text, start, scope: AddRules(text, read_rules(text, start, scope)),
        "@prefix": lambda text, _, scope: DeclarePrefix(read_prefix(text, scope)),
    }
)
"""Commands whose arguments are read as text, from an offset."""


def _words(word: str, rest: str) -> list[str]:
    """The arguments of a command, without a final dot, except in a file name."""
    try:
        words = shlex.split(_TRAILING_COMMENT.sub("", f" {rest}"))
    except ValueError:
        raise CommandError(f"`{word}`: a quotation mark is not closed.") from None
    if words and word != "load":
        words[-1] = words[-1].removesuffix(".")
    return list(filter(None, words))


def _from_words(word: str, words: list[str]) -> Command:
    entry = CATALOGUE[word]
    match word, words:
        case "help", []:
            return Help(None)
        case "help", [name]:
            return _help(name)
        case "load", [path]:
            return Load(path)
        case "drop", [number]:
            if number.isascii() and number.isdigit():
                return DropRule(int(number))
            raise CommandError(f"'{number}' is not a rule number; `rules` lists them.")
        case "advance", [text]:
            try:
                return Advance(durations.milliseconds(text))
            except ValueError:
                raise CommandError(f"'{text}' is not {durations.ALLOWED}.") from None
        case _ if entry.argument_kind is ArgumentKind.WORD:
            raise CommandError(
                f"`{word}` needs {entry.argument_kind.value}, as in `{entry.usage}`."
            )
        case _, []:
            return Simple(word)
        case _:
            raise CommandError(f"`{word}` takes no argument, got '{' '.join(words)}'.")


def _help(name: str) -> Help:
    command = ALIASES.get(name, name)
    if command not in CATALOGUE:
        raise CommandError(_unknown_command(name, name, len(name)))
    return Help(command)


def _unknown_command(text: str, word: str, end: int) -> str:
    shown = word or text.strip().partition("\n")[0]
    close = get_close_matches(word.lower(), [*CATALOGUE, *ALIASES], 1)
    if close:
        return f"There is no command '{shown}'. Did you mean '{close[0]}'?"
    if text[end:].lstrip().startswith(("(", "[")) or text.lstrip().startswith("["):
        return (
            f"There is no command '{shown}'. Facts are asserted with `insert`, listed with `list`,"
            " and rules added with `rule`."
        )
    return f"There is no command '{shown}'; `help` lists the commands."
