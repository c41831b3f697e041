"""Law: after any changes of a table, its facts are those of the rows that it then has."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner import config
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.registry import DEBEZIUM
from streamreasoner.rdf.dictionary import Dictionary

FACTS = [
    {"predicate": "triple", "args": ["<http://e/{id}>", "<http://e/floor>", "floor"]},
    {"predicate": "in", "args": ["<http://e/{id}>", "<http://e/{site}/{floor}>"]},
    {"predicate": "named", "args": ['"{name}, {site}"@en']},
    {"predicate": "quad", "args": ["<http://e/{id}>", "<http://e/is>", "<http://e/x>", "<g:g>"]},
]
DOCUMENT = {
    "kafka": {"bootstrap_servers": "h:1", "input_topics": ["in"], "output_topic": "out"},
    "rules": {"program": "rdfs"},
    "state": {"directory": "state"},
    "input": {
        "format": "debezium",
        "map": {"rooms": {"table": "public.rooms", "facts": FACTS}},
    },
}
TEXTS = st.none() | st.text("a/ü\"\\ '%{}~", max_size=3)
DIGITS = {0.5: "0.5", 1e30: "1" + 30 * "0", -0.0: "-0.0"}
CANONICAL = {0.5: "5.0E-1", 1e30: "1.0E30", -0.0: "-0.0E0"}
FLOORS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([*DIGITS]) | TEXTS
IDS = st.integers(0, 3)
CHANGES = st.lists(
    st.tuples(IDS, st.none() | st.tuples(FLOORS, TEXTS, TEXTS), st.booleans()), max_size=12
)
CUTS = st.lists(st.integers(0, 12), max_size=2)


def events(changes):
    """The events of writing rows and deleting them, and the table in the end."""
    table, found = {}, []
    for id_, values, wrapped in changes:
        before = table.pop(id_, None)
        after = None
        if values is not None:
            after = dict(zip(("id", "floor", "name", "site"), (id_, *values), strict=True))
            table[id_] = after
        if before is None and after is None:
            continue
        op = "u" if before and after else "d" if before else "c"
        source = {"schema": "public", "table": "rooms", "ts_ms": 1}
        event = {"op": op, "before": before, "after": after, "source": source}
        found.append(json.dumps({"payload": event} if wrapped else event).encode())
        if op == "d":
            found.append(None)
    return found, table


def text(value):
    """A value within a term."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return DIGITS[value] if isinstance(value, float) else str(value)


def escaped(value):
    """A value within an IRI."""
    return "".join(c if c.isalnum() or c in "-._~" else quote(c, safe="") for c in text(value))


def literal(value):
    """A value as a literal."""
    xsd = "http://www.w3.org/2001/XMLSchema#"
    if isinstance(value, bool):
        return f'"{text(value)}"^^<{xsd}boolean>'
    if isinstance(value, int):
        return f'"{value}"^^<{xsd}integer>'
    if isinstance(value, float):
        return f'"{CANONICAL[value]}"^^<{xsd}double>'
    return quoted(value)


def quoted(value):
    """A text between quotation marks."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def facts_of(row):
    """What the configuration above says of a row."""
    room = f"<http://e/{row['id']}>"
    yield "quad", (room, "<http://e/is>", "<http://e/x>", "<g:g>")
    if row["floor"] is not None:
        yield "triple", (room, "<http://e/floor>", literal(row["floor"]))
        if row["site"] is not None:
            yield "in", (room, f"<http://e/{escaped(row['site'])}/{escaped(row['floor'])}>")
    if row["name"] is not None and row["site"] is not None:
        yield "named", (quoted(f"{row['name']}, {row['site']}") + "@en",)


@given(CHANGES, CUTS)
def test_the_changes_of_a_table_leave_the_facts_of_its_rows(changes, cuts):
    """However its events are spread over batches; tombstones and wrappers change nothing."""
    messages, table = events(changes)
    mappings = tuple(config.parse(DOCUMENT, {}, Path("/")).input.map.values())
    options = InputOptions(
        max_message_bytes=1000, max_term_bytes=1000, default=DEBEZIUM, mappings=mappings
    )
    dictionary = Dictionary()
    codec = Codec(dictionary, {"quad": 4, "in": 2, "named": 1}, options)
    sums = Counter()
    bounds = sorted({0, len(messages), *(min(cut, len(messages)) for cut in cuts)})
    for start, end in itertools.pairwise(bounds):
        decoded = codec.decode(batch(messages[start:end]))
        assert decoded.rejected == ()
        for each in decoded.updates:
            for args, diff in zip(each.args, each.multiplicity, strict=True):
                sums[each.predicate, tuple(dictionary.decode(args).to_pylist())] += int(diff)
    expected = Counter(fact for row in table.values() for fact in facts_of(row))
    assert {fact: count for fact, count in sums.items() if count} == expected


def batch(values):
    """Messages as the source returns them."""
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    times = [datetime(2026, 3, 1, tzinfo=UTC)] * len(values)
    return pa.table(
        {
            "topic": ["in"] * len(values),
            "value": pa.array(values, pa.binary()),
            "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
            "headers": pa.array([None] * len(values), header),
        }
    )
