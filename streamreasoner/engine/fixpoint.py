"""The fixpoint of one stratum. Invariant: multiplicities up to m are final when m is settled.

Iterations ascend because a derivation whose latest premise appears at m is added at m + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import NewTermsError, RecursionLimitError
from streamreasoner.plan.program_plan import SEGMENT, StratumPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamreasoner.analysis.strata.guards import Guarded
    from streamreasoner.engine.ports import Backend
    from streamreasoner.lang.ast import Rule
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.rdf.dictionary import Dictionary

INPUT = StratumPlan(())
"""Stratum 0: facts that no head derives."""


def unlimited(stratum: StratumPlan) -> None:
    """Let rules make as many terms as they like."""


def goes_on(_number: int, _touched: int) -> bool:
    """Stop after no stratum."""
    return False


def limited(
    most: int, dictionary: Dictionary, program: ProgramPlan
) -> Callable[[StratumPlan], None]:
    """Checks after each iteration of a stratum that rules have not made too many terms from now on.

    The check raises NewTermsError.

    Args:
        most: The most new terms.
        dictionary: All terms.
        program: The program.
    """
    before = len(dictionary)

    def check(stratum: StratumPlan) -> None:
        if len(dictionary) - before > most:
            raise NewTermsError(
                f"The evaluation of {derived(stratum, program.rules)} made more than {most:,} "
                "new terms. Bound what they make, for example by `?n < 100`, or raise "
                "`max_new_terms`. The epoch was rolled back."
            )

    return check


def fixpoints(
    backend: Backend,
    program: ProgramPlan,
    recursion_limit: int,
    check_order: Callable[[Guarded], None],
    check_terms: Callable[[StratumPlan], None] = unlimited,
    *,
    stops: Callable[[int, int], bool] = goes_on,
) -> int:
    """Bring all strata up to date, in order; returns the number of iterations touched.

    After each, *stops* tells whether to leave the others as they are, by the number of the stratum
    and of the iterations touched in it.

    Raises:
        RecursionLimitError: A stratum has not converged after *recursion_limit* iterations.
        CircularNegationError: *check_order* found a cycle.
        NewTermsError: *check_terms* found too many.
    """
    total = 0
    for number in range(len(program.strata) + 1):
        touched = fixpoint(backend, program, number, recursion_limit, check_order, check_terms)
        total += touched
        if stops(number, touched):
            break
    return total


def fixpoint(  # noqa: PLR0917 - as `fixpoints`
    backend: Backend,
    program: ProgramPlan,
    number: int,
    recursion_limit: int,
    check_order: Callable[[Guarded], None],
    check_terms: Callable[[StratumPlan], None] = unlimited,
) -> int:
    """Bring a stratum up to date with the epoch's input and the strata before it.

    Args:
        backend: Holds the trace.
        program: The program.
        number: Number of the stratum. Its reductions read lower strata alone, so each runs once.
        recursion_limit: Iterations after which the stratum counts as not converging.
        check_order: Called when the schema has decided the order of negation in the stratum, before
            any rule that waits derives; raises CircularNegationError if there is none.
        check_terms: Called after each iteration of rules that make terms; raises NewTermsError if
            these are too many.

    Returns:
        The number of iterations touched.

    Raises:
        RecursionLimitError: The stratum has not converged after *recursion_limit* iterations, or a
            segment of it.
        CircularNegationError: *check_order* found a cycle.
        NewTermsError: *check_terms* found too many.
    """
    stratum = program.strata[number - 1] if number else INPUT
    backend.enter(number)
    for reduction in stratum.reductions:
        backend.reduce(reduction)
    undecided = stratum.guarded
    limit = recursion_limit if undecided is None else min(recursion_limit, SEGMENT - 2)
    touched, iteration = 0, backend.next_touched(-1)
    while True:
        if undecided is not None and not 0 <= iteration < SEGMENT:
            check_order(undecided)
            undecided = None
        if iteration < 0:
            return touched
        # After a change of program, facts of former segments may leave any stratum.
        if (iteration % SEGMENT if limit < SEGMENT else iteration) > limit:
            derives = derived(stratum, program.rules)
            raise RecursionLimitError(
                f"The evaluation of {derives} has not converged after {limit} iterations. Check it "
                "for rules that create terms without end, or raise `recursion_limit`. The epoch "
                "was rolled back."
            )
        if backend.settle(iteration):
            backend.derive(iteration)
            if stratum.makes_terms:
                check_terms(stratum)
        iteration = backend.next_touched(iteration)
        touched += 1


def derived(stratum: StratumPlan, sources: Sequence[Rule]) -> str:
    """The recursive predicates of a stratum, and the places of its recursive rules."""
    rules = stratum.rules
    own = {rule.tree.head.predicate for rule in rules}
    recursive = [
        rule for rule in rules if own & {pattern.predicate for pattern in rule.tree.patterns}
    ]
    predicates = sorted({f"'{rule.tree.head.predicate}'" for rule in recursive or rules})
    written = (sources[rule.source] for rule in recursive or rules if not rule.added)
    places = dict.fromkeys(rule.span.place for rule in written)
    return f"{', '.join(predicates)} by the rules at {', '.join(places)}"
