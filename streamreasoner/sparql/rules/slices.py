"""LIMIT and OFFSET as rules (section 15). Invariant: which solutions are left out is determined.

Solutions are in the order of a key: what ORDER BY compares, then the row that is selected, then the
other variables, all by the total order of terms, unbound first. So solutions with one key are equal
rows. The rules choose the lowest keys, and those that OFFSET leaves out among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, Aggregate, Call, Constant, Negation, Variable
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.sparql.rules.bodies import Body
from streamreasoner.sparql.rules.rulebook import atom, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.lang.ast import Literal
    from streamreasoner.sparql.rules.rulebook import Rulebook


@dataclass(frozen=True, slots=True)
class Slice:
    """Which solutions there are.

    Attributes:
        order: The variables that ORDER BY compares, each with whether it is descending.
        selected: The variables of the row.
        group: The variables of which each combination of values has a slice of its own.
        distinct: Whether equal rows are one solution, which is where the first of them is.
        offset: How many are left out.
        limit: How many there are at most; None: all.
    """

    order: tuple[tuple[str, bool], ...]
    selected: tuple[str, ...]
    group: tuple[str, ...]
    distinct: bool
    offset: int
    limit: int | None


def sliced(book: Rulebook, bodies: Sequence[Body], wanted: Slice) -> list[Body]:
    """The solutions of bodies that a slice has, as a single body if there are any."""
    if wanted.limit == 0 or not bodies:
        return []
    keyed, key = _keyed(book, bodies, wanted)
    rows = keyed.literals
    group = tuple(name for name in wanted.group if name in keyed.names)
    literals: tuple[Literal, ...] = rows
    if wanted.limit is not None:
        first = _lowest(book, rows, (*group, key), wanted.offset + wanted.limit)
        literals = (atom(first, (*group, key)), *literals)
    if wanted.offset:
        skipped = _lowest(book, rows, (*group, key), wanted.offset)
        literals = (*literals, Negation(atom(skipped, (*group, key)), NOWHERE))
    return [Body(literals, keyed.bound, keyed.maybe)]


def _lowest(book: Rulebook, rows: Sequence[Literal], names: Sequence[str], count: int) -> str:
    """The predicate of the lowest keys of each group."""
    predicate = book.predicate("lowest")
    *group, key = (Variable(name, NOWHERE) for name in names)
    lowest = Aggregate("lowest", (key, number(count)), NOWHERE)
    book.derive(predicate, (*group, lowest), rows)
    return predicate


def _keyed(book: Rulebook, bodies: Sequence[Body], wanted: Slice) -> tuple[Body, str]:
    """A body of all solutions with their keys, and the variable of the key."""
    known = tuple(dict.fromkeys(name for body in bodies for name in body.names))
    columns = tuple(name for name in known if name in {*wanted.selected, *wanted.group})
    if not wanted.distinct:
        columns = known
    bound = tuple(name for name in columns if all(name in body.bound for body in bodies))
    maybe = tuple(name for name in columns if name not in bound)
    compared = [(name, descending) for name, descending in wanted.order if name in known]
    others = set(columns).difference(wanted.group, (name for name, _ in compared))
    rest = dict.fromkeys(name for name in (*wanted.selected, *columns) if name in others)
    directions = "".join("d" if descending else "a" for _, descending in compared)
    predicate, key = book.predicate("keyed"), book.fresh("key")
    branch = () if wanted.distinct or len(bodies) == 1 else (book.fresh("branch"),)
    for index, body in enumerate(bodies, start=1):
        tags = (number(index),) if branch else ()
        terms = (*map(body.argument, [*(name for name, _ in compared), *rest]), *tags)
        # Solutions without variables are equal rows.
        terms = terms or (number(0),)
        text = Constant(to_ntriples(directions + "a" * (len(terms) - len(compared))), NOWHERE)
        value = Call("sort_key", (text, *terms), NOWHERE)
        first = Aggregate("min", (value,), NOWHERE) if wanted.distinct else value
        arguments = (*map(body.argument, (*bound, *maybe)), *tags, first)
        book.derive(predicate, arguments, body.literals)
    found = atom(predicate, (*bound, *maybe, *branch, key))
    return Body((found,), (*bound, *branch, key), maybe), key
