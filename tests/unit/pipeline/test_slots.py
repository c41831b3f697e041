"""Slots of event time: what fails, what waits over a stop, ticks, and what a state refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from slot_builders import START, Process, Sent, Stream
from storage_builders import commit_one, open_tables

from streamreasoner.errors import MultiplicityOverflowError, StateError
from streamreasoner.history.epochs import Past
from streamreasoner.pipeline.recovery import check_granularity
from streamreasoner.pipeline.slots.idle import KEY, IdlePartitions, tick
from streamreasoner.program import check_text
from streamreasoner.state import schemas
from streamreasoner.state.delta.table import Identity, Table
from streamreasoner.state.erasure.request import Request, used_ids
from streamreasoner.state.erasure.steps import erase
from streamreasoner.state.erasure.stopped import StoppedState
from streamreasoner.state.maintenance.prune import prune_closed
from streamreasoner.state.maintenance.waiting import check_none_waits

COUNT = check_text(
    "@input edge/2 .\nn(?y) :- edge(_, ?y) .\nn(?m) :- n(?k), ?k < 200, ?m = ?k + 1 ."
)
EDGES = check_text("path(?x, ?y) :- edge(?x, ?y) .")
A, B = "<http://example.org/a>", "<http://example.org/b>"
BAG, OTHER = ("bag", 0), ("bag", 1)


def sent(second, y, diff=1):
    """An edge from A, at a number of seconds after the start."""
    time = START + int(second * 1000)
    return Sent((("edge", (A, y), diff, time),), time)


def clock(second):
    """A message without updates, but with a time."""
    time = START + int(second * 1000)
    return Sent((), time, None, time)


def integer(number):
    """The term of a number."""
    return f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>'


def facts(stream):
    """What was published: arguments, sign and seconds of the slot's end since the start."""
    return [
        (*fields["args"], fields["diff"], fields["epoch"] - START // 1000)
        for fields in (json.loads(value) for _, _, value, _ in stream.topics.changes)
        if fields["predicate"] == "path"
    ]


LOGS = {BAG: [sent(0, B), sent(1.5, A), sent(2, B, -1), clock(9)], OTHER: [sent(0.2, A), clock(9)]}
ALL = {BAG: 4, OTHER: 2}


def test_each_slot_is_evaluated_by_itself(tmp_path):
    """One batch closes all slots, in order; a fact that comes and goes in it is published twice."""
    stream = Stream(tmp_path, EDGES, LOGS)
    stream.read(ALL)

    assert facts(stream) == [(A, A, 1, 1), (A, B, 1, 1), (A, B, -1, 3)]


def test_an_update_whose_slot_is_over_belongs_to_the_first_open_one(tmp_path):
    """Nothing is dropped, and it is counted; the other partition does not matter."""
    late = {BAG: [sent(5, A), sent(1, B), clock(9)], OTHER: [clock(9)]}
    stream = Stream(tmp_path, EDGES, late)
    stream.read({BAG: 3, OTHER: 1})

    assert facts(stream) == [(A, A, 1, 6), (A, B, 1, 6)]
    assert stream.process.marks.late == 1


def test_a_time_from_the_future_waits_no_longer_than_its_message(tmp_path):
    """It counts as five seconds after its message, so that a wrong clock holds nothing forever."""
    future = Sent((("edge", (A, B), 1, START + 10**9),), START)
    stream = Stream(tmp_path, EDGES, {BAG: [future, clock(9)]})
    stream.read({BAG: 2})

    assert facts(stream) == [(A, B, 1, 6)]


def test_a_partition_that_is_silent_holds_what_waits(tmp_path):
    """Until it has a message or tick; what waits outlives the process."""
    stream = Stream(tmp_path, EDGES, LOGS)
    stream.read({BAG: 4, OTHER: 0})
    assert (facts(stream), len(stream.process.waiting)) == ([], 3)
    stream.restart()
    stream.read({BAG: 4, OTHER: 1})
    assert (facts(stream), len(stream.process.waiting)) == ([], 4)
    stream.read(ALL)

    assert (len(facts(stream)), len(stream.process.waiting)) == (3, 0)


@pytest.mark.parametrize(
    "batches",
    [[{BAG: 4, OTHER: 2}], [{BAG: 2, OTHER: 0}, {BAG: 4, OTHER: 1}, {BAG: 4, OTHER: 2}]],
)
def test_a_slot_leaves_out_the_messages_that_it_fails_with(tmp_path, batches):
    """Also those of an earlier batch, which are dead letters byte for byte; others count."""
    logs = {
        BAG: [sent(0, integer(199)), sent(0, integer(0)), sent(3, integer(190)), clock(9)],
        OTHER: [sent(0.5, integer(10)), clock(9)],
    }
    stream = Stream(tmp_path, COUNT, logs, limit=50)
    for ends in batches:
        stream.read(ends)

    numbers = [json.loads(value)["args"] for *_, value, _ in stream.topics.changes]
    assert {int(args[0].split('"')[1]) for args in numbers if len(args) == 1} == {*range(190, 201)}
    rows = [logs[BAG][1].row(*BAG, 1), logs[OTHER][0].row(*OTHER, 0)]
    assert [value for value, _ in stream.topics.letters] == [row["value"] for row in rows]
    headers = [dict(headers) for _, headers in stream.topics.letters]
    assert {each["class"] for each in headers} == {b"epoch-failed"}
    assert all(b"Its slot fails with this message: " in each["reason"] for each in headers)


def test_a_message_that_is_gone_is_a_dead_letter_without_a_value(tmp_path):
    """Retention may delete a message before its slot fails."""
    stream = Stream(tmp_path, COUNT, {BAG: [sent(0, integer(0)), clock(9)]}, limit=50)
    stream.messages = lambda _: stream.table({BAG: 0}, {BAG: 0})
    stream.read({BAG: 2})

    [(value, headers)] = stream.topics.letters
    assert value is None
    assert b"no longer in its topic" in dict(headers)["reason"]
    assert dict(headers)["offset"] == b"0"


def test_a_failure_that_no_message_causes_ends_the_process(tmp_path, monkeypatch):
    """The slot fails without its messages too."""
    stream = Stream(tmp_path, EDGES, {BAG: [sent(0, B), clock(9)]})
    stream.read({BAG: 0})
    engine = stream.process.session.engine

    def fail(*_, **__):
        raise MultiplicityOverflowError("edge", (A, B))

    monkeypatch.setattr(type(engine), "apply", fail)
    monkeypatch.setattr(type(engine), "rehearse", fail)
    with pytest.raises(Exception, match="fails even without its messages"):
        stream.read({BAG: 2})


def test_another_granularity_is_refused(tmp_path):
    """The epochs of a state were published with the one that it began with."""
    stream = Stream(tmp_path, EDGES, LOGS)
    stream.read(ALL)
    tables = stream.process.tables
    check_granularity(tables.last_record, 1000)
    with pytest.raises(StateError, match=r'begun with time.granularity "PT1S", and it is "PT2S"'):
        check_granularity(tables.last_record, 2000)
    with pytest.raises(StateError, match=r'begun with time.granularity "PT1S", and it is not set'):
        check_granularity(tables.last_record, None)


def test_a_state_of_batches_is_not_continued_in_slots(tmp_path):
    """It has no table of what waits, and none is added."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
    with open_tables(tmp_path, waiting=True) as tables:
        with pytest.raises(StateError, match=r'granularity not set, and it is "PT1S"'):
            check_granularity(tables.last_record, 1000)
        with pytest.raises(StateError, match=r"begun without time.granularity"):
            tables.waiting(1, 0)


def test_nothing_that_waits_is_erased_or_lost(tmp_path):
    """Commands that do not know what waits refuse the state, and say what to do."""
    stream = Stream(tmp_path, EDGES, LOGS)
    stream.read({BAG: 4, OTHER: 0})
    with pytest.raises(StateError, match=r"An erasure does not know 3 updates whose slots"):
        check_none_waits(tmp_path / "tables", 0, "An erasure")
    stream.read(ALL)
    stream.restart()

    check_none_waits(tmp_path / "tables", 1, "An erasure")


def test_what_was_retracted_is_erased_with_its_rows_of_closed_slots(tmp_path):
    """No row of `waiting` keeps the id of a term; the state goes on afterwards."""
    stream = Stream(tmp_path, EDGES, {**LOGS, OTHER: [*LOGS[OTHER], sent(10, A), clock(20)]})
    stream.read({BAG: 4, OTHER: 0})
    stream.read(ALL)
    stream.restart()
    state = StoppedState.open(tmp_path / "tables", "app", (1, 1))
    request = Request(terms=(B,))
    steps = [*erase(state, request, used_ids(state, request), [])]

    assert steps[3].terms == (B,)
    table = Table(tmp_path / "tables" / schemas.WAITING, schemas.WAITING, Identity("app", 8))
    assert table.files() == []
    stream.logs[BAG].append(clock(20))
    stream.read({BAG: 5, OTHER: 4})
    assert len(facts(stream)) == 3


def test_rows_of_closed_slots_are_deleted(tmp_path):
    """A start on what is left is one on all rows."""
    stream = Stream(tmp_path, EDGES, {**LOGS, OTHER: [clock(1.2), clock(9)]})
    stream.read({BAG: 4, OTHER: 0})
    stream.read({BAG: 4, OTHER: 1})
    stream.restart()
    table = Table(tmp_path / "tables" / schemas.WAITING, schemas.WAITING, Identity("app", 8))
    before = sum(file.rows for file in table.files())
    prune_closed(table, START + 1200)

    assert (before, sum(file.rows for file in table.files())) == (3, 2)
    stream.read({BAG: 4, OTHER: 2})
    assert facts(stream) == [(A, B, 1, 1), (A, A, 1, 2), (A, B, -1, 3)]


def test_the_past_is_that_of_the_ends_of_batches(tmp_path):
    """A time between two slots that one batch closed is refused; others name a batch."""
    stream = Stream(tmp_path, EDGES, LOGS)
    stream.read(ALL)
    stream.restart()
    past = Past(tmp_path / "tables")
    start = datetime.fromtimestamp(START / 1000, UTC)

    assert past.epoch_at(start + timedelta(seconds=3)) == 0
    with pytest.raises(StateError, match="One batch closed the slots"):
        past.epoch_at(start + timedelta(seconds=2))


def test_ticks_go_to_idle_partitions_only():
    """One that had a message since the last time, or has unread ones, gets none."""
    ends = {"in": {"0": [0, 4], "1": [0, 7], "2": [0, 1]}}
    lag = {("in", "0"): 0, ("in", "1"): 0, ("in", "2"): 5}
    got = []

    def send(topic, partition, message):
        got.append((topic, partition, message))
        return ends[topic][str(partition)][1]

    idle = IdlePartitions(lambda: ends, lambda: lag, send)
    idle.send(1)
    assert got == []
    ends["in"]["1"] = [7, 9]
    idle.send(2)
    assert got == [("in", 0, tick(2))]
    # The tick itself was read.
    ends["in"]["0"] = [4, 5]
    idle.send(3)
    assert got[1:] == [("in", 0, tick(3)), ("in", 1, tick(3))]
    assert tick(3).key == KEY


def test_a_tick_is_read_as_one(tmp_path):
    """A message as the pipeline sends it closes slots, in a topic with keys too."""
    message = tick(START + 9_000)
    clock_row = {"value": message.value, "key": message.key, "headers": message.headers}

    class Tick(Sent):
        """The message as Kafka has it."""

        def row(self, topic, partition, offset):
            """With its own key, value and header."""
            headers = [{"key": key, "value": value} for key, value in clock_row["headers"]]
            return {**super().row(topic, partition, offset), **clock_row, "headers": headers}

    ticked = Tick((), START + 9_000)
    keyed = Sent((("edge", (A, B), 1, START),), START, "k")
    stream = Stream(tmp_path, EDGES, {BAG: [ticked], ("keyed", 0): [keyed, ticked]})
    stream.read({BAG: 1, ("keyed", 0): 2})

    assert facts(stream) == [(A, B, 1, 1)]
    assert isinstance(stream.process, Process)
