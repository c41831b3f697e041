"""Facts in the syntax of the rule language. Invariant: what is printed reads as the same fact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.lang.ast import Atom, Constant, Span
from streamreasoner.lang.printer import print_literal
from streamreasoner.query.facts import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.api.updates import Update

_NOWHERE = Span("", 1, 1, 1, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class FactPrinter:
    """Prints facts in the rule language.

    Attributes:
        prefixes: Prefix name to IRI; IRIs are shortened by them.
    """

    prefixes: Mapping[str, str]
    _constants: dict[str, Constant] = field(default_factory=dict)

    def text(self, fact: Fact) -> str:
        """`path(ex:a, 5)`, without a dot."""
        arguments = tuple(self._constant(term) for term in fact.arguments)
        return print_literal(Atom(fact.predicate, arguments, _NOWHERE), self.prefixes)

    def _constant(self, term: str) -> Constant:
        return self._constants.setdefault(term, Constant(term, _NOWHERE))


def fact_of(update: Update) -> Fact:
    """The fact of an update."""
    return Fact(update.predicate, tuple(map(to_ntriples, update.args)))
