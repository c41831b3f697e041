"""Facts that match a pattern, in order. Invariant: the order is deterministic.

Facts are sorted by predicate, then argument by argument in the total order of terms: numbers by
value, strings by their characters. Rows of term ids are int32 of shape (n, arity).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from streamreasoner.lang.ast import NOWHERE, Constant, TripleTerm, Variable, Wildcard
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_terms import components
from streamreasoner.values.order import order_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from numpy.typing import NDArray

    from streamreasoner.lang.ast import Atom, Expression, Term

T = TypeVar("T")
Bound: TypeAlias = "tuple[tuple[int, int | None], ...]"
"""Ids by position; None is that of a term without an id, which no row has."""

_CACHED_KEYS = 1 << 16
_key_of_term = lru_cache(maxsize=_CACHED_KEYS)(order_key)


class Terms(Protocol):
    """Terms and their ids: a dictionary, or the terms of a stored state."""

    def find(self, term: str) -> int | None:
        """Id of a canonical term, or None if there is none."""
        ...

    def decode(self, ids: NDArray[np.integer]) -> pa.LargeStringArray:
        """The terms of ids (any shape, flattened), in the same order."""
        ...


@dataclass(frozen=True, slots=True)
class Fact:
    """A predicate and canonical terms."""

    predicate: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactPattern:
    """Facts of a predicate, by what is at each position; None matches all.

    Only goals have triple terms that are not constant, whose parts are terms or triple terms.
    """

    predicate: str
    arguments: tuple[Term | TripleTerm, ...] | None = None

    @property
    def constants(self) -> tuple[tuple[int, str], ...]:
        """(position, term) of every constant, by position."""
        arguments = enumerate(self.arguments or ())
        return tuple((at, each.term) for at, each in arguments if isinstance(each, Constant))


def matched_by(atom: Atom) -> FactPattern:
    """What an atom of a body may match, whatever the values of its expressions."""
    return FactPattern(
        atom.predicate,
        tuple(
            each if isinstance(each, Constant | Variable) else Wildcard(NOWHERE)
            for each in atom.arguments
        ),
    )


def sort_key(fact: Fact) -> tuple[str, tuple[bytes, ...]]:
    """Sort key of a fact."""
    return fact.predicate, tuple(map(_key_of_term, fact.arguments))


def decode_facts(predicate: str, args: NDArray[np.int32], dictionary: Terms) -> list[Fact]:
    """Facts of rows of term ids, in the same order."""
    return [Fact(predicate, row) for row in decode_rows(args, dictionary, str)]


def decode_rows(
    args: NDArray[np.int32], dictionary: Terms, convert: Callable[[str], T]
) -> list[tuple[T, ...]]:
    """Rows of term ids as rows of terms, in the same order; each distinct term is converted once.

    Args:
        args: The rows.
        dictionary: Has the terms.
        convert: Makes what stands for a term.
    """
    distinct, positions = np.unique(args, return_inverse=True)
    terms = [convert(text) for text in dictionary.decode(distinct).to_pylist()]
    # Column by column: a list for each row would keep the garbage collector busy.
    columns = cast("list[list[int]]", positions.reshape(args.shape).T.tolist())
    if not columns:
        return [()] * len(args)
    return list(zip(*([terms[i] for i in column] for column in columns), strict=True))


def in_order(args: NDArray[np.int32], dictionary: Terms) -> NDArray[np.int32]:
    """Rows of term ids of one predicate, in the order of `sort_key`.

    Each distinct term is compared once, whatever the number of rows.
    """
    return args[np.lexsort(ranks(args, dictionary).T[::-1])] if args.size else args


def ranks(ids: NDArray[np.int32], dictionary: Terms) -> NDArray[np.int64]:
    """The places of terms in the total order of those given, of the same shape."""
    distinct, positions = np.unique(ids, return_inverse=True)
    keys = [_key_of_term(term) for term in dictionary.decode(distinct).to_pylist()]
    places = np.empty(len(keys), np.int64)
    places[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return places[positions.reshape(ids.shape)]


def matching(pattern: FactPattern, args: NDArray[np.int32], dictionary: Terms) -> NDArray[np.bool_]:
    """Which rows of term ids match a pattern: bool of shape (n,)."""
    arguments = [*enumerate(pattern.arguments or ())]
    mask = having(args, ids_of(pattern.constants, dictionary.find))
    first: dict[str, int] = {}
    for position, argument in arguments:
        if isinstance(argument, Variable):
            mask &= args[:, position] == args[:, first.setdefault(argument.name, position)]
    if any(isinstance(argument, TripleTerm) for _, argument in arguments):
        rows = decode_rows(args[mask], dictionary, str)
        mask[mask] = [values_of(pattern, row) is not None for row in rows]
    return mask


def values_of(pattern: FactPattern, terms: Iterable[str]) -> dict[str, str] | None:
    """The terms of a pattern's variables in a fact that matches it; None if it does not."""
    values: dict[str, str] = {}
    pairs: list[tuple[Expression, str]] = [*zip(pattern.arguments or (), terms, strict=False)]
    while pairs:
        argument, term = pairs.pop()
        match argument:
            case Constant():
                matches = argument.term == term
            case Variable():
                matches = values.setdefault(argument.name, term) == term
            case TripleTerm():
                matches = is_triple_term(term)
                pairs += zip(argument.parts, components(term), strict=True) if matches else ()
            case _:
                matches = True
        if not matches:
            return None
    return values


def ids_of(constants: Iterable[tuple[int, str]], find: Callable[[str], int | None]) -> Bound:
    """The constants of a pattern by position, with their ids."""
    return tuple((position, find(term)) for position, term in constants)


def having(args: NDArray[np.int32], bound: Bound) -> NDArray[np.bool_]:
    """Which rows of term ids have these ids at these positions: bool of shape (n,)."""
    mask = np.ones(len(args), dtype=np.bool_)
    for position, term_id in bound:
        mask &= args[:, position] == (-1 if term_id is None else term_id)
    return mask


def having_any(
    predicate: str, args: NDArray[np.int32], patterns: Iterable[tuple[str, Bound]]
) -> NDArray[np.bool_]:
    """Which rows of a predicate have the ids of one of some patterns: bool of shape (n,)."""
    found = np.zeros(len(args), np.bool_)
    for name, bound in patterns:
        if name == predicate:
            found |= having(args, bound)
    return found


def distinct(args: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The distinct rows, in the order of their ids, and the place of each row among them.

    Args:
        args: Term ids, int32 of shape (n, arity).

    Returns:
        int32 of shape (m, arity), and int64 of shape (n,).
    """
    order = np.lexsort(args.T[::-1]) if args.shape[1] else np.arange(len(args))
    ordered = args[order]
    is_first = np.ones(len(args), np.bool_)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    places = np.empty(len(args), np.int64)
    places[order] = np.cumsum(is_first) - 1
    return ordered[is_first], places
