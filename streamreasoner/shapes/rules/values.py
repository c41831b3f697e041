"""Value nodes of property shapes as rules. Invariant: a path is followed from focus nodes only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, Atom, Variable, Wildcard
from streamreasoner.sparql.algebra import Alternative, Inverse, Repeat, Sequence
from streamreasoner.sparql.rules.bodies import Body
from streamreasoner.sparql.rules.dataset import Dataset
from streamreasoner.sparql.rules.paths import Paths
from streamreasoner.sparql.rules.rulebook import Rulebook, atom

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Literal, Rule
    from streamreasoner.sparql.algebra import Path


def value_rules(name: str, checked: str, path: Path) -> list[Rule]:
    """The rules of `name__value(this, value)`.

    Args:
        name: The name of the shape.
        checked: The predicate of the nodes that it is checked for.
        path: Its path.
    """
    book = Rulebook(name, ("this", "value"))
    steps, origin = _steps(path), "this"
    ways: list[tuple[Literal, ...]] = [(atom(checked, (origin,)),)]
    known = ways[0][0]
    for number, step in enumerate(steps, start=1):
        end = "value" if number == len(steps) else book.fresh("step")
        if origin != "this" and repeats(step):
            # Where a path of any length begins is known, so that it is followed from there only.
            part = book.predicate("part")
            _derive(book, part, origin, ways)
            ways = [(atom(part, ("this", origin)),)]
            known = Atom(part, (Wildcard(NOWHERE), _variable(origin)), NOWHERE)
        paths = Paths(book, Dataset(None, book), Body((known,), (origin,)))
        following = paths.ways(_variable(origin), step, _variable(end), None)
        ways = [(*way, *more) for way in ways for more in following]
        origin = end
    _derive(book, f"{name}__value", "value", ways)
    return book.rules


def _derive(book: Rulebook, predicate: str, end: str, ways: list[tuple[Literal, ...]]) -> None:
    for way in ways:
        book.derive(predicate, (_variable("this"), _variable(end)), way)


def _steps(path: Path) -> tuple[Path, ...]:
    match path:
        case Sequence(steps):
            return steps
        case Inverse(Sequence(steps)):
            return tuple(Inverse(step) for step in reversed(steps))
        case _:
            return (path,)


def repeats(path: Path) -> bool:
    """Whether a part of a path may be followed any number of times."""
    match path:
        case Repeat():
            return True
        case Inverse(inner):
            return repeats(inner)
        case Sequence(parts) | Alternative(parts):
            return any(map(repeats, parts))
        case _:
            return False


def _variable(name: str) -> Variable:
    return Variable(name, NOWHERE)
