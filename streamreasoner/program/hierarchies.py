"""A program that stores of what it copies along hierarchies only what its rules read.

Invariant: with the copies that it leaves out, its facts and their trace are those of the program.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from streamreasoner.analysis.hierarchies.reading import hierarchies
from streamreasoner.analysis.strata.unification import have_an_instance
from streamreasoner.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.analysis.strata.guards import Guarded
    from streamreasoner.lang.ast import Rule
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

    The indexes of its rules stay; those that keep track of what is read come after them. Their
    strata come as soon as what they read is complete.
    """
    rules, strata, guarded = [*program.rules], [*program.strata], [*program.guarded]
    helpers = dict(program.helpers)
    found = []
    for hierarchy, wanted in hierarchies(program.rules, program.guarded, program.visible):
        found.append(hierarchy)
        for index, edges in zip(hierarchy.rules, hierarchy.edges, strict=True):
            rules[index] = hierarchy.restricted(rules[index], edges)
        upkeep = tuple(hierarchy.upkeep(wanted))
        at = _complete(upkeep, rules, strata, guarded)
        for added in (hierarchy.comparison(), upkeep):
            first = len(rules)
            rules += added
            strata.insert(at, tuple(range(first, len(rules))))
            guarded.insert(at, None)
        helpers |= dict.fromkeys(hierarchy.hidden, 1)
    return replace(
        program,
        rules=tuple(rules),
        strata=tuple(strata),
        guarded=tuple(guarded),
        helpers=MappingProxyType(helpers),
        hierarchies=tuple(found),
    )


def _complete(
    added: Sequence[Rule],
    rules: Sequence[Rule],
    strata: Sequence[tuple[int, ...]],
    guarded: Sequence[Guarded | None],
) -> int:
    """The number of strata from which on nothing is derived that some rules read."""
    read = dict.fromkeys(atom for rule in added for atom in rule.atoms)
    for number in range(len(strata), 0, -1):
        decided = guarded[number - 1]
        own = [rules[index] for index in strata[number - 1]]
        own += decided.rules if decided else ()
        if any(have_an_instance(rule.head, atom) for rule in own for atom in read):
            return number
    return 0
