"""The example of change data capture: its events leave what plain loops find in the tables."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
from examples.cases import FOLDER

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.config import load
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.registry import of_name

HERE = FOLDER / "change-data-capture"
EVENTS = (HERE / "events.jsonl").read_text("utf-8").splitlines()


def rows_after(events):
    """The rows of each table."""
    tables = {"customers": [], "orders": [], "items": [], "stock": []}
    for event in map(json.loads, events):
        rows = tables[event["source"]["table"]]
        if event["before"] is not None:
            rows.remove(event["before"])
        if event["after"] is not None:
            rows.append(event["after"])
    return tables


def expected(tables):
    """What is short, which orders are ready, and whom to tell what they wait for."""
    demand = Counter()
    for item in tables["items"]:
        demand[item["product"]] += item["quantity"]
    short = {
        each["product"]: demand[each["product"]] - each["quantity"]
        for each in tables["stock"]
        if demand[each["product"]] > each["quantity"]
    }
    waits = {(each["order_id"], each["product"]) for each in tables["items"]}
    waits = {each for each in waits if each[1] in short}
    names = {each["id"]: each["name"] for each in tables["customers"]}
    customers = {each["id"]: each["customer_id"] for each in tables["orders"]}
    return {
        "short": set(short.items()),
        "ready": {(order,) for order in customers if order not in {each[0] for each in waits}},
        "tell": {(names[customers[order]], product) for order, product in waits},
    }


def test_events_keep_what_is_missing_up_to_date():
    """After every event the derived facts are those of the tables."""
    config = load(HERE / "pipeline.toml", {})
    reasoner = Reasoner.from_rules(HERE / "rules.dl")
    options = InputOptions(
        max_message_bytes=config.pipeline.max_message_bytes,
        max_term_bytes=config.pipeline.max_term_bytes,
        default=of_name(config.input.format),
        mappings=tuple(config.input.map.values()),
    )
    codec = Codec(reasoner.session.dictionary, reasoner.program.arities, options)
    seen = set()
    for number, event in enumerate(EVENTS, start=1):
        batch = pa.table(
            {
                "value": pa.array([event.encode()], pa.binary()),
                "timestamp": pa.array([0], pa.timestamp("ms", "UTC")),
                "headers": pa.nulls(1),
                "topic": pa.array(["shop"]),
            }
        )
        decoded = codec.decode(batch)
        assert decoded.rejected == ()
        reasoner.session.apply(decoded.updates)
        derived = {name: set(reasoner.facts(name)) for name in reasoner.program.outputs}
        assert derived == expected(rows_after(EVENTS[:number]))
        seen |= {name for name, facts in derived.items() if facts}
    assert seen == {"short", "ready", "tell"}
