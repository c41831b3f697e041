"""How a divided program becomes another. Invariant: no fact changes its owner meanwhile.

While the program changes, results of the former program are withdrawn where they were derived, and
those of the new one are found by the same parts. So both programs are divided with the same owners,
which both allow, and a rule that both have is at home in one place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamreasoner.plan.division import divide, may_own

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.plan.division import Division, Placed
    from streamreasoner.plan.program_change import ProgramChange
    from streamreasoner.plan.program_plan import ProgramPlan


def with_same_owners(
    change: ProgramChange, division: Division, wanted: Mapping[str, int | None]
) -> tuple[Division, Division]:
    """Divide both programs of a change with the same owners.

    Args:
        change: The change.
        division: How the former program is divided.
        wanted: The owning arguments that the new program is to have in the end.

    Returns:
        Divisions of the former and of the new program. The former is the given one, if its owners
        will do.
    """
    owners = _owners(change, division.owners, wanted)
    if division.owners.items() <= owners.items():
        first = replace(division, owners=owners)
    else:
        first = divide(change.before, owners)
    return first, divide(change.after, owners, _placed(change.before, first))


def _owners(
    change: ProgramChange, current: Mapping[str, int | None], wanted: Mapping[str, int | None]
) -> dict[str, int | None]:
    """The wanted owning arguments where both programs allow them, or else others."""
    before, after = may_own(change.before), may_own(change.after)
    owners: dict[str, int | None] = {}
    for name, positions in after.items():
        allowed = [each for each in positions if each in before.get(name, positions)]
        preferred = (wanted[name], current.get(name), *allowed)
        owners[name] = next((each for each in preferred if each in allowed), None)
    return owners


def _placed(plan: ProgramPlan, division: Division) -> dict[tuple[object, ...], Placed]:
    """The rules of a divided program, by what determines their facts."""
    return {
        rule.tree.parts: placed
        for stratum, rules in zip(plan.strata, division.strata, strict=True)
        for rule, placed in zip(stratum.rules, rules, strict=True)
    }
