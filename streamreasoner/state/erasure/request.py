"""What is to be erased, and whether it may be. Invariant: what a fact or program uses is refused.

A fact that was retracted has rows in `trace` that cancel. One that is present, or that has been
retracted more often than asserted, has rows that do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.errors import StateError
from streamreasoner.plan.program_plan import asserted_predicate, has_key, has_times
from streamreasoner.rdf.triple_terms import parts
from streamreasoner.state import restore, schemas
from streamreasoner.state.erasure.mentions import mentioning, with_mentioned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from streamreasoner.engine.updates import TraceRows
    from streamreasoner.state.erasure.stopped import StoppedState

BESIDE = "in the same epoch"
_NAMED = 10


class StoredFact(NamedTuple):
    """A predicate and canonical terms."""

    predicate: str
    args: tuple[str, ...]


class Trail(NamedTuple):
    """A row of the facts to erase, or of one that left with them.

    Attributes:
        kind: `asserted` for a row of `trace`, `published` for one of `changes`, `BESIDE` for a row
            that stays in `changes`: the fact left in the same epoch as one of the others.
        fact: The fact.
        epoch: The epoch.
        time: Its time, None if the row has none.
        multiplicity: What the row adds.
    """

    kind: str
    fact: StoredFact
    epoch: int
    time: datetime | None
    multiplicity: int


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks to erase.

    Attributes:
        terms: Canonical terms, with all facts that mention them, also inside of triple terms.
        facts: Facts.
        before: Changes of epochs of an earlier time; None for none.
    """

    terms: tuple[str, ...] = ()
    facts: tuple[StoredFact, ...] = ()
    before: datetime | None = None

    def selected(self, changes: pa.Table) -> NDArray[np.bool_]:
        """Which rows of `changes` are of the facts: bool of shape (n,)."""
        chosen = np.zeros(len(changes), np.bool_)
        args = changes.column("args").combine_chunks()
        flat = pc.list_flatten(args).cast(pa.large_string())
        rows = pc.list_parent_indices(args)
        chosen[rows.filter(pa.array(mentioning(flat, self.terms))).to_numpy()] = True
        first = pa.array((fact.args[0] for fact in self.facts if fact.args), pa.large_string())
        for row in np.unique(rows.filter(pc.is_in(flat, first)).to_numpy()).tolist():
            fact = StoredFact(changes.column("predicate")[row].as_py(), tuple(args[row].as_py()))
            chosen[row] |= fact in self.facts
        return chosen


class Targets:
    """The terms and facts of a request as ids, -1 for terms that the state does not have.

    Triple terms that contain a term of the request are among its terms.
    """

    def __init__(self, state: StoppedState, request: Request) -> None:
        self._terms = np.flatnonzero(mentioning(state.terms, request.terms))
        self._facts = [(fact.predicate, _ids(state, fact.args)) for fact in request.facts]

    def selected(self, predicate: str, args: NDArray[np.signedinteger]) -> NDArray[np.bool_]:
        """Which rows of a predicate in `trace` are of the facts: bool of shape (n,).

        Those of hidden predicates with the times or sources of the facts are.
        """
        chosen = np.asarray(np.isin(args, self._terms).any(axis=1))
        facts = args[:, has_key(predicate) :]
        for name, ids in self._facts:
            if name == asserted_predicate(predicate) and len(ids) == facts.shape[1]:
                chosen |= (facts == ids).all(axis=1)
        return chosen


