"""The AST of the rule language. Invariant: equality of nodes ignores their spans.

Every node has the span it was read from, for diagnostics. Constants are canonical N-Triples text,
so all spellings of a term are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from streamreasoner.rdf.terms import parse

if TYPE_CHECKING:
    from streamreasoner.rdf.graph_mode import GraphMode

TRIPLE = "triple"
"""The predicate of `[?s, ?p, ?o]`; its arity is 3."""

QUAD = "quad"
"""The predicate of `[?s, ?p, ?o, ?g]`, a triple in the graph ?g; its arity is 4."""

ARITIES = {TRIPLE: 3, QUAD: 4}
"""Number of arguments of the bracketed predicates."""

COLUMNS = {TRIPLE: ("s", "p", "o"), QUAD: ("s", "p", "o", "g")}
"""The columns of their arguments, in tables of any kind."""

TRIPLE_PARTS = ("subject", "predicate", "object")
"""The functions of the parts of a triple term, in order."""

NEW_NODE = "blank"
"""The function of new nodes in heads, `blank("label")`: one for each solution of the body."""

GIVEN = "given@"
"""Before the name of a predicate: the hidden predicate of its asserted facts."""
RULE_SET = "srl_"
"""The beginning of the names of predicates that rule sets of SPARQL-RL need beyond triples."""
DATA_UNIT = "__unit"
"""The end of the name of the predicate that the triples of `DATA` are derived from."""

UNDECIDED = "undecided"
"""The kind of hidden predicates whose negation is part of a comparison, which says enough."""


def bracketed(count: int) -> str:
    """Return the predicate of a bracketed atom with `count` terms."""
    return QUAD if count == ARITIES[QUAD] else TRIPLE


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a rule text; lines and columns count from 1 and `end_column` is exclusive.

    Attributes:
        source: Name of the text in diagnostics.
        line: First line.
        column: First column.
        end_line: Last line.
        end_column: Column after the last character.
        start: Character offset of the first character, from 0.
        end: Character offset after the last character.
    """

    source: str
    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int

    @property
    def place(self) -> str:
        """Source and line: `rules.dl:3`."""
        return f"{self.source}:{self.line}"


NOWHERE = Span("", 1, 1, 1, 1, 0, 0)
"""Span of a node that is in no source text."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A ground term, as canonical N-Triples text."""

    term: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """A named variable; `name` has no question mark."""

    name: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Wildcard:
    """The anonymous variable `_`; each occurrence is a distinct variable."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BinaryOperation:
    """Arithmetic on two operands; `operator` is one of `+ - * / % **`."""

    operator: str
    left: Expression
    right: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UnaryMinus:
    """The negative of an operand that is not a number literal (`-5` is a Constant)."""

    operand: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in applied to arguments: a value in an expression, a test as a body literal."""

    function: str
    arguments: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TripleTerm:
    """A triple term with parts that are not constant: `<<( ?s ex:p ?o )>>`.

    In an atom of a body it is a pattern, and the atom binds the variables in it. Elsewhere it is a
    value, and has none if the parts do not make a triple of RDF.
    """

    subject: Expression
    predicate: Expression
    object: Expression
    span: Span = field(compare=False, repr=False)

    @property
    def parts(self) -> tuple[Expression, Expression, Expression]:
        """Subject, predicate and object."""
        return self.subject, self.predicate, self.object


@dataclass(frozen=True, slots=True)
class Conditional:
    """`if(condition, then, otherwise)`; the condition is a conjunction without atoms."""

    condition: tuple[Literal, ...]
    then: Expression
    otherwise: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over the group of the other head arguments, e.g. `count(distinct ?y)`."""

    function: str
    arguments: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)
    distinct: bool = False

    @property
    def operation(self) -> str:
        """What is computed: `count`, `count distinct`, `sum`, …, or `lowest 3` with a parameter."""
        if self.distinct:
            return f"{self.function} distinct"
        values = (parse(each.term).value for each in self.parameters if isinstance(each, Constant))
        return " ".join((self.function, *values))

    @property
    def parameters(self) -> tuple[Expression, ...]:
        """The arguments behind the operand, which are constants."""
        return self.arguments[1:]


@dataclass(frozen=True, slots=True)
class BodyAggregate:
    """An aggregate over the matches of a body of its own: `count(?y) { edge(?x, ?y) }`.

    Its group are the variables that the rule has elsewhere too. A count may have no argument.
    """

    function: str
    arguments: tuple[Expression, ...]
    body: tuple[Literal, ...]
    span: Span = field(compare=False, repr=False)
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate applied to arguments.

    `[?s, ?p, ?o]` is the atom `triple(?s, ?p, ?o)`, `[?s, ?p, ?o, ?g]` is `quad(?s, ?p, ?o, ?g)`.
    `violation` says whether it is a head marked with `!`, of a constraint; `asserted` whether it
    is an atom of a body that only asserted facts match.
    """

    predicate: str
    arguments: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)
    violation: bool = False
    asserted: bool = False

    @property
    def reads(self) -> str:
        """The predicate whose facts it matches in a body: a hidden one, of asserted facts."""
        return f"{GIVEN}{self.predicate}" if self.asserted else self.predicate

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.arguments)


