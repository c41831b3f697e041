"""Asserted facts that rules read by themselves. Invariant: a hidden predicate has exactly them.

`asserted p(?x)` matches what is at iteration 0 of `p`, whatever is derived. These facts are copied
into a hidden predicate as they come in, with their multiplicities: input, which no rule derives, so
that a rule may depend on its own head through them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.engine.updates import Updates
from streamreasoner.facts import having_any, ids_of
from streamreasoner.lang.ast import GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from streamreasoner.engine.ports import Backend
    from streamreasoner.facts import Bound
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_plan import ProgramPlan

    Intern = Callable[[str], int]
    """Id of a constant."""
    _Encoded = tuple[str, Bound]
    """Predicate, and ids of the constants."""


def with_copies(
    updates: Iterable[Updates], given: Sequence[Pattern], intern: Intern
) -> Iterable[Updates]:
    """All updates, and copies of those that match a pattern."""
    # Before the first update is taken: another thread may be adding terms from then on.
    return _with_copies(updates, _encoded(given, intern)) if given else updates


def _with_copies(updates: Iterable[Updates], patterns: Sequence[_Encoded]) -> Iterator[Updates]:
    for each in updates:
        yield each
        rows = having_any(each.predicate, each.args, patterns)
        if rows.any():
            yield Updates(f"{GIVEN}{each.predicate}", each.args[rows], each.multiplicity[rows])


def copies_after_change(
    before: ProgramPlan, after: ProgramPlan, intern: Intern, backend: Backend
) -> list[Updates]:
    """What a change of program adds to the copies, and takes from them.

    Args:
        before: The former program; of a predicate that it lacks the state has no facts.
        after: The new one.
        intern: Id of a constant.
        backend: Its state is that before the epoch.
    """
    changes = []
    for program, other, sign in ((after, before, 1), (before, after, -1)):
        taken = [*other.given]
        for pattern in program.given:
            if pattern in taken or pattern.predicate not in before.arities:
                continue
            bound = {position: intern(term) for position, term in pattern.constants}
            facts = backend.select(pattern.predicate, bound)
            rows = facts.asserted != 0
            rows &= ~having_any(pattern.predicate, facts.args, _encoded(taken, intern))
            taken.append(pattern)
            if rows.any():
                copies = f"{GIVEN}{pattern.predicate}"
                changes.append(Updates(copies, facts.args[rows], sign * facts.asserted[rows]))
    return changes


def _encoded(given: Iterable[Pattern], intern: Intern) -> list[_Encoded]:
    """Patterns with the ids of their constants."""
    return [(each.predicate, ids_of(each.constants, intern)) for each in given]