def used_ids(state: StoppedState, request: Request) -> NDArray[np.bool_]:
    """Which ids a fact or a program uses, after checking that it is none of those to erase.

    What a triple term contains is used where the triple term is.

    Returns:
        bool of shape (terms,).

    Raises:
        StateError: A fact or program uses a term to erase, or a fact to erase has not been
            retracted as often as it was asserted.
    """
    used = np.zeros(len(state.terms), np.bool_)
    targets = Targets(state, request)
    holding: list[str] = []
    for block in restore.restore_trace(state.tables[schemas.TRACE], state.last + 1):
        used[block.args.ravel()] = True
        holding += _held(state, block, targets.selected(block.predicate, block.args))
    if holding:
        more = f" and {len(holding) - _NAMED} more" if len(holding) > _NAMED else ""
        raise StateError(
            "Not everything has been retracted, so nothing was erased. These facts are still in "
            f"the state: {'; '.join(holding[:_NAMED])}{more}. Retract the asserted ones with "
            "updates, as often as they were asserted, let the pipeline read them, and stop it."
        )
    constants = {part: epoch for epoch, term in state.constants() for part in parts(term)}
    for term in request.terms:
        if term in constants:
            raise StateError(
                f"The term {term} is in the program of epoch {max(constants[term], 0)}, which the "
                "state keeps. Start over with another program: see "
                "docs/how-to/back-up-recover-upgrade.md."
            )
    ids = _ids(state, [*constants])
    used[ids[ids >= 0]] = True
    return with_mentioned(state.terms, used)


def trails(state: StoppedState, request: Request) -> list[Trail]:
    """The rows of the facts to erase: those of `trace`, then those of `changes`, by epoch.

    Raises:
        StateError: A data file is damaged.
    """
    stored = list(_stored(state, Targets(state, request)))
    changes = state.tables[schemas.CHANGES]
    published, others = [], []
    for file in changes.files():
        rows = changes.read(file, changes.schema.names)
        chosen = request.selected(rows)
        published += [_published("published", row) for row in rows.filter(chosen).to_pylist()]
        others.append(rows.filter(~chosen & (rows["multiplicity"].to_numpy() < 0)))
    left = {each.epoch for each in (*stored, *published) if each.multiplicity < 0}
    epochs = pa.array(sorted(left), pa.int64())
    with_them = [
        _published(BESIDE, row)
        for rows in others
        for row in rows.filter(pc.is_in(rows["epoch"], epochs)).to_pylist()
    ]
    return [
        trail
        for group in (stored, published, with_them)
        for trail in sorted(group, key=lambda each: (each.epoch, each.fact))
    ]


def _stored(state: StoppedState, targets: Targets) -> Iterator[Trail]:
    """The rows of asserted facts in `trace`."""
    trace = state.tables[schemas.TRACE]
    columns = schemas.arg_columns(trace.max_arity)
    for file in trace.files():
        rows = trace.read(file, [*columns, "iteration", "epoch", "multiplicity"])
        rows = rows.filter(pc.equal(rows["iteration"], 0))
        used = [name for name in columns if not rows[name].null_count]
        if not used or asserted_predicate(file.predicate) != file.predicate:
            continue
        args = np.stack([rows[name].to_numpy() for name in used], axis=1)
        for row in rows.filter(targets.selected(file.predicate, args)).to_pylist():
            fact = StoredFact(
                file.predicate, tuple(state.terms[row[name]].as_py() for name in used)
            )
            yield Trail("asserted", fact, row["epoch"], None, row["multiplicity"])


def _published(kind: str, row: dict[str, Any]) -> Trail:
    fact = StoredFact(row["predicate"], tuple(row["args"]))
    return Trail(kind, fact, row["epoch"], row["ts"], row["multiplicity"])


def _ids(state: StoppedState, terms: Sequence[str]) -> NDArray[np.int64]:
    found = pc.index_in(pa.array(terms, pa.large_string()), state.terms)
    return np.asarray(found.fill_null(-1).to_numpy(), np.int64)


def _held(state: StoppedState, block: TraceRows, chosen: NDArray[np.bool_]) -> Iterator[str]:
    """The facts of chosen rows, as text."""
    asserted: dict[tuple[int, ...], bool] = {}
    for args, iteration in zip(block.args[chosen].tolist(), block.iteration[chosen], strict=True):
        asserted[tuple(args)] = asserted.get(tuple(args), False) or iteration == 0
    predicate = asserted_predicate(block.predicate)
    for args, is_asserted in asserted.items():
        terms = [state.terms[arg].as_py() for arg in args]
        why = " (asserted)" if is_asserted else ""
        if has_key(block.predicate):
            why = f" (asserted with the key {terms.pop(0)}: send a message with it and no value)"
        elif has_times(block.predicate):
            why = " (its time is kept until it would have expired: let event time pass)"
        yield f"{predicate}({', '.join(terms)}){why}"