@dataclass(frozen=True, slots=True)
class Negation:
    """A body literal that holds iff `atom` (or the built-in test) does not."""

    atom: Atom | Call
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NegatedBody:
    """A body literal that holds iff its own body has no match: `not { edge(?x, ?y), ?y > 1 }`.

    Variables that the rule has elsewhere too have their values there; others are local.
    """

    body: tuple[Literal, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A filter on values, or an assignment; `operator` is one of `= != < <= > >=`."""

    left: Expression
    operator: str
    right: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """A body literal that holds iff one of its alternatives, each a conjunction, does."""

    alternatives: tuple[tuple[Literal, ...], ...]
    span: Span = field(compare=False, repr=False)


Term: TypeAlias = Constant | Variable | Wildcard
Operation: TypeAlias = BinaryOperation | UnaryMinus | Call | Conditional
Expression: TypeAlias = Term | TripleTerm | Operation | Aggregate | BodyAggregate
Literal: TypeAlias = Atom | Negation | NegatedBody | Comparison | Disjunction | Call


Node = TypeVar("Node", bound="Expression | Literal")


@dataclass(frozen=True, slots=True)
class Rule:
    """`heads :- body .`; a fact has no body. In normal form: one head and no disjunction.

    `name` is that of `@rule "name" heads :- body .`, for people: it changes nothing of what the
    rule means, so rules that differ in nothing else are equal.
    """

    heads: tuple[Atom, ...]
    body: tuple[Literal, ...]
    span: Span = field(compare=False, repr=False)
    name: str | None = field(default=None, compare=False)

    @property
    def head(self) -> Atom:
        """The first head, the only one of a rule in normal form."""
        return self.heads[0]

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The positive atoms of the body in textual order, without those in disjunctions."""
        return tuple(literal for literal in self.body if isinstance(literal, Atom))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The comparisons of the body in textual order, without those in disjunctions."""
        return tuple(literal for literal in self.body if isinstance(literal, Comparison))


@dataclass(frozen=True, slots=True)
class Prefix:
    """`@prefix name: <iri> .`; the empty name is legal."""

    name: str
    iri: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Base:
    """`@base <iri> .`, which resolves the relative IRIs after it."""

    iri: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PredicateIndicator:
    """A predicate named by a directive, `edge` or `edge/2`; `arity` is None if not given."""

    predicate: str
    arity: int | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Input:
    """`@input edge/2, node/1 .`: predicates whose facts come from the input."""

    signatures: tuple[PredicateIndicator, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """`@output path, lonely .`: predicates whose changes are published; by default all are."""

    signatures: tuple[PredicateIndicator, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Hidden:
    """`@hidden part/2 .`: predicates whose changes are published only if an @output names them."""

    signatures: tuple[PredicateIndicator, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Graphs:
    """`@graphs each .`: how quads count for rules about triples."""

    mode: GraphMode
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Annotate:
    """`@annotate ex:provenance .`: the named graph of what tells which rules derive a triple."""

    graph: Constant
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Import:
    """`@import "file.dl" .`: rules of another file, or of a packaged ruleset by its name."""

    name: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Query:
    """`@query late "late.rq" .`: the answers of a query in SPARQL are facts of a predicate."""

    predicate: str
    file: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Expires:
    """`@expires [_, ex:in, _] after "PT10M" every "PT1M" .`: facts that leave by themselves.

    Attributes:
        pattern: The facts: an atom of constants and wildcards.
        after: How long after their time they leave, in milliseconds.
        every: They leave at multiples of it, in milliseconds; 1 unless it is given.
    """

    pattern: Atom
    after: int
    every: int
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """`@message late(?x) "{?x} is late" .`: the text of a constraint's violations."""

    atom: Atom
    text: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Columns:
    """`@columns path(?from, ?to) .`: names of the arguments of a predicate, in tables."""

    atom: Atom
    span: Span = field(compare=False, repr=False)


Declaration: TypeAlias = Input | Output | Hidden
Directive: TypeAlias = (
    Prefix | Base | Declaration | Graphs | Annotate | Import | Query | Expires | Message | Columns
)


@dataclass(frozen=True, slots=True)
class Program:
    """A rule file.

    Attributes:
        source: Name of the text in diagnostics.
        text: The source text.
        directives: Directives in textual order.
        rules: Rules and facts in textual order.
    """

    source: str = field(compare=False)
    text: str = field(compare=False, repr=False)
    directives: tuple[Directive, ...]
    rules: tuple[Rule, ...]

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefix name to IRI."""
        return {item.name: item.iri for item in self.directives if isinstance(item, Prefix)}
