"""The SQL of the documents, on a state with a lattice, a closure and asserted facts."""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable

from streamreasoner.state import migrate

ROOT = Path(__file__).parents[3]


def blocks(language):
    """The blocks of docs/reference/tables.md in a language."""
    text = (ROOT / "docs/reference/tables.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


QUERIES = blocks("sql")


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A state, with the input and output of its pipeline."""
    folder = tmp_path_factory.mktemp("sql")
    with tarfile.open(ROOT / "tests/states/66d5e30.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    migrate(folder / "state/tables")
    return folder / "state/tables", json.loads((folder / "record.json").read_text())


def facts(tables, query):
    """The rows of a query on the tables."""
    with duckdb.connect() as database:
        for name in ("trace", "terms"):
            database.register(name, DeltaTable(tables / name).to_pyarrow_dataset())
        return sorted(database.execute(query).fetchall())


def published(record, wanted):
    """The facts of a predicate according to the output topic."""
    sums = Counter()
    for predicate, args, diff in record["changes"]:
        if predicate == wanted:
            sums[tuple(args)] += diff
    return sorted(+sums)


def test_the_facts_of_a_recursive_predicate(state):
    """The first statement returns the closure, as published."""
    tables, record = state

    assert facts(tables, QUERIES[0].replace("reports", "linked")) == published(record, "linked")


def test_the_asserted_facts(state):
    """With the condition on the iteration, the first statement returns the asserted facts."""
    tables, record = state
    sums = Counter()
    for topic, value in record["sent"]:
        update = json.loads(value)
        if topic == "state-in" and update["predicate"] == "start":
            sums[tuple(update["args"])] += update["diff"]
    query = QUERIES[0].replace("reports", "start").replace("WHERE", "WHERE iteration = 0 AND")
    query = query.replace(", o.term", "").replace("JOIN terms o ON o.id = a1", "")

    assert facts(tables, query) == sorted(+sums)


def test_the_winners_of_a_lattice(state):
    """The second statement returns the winner of each group, the first one all candidates."""
    tables, record = state
    winners = published(record, "distance")
    candidates = facts(tables, QUERIES[0].replace("reports", "distance"))

    assert facts(tables, QUERIES[1]) == winners
    assert set(winners) < set(candidates)
