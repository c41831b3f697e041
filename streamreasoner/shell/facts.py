"""Facts as the shell prints them. Invariant: the order is deterministic.

Facts are sorted by predicate, then argument by argument in the total order of terms: numbers by
value, strings by their characters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.lang.ast import Atom, Constant, Span, Variable
from streamreasoner.lang.printer import print_literal
from streamreasoner.shell.command import Fact
from streamreasoner.values.order import order_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from streamreasoner.api.reasoner import Update
    from streamreasoner.rdf.dictionary import TermDictionary
    from streamreasoner.shell.command import Pattern

_NOWHERE = Span("", 1, 1, 1, 1, 0, 0)
_CACHED_KEYS = 1 << 16
_key_of_term = lru_cache(maxsize=_CACHED_KEYS)(order_key)


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
        arguments = tuple(self._constant(term) for term in fact.terms)
        return print_literal(Atom(fact.predicate, arguments, _NOWHERE), self.prefixes)

    def _constant(self, term: str) -> Constant:
        return self._constants.setdefault(term, Constant(term, _NOWHERE))


def sort_key(fact: Fact) -> tuple[str, tuple[bytes, ...]]:
    """Sort key of a fact."""
    return fact.predicate, tuple(map(_key_of_term, fact.terms))


def fact_of(update: Update) -> Fact:
    """The fact of an update."""
    return Fact(update.predicate, tuple(map(to_ntriples, update.args)))


def decode_facts(predicate: str, args: NDArray[np.int32], dictionary: TermDictionary) -> list[Fact]:
    """Facts of term ids, int32 of shape (n, arity), in the same order."""
    distinct, positions = np.unique(args, return_inverse=True)
    terms = cast("list[str]", dictionary.decode(distinct).to_pylist())
    rows = cast("list[list[int]]", positions.reshape(args.shape).tolist())
    return [Fact(predicate, tuple(terms[i] for i in row)) for row in rows]


def in_order(args: NDArray[np.int32], dictionary: TermDictionary) -> NDArray[np.int32]:
    """Rows of term ids of one predicate, int32 of shape (n, arity), in the order of `sort_key`.

    Each distinct term is compared once, whatever the number of rows.
    """
    if not args.size:
        return args
    distinct, positions = np.unique(args, return_inverse=True)
    keys = [_key_of_term(term) for term in dictionary.decode(distinct).to_pylist()]
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return args[np.lexsort(ranks[positions.reshape(args.shape)].T[::-1])]


def matching(
    pattern: Pattern, args: NDArray[np.int32], dictionary: TermDictionary
) -> NDArray[np.bool_]:
    """Which rows of term ids, int32 of shape (n, arity), match a pattern."""
    mask = np.ones(len(args), dtype=np.bool_)
    first: dict[str, int] = {}
    for position, argument in enumerate(pattern.arguments or ()):
        match argument:
            case Constant(term):
                term_id = dictionary.find(term)
                mask &= args[:, position] == (-1 if term_id is None else term_id)
            case Variable(name):
                mask &= args[:, position] == args[:, first.setdefault(name, position)]
            case _:
                pass
    return mask
