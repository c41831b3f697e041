"""Rule sets of SPARQL 1.2 RL as values. Invariant: bodies have triple patterns without paths.

A blank node of a body is a variable that the text cannot name. One of a head or of data is a
variable of `RuleSet.blank_nodes`: a new node for each solution, or one of the document.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Import, Span, Variable
    from streamreasoner.sparql.algebra import Expression, Node, Term


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple pattern of a body, a template of a head, or a triple of data."""

    subject: Node
    predicate: Term
    object: Node
    span: Span = field(compare=False, repr=False)

    @property
    def terms(self) -> tuple[Node, Node, Node]:
        """Subject, predicate and object."""
        return self.subject, self.predicate, self.object


@dataclass(frozen=True, slots=True)
class Filter:
    """`FILTER condition`."""

    condition: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Absence:
    """`NOT { … }` or `NOT DATA { … }`."""

    body: tuple[Triple | Filter, ...]
    of_data: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`SET ( ?variable := expression )`."""

    variable: Variable
    expression: Expression
    span: Span = field(compare=False, repr=False)


Element: TypeAlias = Triple | Filter | Absence | Assignment


@dataclass(frozen=True, slots=True)
class Rule:
    """`RULE iri { head } WHERE { body }`.

    Attributes:
        head: The templates, in textual order.
        body: The elements, in textual order.
        of_data: Whether it is `WHERE DATA`, about the base graph alone.
        name: The IRI of the rule, which changes nothing of what it means.
        base: The IRI that IRI() resolves against; empty if there is none.
        span: Where the rule stands.
    """

    head: tuple[Triple, ...]
    body: tuple[Element, ...]
    of_data: bool
    name: str | None = field(compare=False, repr=False)
    base: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """A document.

    Attributes:
        rules: The rules, in textual order.
        data: The triples of all DATA blocks, in textual order.
        imports: What IMPORTS names.
        blank_nodes: The names of variables that stand for blank nodes.
        prefixes: Prefix name to IRI.
    """

    rules: tuple[Rule, ...]
    data: tuple[Triple, ...]
    imports: tuple[Import, ...]
    blank_nodes: frozenset[str]
    prefixes: tuple[tuple[str, str], ...]
