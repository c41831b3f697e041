"""Change events of a table, through a real topic with tombstones, on a real pipeline."""

from __future__ import annotations

import json

from pipelines import await_published, changes, committed, net, new_case, produce
from spark_jvm import MARKS

from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = "high(?r) :- [?r, <http://example.org/floor>, ?f], ?f > 1 .\n"
FACT = {
    "predicate": "triple",
    "args": ["<http://example.org/room/{id}>", "<http://example.org/floor>", "floor"],
}


def event(op, before=None, after=None):
    """A message of Debezium, and the tombstone after a deletion."""
    source = {"db": "shop", "schema": "public", "table": "rooms", "ts_ms": 1_772_323_200_000}
    change = {"op": op, "before": before, "after": after, "source": source}
    yield (json.dumps({"schema": {}, "payload": change}).encode(), None, b'{"id": 1}')
    if op == "d":
        yield (None, None, b'{"id": 1}')


def rows(floors):
    """Rooms by number."""
    return [{"id": number, "floor": floor} for number, floor in enumerate(floors, start=1)]


def test_the_output_follows_a_table(broker, tmp_path):
    """Rows that are created, updated and deleted; what is not a change of a row is rejected."""
    mapping = {"rooms": {"table": "public.rooms", "key": ["id"], "facts": [FACT]}}
    case = new_case(broker, tmp_path, RULES, input={"format": "debezium", "map": mapping})
    one, two, three = rows([1, 2, None])
    raised = {**one, "floor": 7}
    batches = [
        [*event("r", None, one), *event("c", None, two), *event("c", None, three)],
        [*event("u", one, raised), *event("t")],
        [*event("d", two), *event("u", None, one), *event("u", three, {**three, "floor": 2})],
    ]
    expected = [{2}, {1, 2}, {1, 3}]
    with pipeline(case.config):
        for messages, rooms in zip(batches, expected, strict=True):
            await_published(case, produce(case, messages))
            assert net(changes(case)) == {
                ("high", (f"<http://example.org/room/{number}>",)) for number in rooms
            }
    letters = committed(case, case.kafka.dead_letter_topic)
    classes = {dict(record.headers)["class"] for record in letters}
    assert (len(letters), classes) == (2, {b"unknown-operation", b"missing-field"})
