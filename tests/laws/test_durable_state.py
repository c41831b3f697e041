"""A state in a directory is that in memory, wherever a process breaks off."""

from __future__ import annotations

from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import hierarchies
import pytest
from driver import Driver
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from strategies import checked, scenarios
from thorough import THOROUGH

from streamreasoner.api.durable import journal
from streamreasoner.api.durable.batches import Batch, is_known
from streamreasoner.api.durable.opening import open_session
from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.errors import CircularNegationError, RecursionLimitError, StateError
from streamreasoner.program.load import load_program
from streamreasoner.state.delta.table import Table

POINTS = ("journal", "terms", "changes", "programs", "trace", "return")


class BrokenOffError(Exception):
    """The process ends here."""


class Durable(Driver):
    """A driver whose state is in a directory.

    Attributes:
        hierarchies: Gives the word for what is done with hierarchies, whenever it is opened.
    """

    def __init__(self, directory, checked, hierarchies=lambda: "stored"):
        super().__init__(checked)
        self.directory, self.hierarchies = Path(directory), hierarchies
        self.session = self.open(checked)

    def open(self, checked=None):
        """Open the state."""
        return open_session(
            self.directory,
            checked,
            recursion_limit=Driver.recursion_limit,
            max_new_terms=10_000,
            hierarchies=self.hierarchies(),
        )

    def reopen(self):
        """Close the state and open it again."""
        self.session.close()
        self.session = self.open()

    def apply(self, updates, **options):
        """One epoch that is stored."""
        return self.session.apply(list(self.encode(updates)), **options)

    def break_off(self, point, updates, checked=None):
        """One epoch in which the process ends at a point, which its tables may not come to."""
        self._break_off(point, lambda: self.session.apply(list(self.encode(updates)), checked))

    def send(self, batch, updates):
        """A batch of a stream, unless the state has it."""
        if not is_known(batch, self.session.positions):
            self.session.apply_batch(batch, list(self.encode(updates)), NO_FRONTIER)

    def break_off_batch(self, point, batch, updates):
        """The same, in which the process ends at a point."""
        self._break_off(point, lambda: self.send(batch, updates))

    def _break_off(self, point, apply):

        def ending(name, call):
            def called(*args, **options):
                if point in (name, args[0].name if name == "table" else None):
                    raise BrokenOffError
                return call(*args, **options)

            return called

        with pytest.MonkeyPatch.context() as patch, suppress(BrokenOffError):
            patch.setattr(journal, "write", ending("journal", journal.write))
            patch.setattr(Table, "append", ending("table", Table.append))
            patch.setattr(journal, "delete", ending("return", journal.delete))
            apply()
        self.reopen()


@settings(max_examples=200 if THOROUGH else 4)
@given(scenarios(), st.data())
def test_a_state_is_that_in_memory(scenario, data):
    """The trace of a state that is closed between epochs is that of an engine in memory."""
    memory = Driver(scenario.checked)
    memory.run(scenario.epochs)
    with TemporaryDirectory() as directory:
        durable = Durable(directory, scenario.checked)
        for epoch in scenario.epochs:
            if data.draw(st.booleans()):
                durable.reopen()
            durable.apply(epoch)
        durable.reopen()
        assert durable.session.next_epoch == len(scenario.epochs)
        assert durable.trace() == memory.trace()
        durable.session.close()


@settings(max_examples=200 if THOROUGH else 4)
@given(scenarios(), st.data())
def test_an_epoch_that_breaks_off_is_there_or_not(scenario, data):
    """Wherever its process ends, the next one has all of the epoch or nothing, and goes on."""
    memory = Driver(scenario.checked)
    with TemporaryDirectory() as directory:
        durable = Durable(directory, scenario.checked)
        try:
            for epoch in scenario.epochs:
                point, begun = data.draw(st.sampled_from(POINTS)), durable.session.next_epoch
                durable.break_off(point, epoch)
                assert durable.session.next_epoch == begun + (point != "journal")
                if point != "journal":
                    memory.apply(epoch)
                    assert durable.trace() == memory.trace()
        except RecursionLimitError:
            reject()
        finally:
            durable.session.close()


