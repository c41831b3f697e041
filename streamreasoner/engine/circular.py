"""Why facts of the schema make a negation circular. Invariant: the state is only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.circular import circle
from streamreasoner.errors import CircularNegationError
from streamreasoner.lang.ast import NOWHERE, Atom, Constant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.analysis.strata.guards import Guarded
    from streamreasoner.engine.ports import Backend
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.rdf.dictionary import Dictionary


def check_order(
    guarded: Guarded, program: ProgramPlan, backend: Backend, dictionary: Dictionary
) -> None:
    """Check that the schema at hand lets the negations of a stratum be evaluated in some order.

    Args:
        guarded: How the schema decides their order.
        program: The program of the epoch.
        backend: Its state is that of the epoch, before anything waits.
        dictionary: Terms and ids.

    Raises:
        CircularNegationError: A negation depends on itself; the message has the cycle.
    """
    if not len(backend.present(guarded.circular.predicate, {})):
        return
    facts = [fact for atom in guarded.read for fact in _present(atom, backend, dictionary)]
    found = circle(guarded, program.rules, facts, program.prefixes)
    assert found is not None  # noqa: S101 - from these facts, the same rules derived that it is circular
    raise CircularNegationError(
        "The program has no meaning with these facts, because a negation would depend on itself: "
        f"{found.steps}. The epoch was rolled back."
    )


def _present(atom: Atom, backend: Backend, dictionary: Dictionary) -> Iterator[Atom]:
    """The facts that match the constants of an atom."""
    bound = {
        at: dictionary.intern(each.term)
        for at, each in enumerate(atom.arguments)
        if isinstance(each, Constant)
    }
    args = backend.present(atom.reads, bound)
    terms = dictionary.decode(args.reshape(-1)).to_pylist()
    for start in range(0, args.size, args.shape[1]):
        chosen = terms[start : start + args.shape[1]]
        arguments = tuple(Constant(term, NOWHERE) for term in chosen)
        yield Atom(atom.predicate, arguments, NOWHERE, asserted=atom.asserted)
