"""A program that stores of what it copies along hierarchies only what its rules read.

Invariant: with the copies that it leaves out, its facts and their trace are those of the program.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from streamreasoner.analysis.hierarchies.reading import hierarchies
from streamreasoner.errors import DataError

if TYPE_CHECKING:
    from streamreasoner.program.checked import CheckedProgram

Hierarchies: TypeAlias = Literal["auto", "stored", "encoded"]
"""What is done with the copies of facts along hierarchies."""


def encodes(hierarchies: str, *, before: bool = False) -> bool | None:
    """Whether copies are stored only where rules read them; None: as soon as that pays.

    Args:
        hierarchies: What is to be done with them.
        before: Whether they were stored only there when the state was last changed.

    Raises:
        DataError: It is another word.
    """
    if hierarchies not in get_args(Hierarchies):
        raise DataError(f'hierarchies is "auto", "stored" or "encoded", not {hierarchies!r}.')
    if hierarchies == "auto":
        return before or None
    return hierarchies == "encoded"


def with_hierarchies(program: CheckedProgram) -> CheckedProgram:
    """The program with its hierarchies encoded; as it is, if it has none that can be.

    The indexes of its rules stay; those that keep track of what is read come after them.
    """
    rules, strata, guarded = [*program.rules], [*program.strata], [*program.guarded]
    helpers = dict(program.helpers)
    found = []
    decided = dict(zip(program.strata, program.guarded, strict=True))
    for hierarchy, wanted in hierarchies(program.rules, decided, program.visible):
        found.append(hierarchy)
        for index, edges in zip(hierarchy.rules, hierarchy.edges, strict=True):
            rules[index] = hierarchy.restricted(rules[index], edges)
        for added in (hierarchy.upkeep(wanted), hierarchy.comparison()):
            first = len(rules)
            rules += added
            strata.append(tuple(range(first, len(rules))))
            guarded.append(None)
        helpers |= dict.fromkeys(hierarchy.hidden, 1)
    return replace(
        program,
        rules=tuple(rules),
        strata=tuple(strata),
        guarded=tuple(guarded),
        helpers=MappingProxyType(helpers),
        hierarchies=tuple(found),
    )