@settings(max_examples=200 if THOROUGH else 4)
@given(scenarios(), st.data())
def test_a_batch_that_is_sent_again_counts_once(scenario, data):
    """Wherever its process ends, a stream that sends the batch again has the state of one epoch."""
    memory = Driver(scenario.checked)
    memory.run(scenario.epochs)
    with TemporaryDirectory() as directory:
        durable = Durable(directory, scenario.checked)
        for number, epoch in enumerate(scenario.epochs):
            batch = Batch("stream", "query", number)
            durable.break_off_batch(data.draw(st.sampled_from(POINTS)), batch, epoch)
            durable.send(batch, epoch)
            if data.draw(st.booleans()):
                durable.apply([])  # an epoch of its own, which is not a batch
            with pytest.raises(StateError, match="ahead of"):
                is_known(Batch("stream", "query", number + 2), durable.session.positions)
            with pytest.raises(StateError, match="new checkpoint"):
                is_known(Batch("stream", "other", 0), durable.session.positions)
            if number > 0:
                with pytest.raises(StateError, match="behind"):
                    is_known(Batch("stream", "query", number - 1), durable.session.positions)
        assert durable.trace() == memory.trace()
        durable.session.close()


@settings(max_examples=500 if THOROUGH else 12)
@given(hierarchies.scenarios(), st.lists(hierarchies.programs() | st.none(), max_size=3), st.data())
def test_tables_have_all_copies(scenario, later, data):
    """Whether hierarchies are encoded may change whenever a state is opened, and nothing tells."""
    memory, words = Driver(scenario.checked), st.sampled_from(["auto", "stored", "encoded"])
    with TemporaryDirectory() as directory, hierarchies.every_epoch_decides(0.2):
        durable = Durable(directory, scenario.checked, lambda: data.draw(words))
        for epoch, text in zip_longest(scenario.epochs, later, fillvalue=None):
            program = None if text is None else checked(text)
            try:
                if program is not None:
                    memory.change(program)
                    durable.change(program)
                updates = [update for update in epoch or () if update[0] in memory.own]
                memory.apply(updates)
            except CircularNegationError:
                reject()  # the facts leave the program without a meaning
            durable.break_off("return", updates)
            assert durable.trace(memory.own) == memory.trace()
            assert rows_of_tables(durable, memory.own) == memory.trace()
        durable.session.close()


def rows_of_tables(durable, predicates):
    """What the tables have of the trace of some predicates, as `Driver.trace` gives it."""
    found, session = {}, durable.session
    for rows in session.tables.restore(session.next_epoch):
        assert not rows.predicate.startswith(("held@", "wanted@", "exists@", "differ@"))
        if rows.predicate in predicates:
            durable.add_trace([rows], found)
    return found


@pytest.mark.parametrize("point", POINTS)
def test_a_change_of_rules_breaks_off(tmp_path, point):
    """A change of the program is in effect with its epoch, or it is not."""
    before = load_program("path(?x, ?y) :- edge(?x, ?y) .\n@input seen/1 .")
    after = load_program("path(?y, ?x) :- edge(?x, ?y) .\n@input seen/1 .\nfirst(1) .")
    durable = Durable(tmp_path, before)
    durable.apply([("edge", ("<a:x>", "<a:y>"), 1)])
    durable.break_off(point, [("seen", ("<a:z>",), 1)], after)
    happened = point != "journal"

    assert durable.session.next_epoch == 1 + happened
    found = durable.closure(["path", "seen", *(["first"] if happened else [])])
    stays, comes = ("path", ("<a:x>", "<a:y>")), ("path", ("<a:y>", "<a:x>"))
    assert (stays in found, comes in found) == (not happened, happened)
    assert (("seen", ("<a:z>",)) in found) == happened
    durable.session.close()


def test_a_session_that_could_not_store_is_not_used(tmp_path):
    """Its memory is ahead of its tables, so that it refuses until the state is opened again."""
    durable = Durable(tmp_path, load_program("p(?x) :- q(?x) ."))

    def full(*_):
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "write", full)
        with pytest.raises(StateError, match=r"cannot be written: .*No space left"):
            durable.apply([("q", ("<a:x>",), 1)])
    with pytest.raises(StateError, match="Close the reasoner"):
        durable.apply([("q", ("<a:x>",), 1)])
    durable.reopen()
    durable.apply([("q", ("<a:y>",), 1)])
    assert durable.closure(["p"]) == {("p", ("<a:y>",))}
    durable.session.close()
