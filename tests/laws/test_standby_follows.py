"""What follows a state has its trace, however it came there, and goes on as its owner would."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import hierarchies
import numpy as np
import pytest
from driver import Driver
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from road_epochs import EX, LATTICES, PLAIN, UPDATES
from stored_epochs import APP, StoredReasoner
from strategies import scenarios
from thorough import THOROUGH

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.backends.store import restored
from streamreasoner.config import parse
from streamreasoner.errors import CircularNegationError, RecursionLimitError, StateError
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline.recovery import Resume
from streamreasoner.program import check_text
from streamreasoner.service.recover import Recovered, session_of
from streamreasoner.service.standby.follower import Follower
from streamreasoner.state.in_effect import ProgramInEffect, stored_text


class Followed:
    """A reasoner whose epochs are stored, and what follows them.

    Attributes:
        stored: The reasoner.
        follower: What follows it.
    """

    def __init__(self, directory, rules, cores=1, hierarchies="stored", **sections):
        directory.mkdir(exist_ok=True, parents=True)
        (directory / "rules.dl").write_text(rules)
        raw = {
            "kafka": {
                "bootstrap_servers": "none:1",
                "input_topics": ["in"],
                "output_topic": "out",
            },
            "rules": {
                "program": "rules.dl",
                "recursion_limit": Driver.recursion_limit,
                "hierarchies": hierarchies,
            },
            "state": {"directory": "state"},
            "pipeline": {"app_id": APP, "cores": cores},
            **sections,
        }
        self.config = parse(raw, {}, directory)
        self.stored = StoredReasoner(self.config.state.tables, rules)
        program = self.stored.reasoner.program
        self.stored.reasoner = Reasoner(program, recursion_limit=Driver.recursion_limit)
        self.follower = Follower(self.config, program)

    def run(self, updates, rules=None, *, is_committed=True):
        """One epoch, and those before it, are committed; or it is not yet."""
        self.stored.run(updates, rules)
        if is_committed:
            self.commit()

    def commit(self):
        """All epochs are committed."""
        commits = self.config.state.checkpoint_directory / "commits"
        commits.mkdir(parents=True, exist_ok=True)
        (commits / str(self.stored.epoch - 1)).write_text('v1\n{"nextBatchWatermarkMs":0}')

    def recovered(self, before):
        """Where a process goes on that replays an epoch, or runs the first new one."""
        tables = self.stored.tables
        programs = [(epoch, text) for epoch, text in tables.programs if epoch < before]
        in_effect = ProgramInEffect.restored(programs, tables.width)
        checkpoint = Checkpoint(self.config.state.checkpoint_directory, before, before - 1)
        return Recovered(tables, checkpoint, in_effect, Resume(before, before - 1, None))

    def check(self, before, updates=()):
        """The follower has the state before an epoch, as one that is restored, and goes on so."""
        recovered = self.recovered(before)
        session = self.follower.session_before(recovered)
        assert session is not None
        assert session.next_epoch == before
        config = replace(self.config, rules=replace(self.config.rules, hierarchies="stored"))
        other = session_of(config, recovered.in_effect, restored(recovered.tables, before), None)
        other.resume_before(before, None)
        session.resume_before(before, None)
        assert trace(session, other.arities) == trace(other)
        for each in (session, other):
            each.apply([each.rows(name, [[*args]], [diff]) for name, args, diff, *_ in updates])
        assert trace(session, other.arities) == trace(other)


def trace(session, predicates=None):
    """The rows of the trace, hidden predicates included, by the terms of facts."""
    found = {}
    for predicate in predicates or session.arities:
        rows = session.engine.trace(predicate)
        terms = session.dictionary.decode(rows.args.reshape(-1)).to_pylist()
        facts = np.array(terms, object).reshape(rows.args.shape).tolist()
        for fact, at, count in zip(
            facts, rows.iteration.tolist(), rows.multiplicity.tolist(), strict=True
        ):
            found[predicate, tuple(fact), at] = count
    return found


@settings(max_examples=300 if THOROUGH else 10)
@given(
    st.tuples(scenarios(), st.just("stored"))
    | st.tuples(hierarchies.scenarios(), st.just("encoded")),
    st.sampled_from([1, 2]),
    st.data(),
)
def test_a_follower_has_the_trace(case, cores, data):
    """Epoch by epoch, in leaps and loaded at the end, with any program, on one core and on two."""
    scenario, kept = case
    rules = stored_text(scenario.checked).text
    with TemporaryDirectory() as directory:
        followed = Followed(Path(directory), rules, cores, kept)
        with closing(followed.stored):
            try:
                for epoch in scenario.epochs:
                    followed.run(epoch, is_committed=data.draw(st.booleans()))
                    if data.draw(st.booleans()):
                        followed.follower.follow()
            except (CircularNegationError, RecursionLimitError):
                reject()
            before = data.draw(st.sampled_from([0, 1])) + len(scenario.epochs) - 1
            if before > max(0, followed.follower.epoch):
                updates = scenario.epochs[before] if before < len(scenario.epochs) else ()
                followed.check(before, updates)


STEPS = st.lists(
    st.tuples(UPDATES, st.sampled_from([None, None, LATTICES, PLAIN]), st.booleans()), max_size=6
)


@settings(max_examples=300 if THOROUGH else 10)
@given(steps=STEPS, horizon=st.integers(-1, 5), cores=st.sampled_from([1, 2]))
def test_a_follower_has_the_trace_of_changing_programs(tmp_path_factory, steps, horizon, cores):
    """Also when the program changes, and when the tables were summed meanwhile."""
    followed = Followed(tmp_path_factory.mktemp("followed"), LATTICES, cores)
    with closing(followed.stored) as stored:
        followed.run([("start", (EX("a"),), 1)])
        for updates, rules, is_seen in steps:
            followed.run(updates, rules)
            if is_seen:
                followed.follower.follow()
                assert followed.follower.epoch == stored.epoch - 1
        stored.merge(min(horizon, stored.epoch - 2))
        followed.check(stored.epoch, [("start", (EX("b"),), 1)])


@pytest.mark.parametrize("is_seen", [True, False])
def test_what_is_not_committed_is_not_taken(tmp_path, is_seen):
    """A start replays the last stored epoch, from the state before it."""
    followed = Followed(tmp_path, LATTICES)
    with closing(followed.stored):
        followed.run([("start", (EX("a"),), 1)])
        followed.follower.follow()
        last = [("start", (EX("b"),), 1)]
        followed.run(last, is_committed=False)
        if is_seen:
            followed.follower.follow()
        assert followed.follower.epoch == 0
        # Its terms have their ids already.
        followed.check(1, last)


def test_a_term_with_another_id_is_loaded_anew(tmp_path):
    """An engine that has made a term which the state has under another id begins again."""
    followed = Followed(tmp_path, LATTICES)
    with closing(followed.stored):
        followed.run([("start", (EX("a"),), 1)])
        followed.follower.follow()
        session = followed.follower.session_before(followed.recovered(1))
        session.dictionary.intern(EX("of another epoch"))
        followed.run([("start", (EX("b"),), 1)])
        followed.follower.follow()
        followed.check(2)


def test_another_application_or_program_is_refused(tmp_path):
    """By name, before anything is taken."""
    followed = Followed(tmp_path, LATTICES)
    with closing(followed.stored):
        followed.run([("start", (EX("a"),), 1)])
    with pytest.raises(StateError, match="belongs to another program"):
        Follower(followed.config, check_text(PLAIN)).follow()
    config = replace(followed.config, pipeline=replace(followed.config.pipeline, app_id="other"))
    with pytest.raises(StateError, match=f"belongs to the application {APP}, and .* is other"):
        Follower(config, check_text(LATTICES)).follow()
