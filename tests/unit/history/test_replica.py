"""A replica has at each epoch what the engine had, however it came there; readers see one epoch."""

from __future__ import annotations

import shutil
from contextlib import closing
from datetime import timedelta
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from road_epochs import EX, LATTICES, NUMBER, PLAIN, UPDATES
from stored_epochs import BEGINNING, StoredReasoner
from thorough import THOROUGH

from streamreasoner.errors import StateError
from streamreasoner.facts import FactPattern, decode_facts
from streamreasoner.history.replica import Replica, store
from streamreasoner.lang.ast import NOWHERE, Constant, Variable

EPOCHS = st.lists(
    st.tuples(UPDATES, st.sampled_from([None, None, LATTICES, PLAIN]), st.booleans()), max_size=6
)


def present(snapshot):
    """The facts of a snapshot, each once."""
    found = [
        fact
        for predicate in snapshot.program.checked.arities
        for fact in decode_facts(predicate, snapshot.facts(FactPattern(predicate)), snapshot.terms)
    ]
    assert len(found) == len(set(found))
    return set(found)


def check_selections(snapshot, reasoner):
    """What a proof would ask is answered as the engine answers it."""
    for predicate, arity in snapshot.program.checked.arities.items():
        everything = reasoner.session.engine.select(predicate, {})
        last = int(everything.since.max(initial=0))
        bound = [{}]
        for positions in chain.from_iterable(combinations(range(arity), n) for n in (1, 2, arity)):
            found = np.unique(everything.args[:, positions], axis=0)[:4]
            bound += [dict(zip(positions, map(int, row), strict=True)) for row in found]
        for known in bound:
            for iteration in {0, 1, last, (1 << 31) - 1}:
                expected = rows(reasoner.session.engine.select(predicate, known, iteration))
                assert rows(snapshot.select(predicate, known, iteration)) == expected


def rows(selection):
    """The rows of a selection, sorted."""
    columns = (
        selection.stratum,
        selection.since,
        selection.until,
        selection.asserted,
        selection.total,
    )
    args = map(tuple, selection.args.tolist())
    return sorted(zip(args, *(column.tolist() for column in columns), strict=True))


@settings(max_examples=300 if THOROUGH else 4)
@given(epochs=EPOCHS, horizon=st.integers(-1, 5), least=st.sampled_from([1, 1 << 16]))
def test_a_replica_follows_the_engine(tmp_path_factory, epochs, horizon, least):
    """Epoch by epoch, in leaps, or opened at the end: facts and iterations are the same."""
    with (
        pytest.MonkeyPatch.context() as patch,
        closing(StoredReasoner(tmp_path_factory.mktemp("replica"), LATTICES)) as stored,
    ):
        patch.setattr(store, "LEAST_ROWS_TO_PACK", least)
        stored.run([("start", (EX("a"),), 1), ("road", (EX("a"), EX("b"), NUMBER(3)), 1)])
        replica = Replica.open(stored.directory)
        for updates, rules, is_seen in epochs:
            stored.run(updates, rules)
            if is_seen:
                assert replica.follow()
                assert not replica.follow()
                with replica.snapshot() as snapshot:
                    assert snapshot.epoch == stored.epoch - 1
                    assert present(snapshot) == stored.present[-1]
        stored.merge(min(horizon, stored.epoch - 2))
        replica.follow()
        for each in (replica, Replica.open(stored.directory)):
            with each.snapshot() as snapshot:
                assert snapshot.epoch == stored.epoch - 1
                time = BEGINNING + timedelta(hours=snapshot.epoch)
                assert snapshot.time in {None, time.timestamp() * 1000}
                assert present(snapshot) == stored.present[-1]
                check_selections(snapshot, stored.reasoner)
            each.close()


def test_a_snapshot_stays_at_its_epoch(tmp_path):
    """What is taken later is not seen in it, even if tables are summed and programs change."""
    with closing(StoredReasoner(tmp_path, LATTICES)) as stored:
        stored.run([("start", (EX("a"),), 1)])
        replica = Replica.open(tmp_path)
        with pytest.MonkeyPatch.context() as patch, replica.snapshot() as old:
            patch.setattr(store, "LEAST_ROWS_TO_PACK", 0)
            for name in "bcd":
                stored.run([("start", (EX(name),), 1)], PLAIN if name == "c" else None)
                assert replica.follow()
            assert old.epoch == 0
            assert present(old) == stored.present[0]
            assert old.table("least") is None
            with replica.snapshot() as new:
                assert new.epoch == 3
                assert present(new) == stored.present[3]


def test_a_pattern_selects_a_page_of_facts(tmp_path):
    """Constants and repeated variables select; pages follow each other in the order of ids."""
    with closing(StoredReasoner(tmp_path, LATTICES)) as stored:
        roads = [(EX(x), EX(y), NUMBER(w)) for x in "ab" for y in "abc" for w in range(3)]
        stored.run([("road", road, 1) for road in roads])
    x, w = Variable("x", NOWHERE), Variable("w", NOWHERE)
    with Replica.open(tmp_path).snapshot() as snapshot:
        assert snapshot.count("road") == len(roads)
        for pattern, number in [
            (FactPattern("road", (Constant(EX("a"), NOWHERE), x, w)), 9),
            (FactPattern("road", (x, x, w)), 6),
            (FactPattern("road", (x, x, Constant(NUMBER(7), NOWHERE))), 0),
            (FactPattern("road"), 18),
        ]:
            pages, after = [], None
            while len(page := snapshot.facts(pattern, after, 4)):
                pages.append(page)
                after = page[-1].tolist()
            whole = snapshot.facts(pattern)
            assert len(whole) == number
            assert np.array_equal(np.concatenate([whole[:0], *pages]), whole)
        assert len(snapshot.facts(FactPattern("on"))) == 0


def test_an_epoch_of_the_past_stays(tmp_path):
    """With `at` a replica stays at that epoch; one that is not there is refused."""
    with closing(StoredReasoner(tmp_path, LATTICES)) as stored:
        for name in "abc":
            stored.run([("start", (EX(name),), 1)])
        replica = Replica.open(tmp_path, 1)
        stored.run([("start", (EX("d"),), 1)])
        assert not replica.follow()
        with replica.snapshot() as snapshot:
            assert snapshot.epoch == 1
            assert present(snapshot) == stored.present[1]
        with pytest.raises(StateError, match="Epoch 9 is not complete"):
            Replica.open(tmp_path, 9)


def test_a_state_that_is_replaced_is_loaded_anew(tmp_path):
    """Another state in the same place, with more versions, is not mistaken for the first."""
    for number, names in enumerate(["ab", "wxyz"]):
        with closing(StoredReasoner(tmp_path / str(number), LATTICES)) as stored:
            for name in names:
                stored.run([("start", (EX(name),), 1)])
    place = tmp_path / "place"
    shutil.copytree(tmp_path / "0", place)
    replica = Replica.open(place)
    shutil.rmtree(place)
    shutil.copytree(tmp_path / "1", place)

    assert replica.follow()
    with replica.snapshot() as snapshot:
        assert present(snapshot) == stored.present[3]
