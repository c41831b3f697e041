"""Data that comes and goes. Invariant: each state is that of evaluation from scratch.

Facts are compared with their multiplicities at each iteration.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeAlias

from conformance.datasets import change
from conformance.outcome import WrongError
from streamreasoner.backends.store import columnar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.rows import Row
    from streamreasoner import Reasoner
    from streamreasoner.engine.session import Store

_State: TypeAlias = "dict[tuple[str, ...], dict[int, int]]"
_SHOWN = 2


def replay(
    fresh: Callable[[Store], Reasoner],
    rows: Sequence[Row],
    seed: str,
    new_store: Callable[[], Store] = columnar,
) -> None:
    """Assert triples and quads one at a time in random order, then retract them in another one.

    Args:
        fresh: Makes a reasoner without data in a store.
        rows: The data, each row once.
        seed: Gives the orders.
        new_store: Makes the store of what is kept up to date. Evaluation from scratch is always in
            memory, so that the backends are compared, too.

    Raises:
        WrongError: A state is not what the same data gives from scratch.
    """
    chosen, kept = random.Random(seed), fresh(new_store())
    present: dict[Row, None] = {}
    for sign in (1, -1):
        for step, row in enumerate(chosen.sample([*rows], len(rows)), start=1):
            change(kept, [row], sign)
            if sign > 0:
                present[row] = None
            else:
                del present[row]
            anew = fresh(columnar())
            change(anew, present, 1)
            _check(_state(anew), _state(kept), f"step {step} of {'+' if sign > 0 else '-'}")


def _check(expected: _State, found: _State, step: str) -> None:
    wrong = [fact for fact in {**expected, **found} if expected.get(fact) != found.get(fact)]
    if wrong:
        shown = "; ".join(
            f"{' '.join(fact)}: {expected.get(fact)} expected, {found.get(fact)} found"
            for fact in sorted(wrong)[:_SHOWN]
        )
        raise WrongError(f"after {step}: {shown}")


def _state(of: Reasoner) -> _State:
    """The multiplicities of each fact by iteration, those of helpers included."""
    of.size()  # takes the facts of the program
    terms, program = of.session.dictionary, of.program
    state: _State = {}
    for predicate in {**program.arities, **program.helpers}:
        rows = of.session.engine.trace(predicate)
        numbers = zip(rows.args, rows.iteration, rows.multiplicity, strict=True)
        for args, iteration, multiplicity in numbers:
            fact = (predicate, *terms.decode(args).to_pylist())
            state.setdefault(fact, {})[int(iteration)] = int(multiplicity)
    return state
