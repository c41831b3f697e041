"""Results as tables, and tables as input: the same facts as Python terms, whatever the way."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef

from streamreasoner import Reasoner, Update
from streamreasoner.api.nodes import to_ntriples
from streamreasoner.errors import DataError, EnvironmentSetupError

PATHS = "path(?x, ?y) :- edge(?x, ?y).\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z).\n"
TERMS = st.sampled_from(
    [
        *(1, 2, -3, 10**30, "a", "é\n", 1.5, Decimal("1.5"), True),
        *(BNode("b"), URIRef("http://e/a"), URIRef("http://e/é"), Literal("a", lang="en")),
    ]
)
BATCHES = st.lists(
    st.lists(st.builds(Update, st.just("edge"), st.tuples(TERMS, TERMS), st.sampled_from([1, -1]))),
    max_size=4,
)


def texts(args):
    """Arguments as their terms."""
    return tuple(map(to_ntriples, args))


def rows(table):
    """The rows of an Arrow table, in which lists are tuples."""
    columns = [column.to_pylist() for column in table.columns]
    return Counter(
        tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row)
        for row in zip(*columns, strict=True)
    )


@given(BATCHES)
def test_tables_have_the_rows_of_the_sequences(batches):
    """Of facts, traces and differences, which are the same if they are read after later epochs."""
    reasoner = Reasoner.from_rules(PATHS)
    diffs, before = [], [set()]
    for batch in batches:
        diffs.append(reasoner.apply(batch))
        before.append({texts(args) for args in reasoner.facts("path")})
    for diff, old, new in zip(diffs, before, before[1:], strict=False):
        changed = Counter(
            (each.predicate, texts(each.args), each.multiplicity) for each in diff.changes
        )

        assert rows(diff.to_arrow()) == changed
        for predicate in ("edge", "path"):
            own = {
                (*args, sign): n for (name, args, sign), n in changed.items() if name == predicate
            }
            assert rows(diff.to_arrow(predicate)) == own
        signs = {args: sign for name, args, sign in changed if name == "path"}
        assert signs == {**dict.fromkeys(new - old, 1), **dict.fromkeys(old - new, -1)}
    for predicate in ("edge", "path"):
        facts, trace = reasoner.facts(predicate), reasoner.trace(predicate)

        assert rows(facts.to_arrow()) == Counter(map(texts, facts))
        assert len(facts) == len(facts.to_arrow()) == len([*facts])
        assert rows(trace.to_arrow()) == Counter((*texts(args), i, n) for args, i, n in trace)


@given(BATCHES)
def test_a_table_is_taken_as_updates_are(batches):
    """Facts, multiplicities and differences are those of `apply`."""
    one, other = Reasoner.from_rules(PATHS), Reasoner.from_rules(PATHS)
    for batch in batches:
        cells = [texts(update.args) for update in batch]
        table = pa.table(
            {
                "a1": pa.array([y for _, y in cells], pa.string()),
                "multiplicity": pa.array([update.multiplicity for update in batch], pa.int8()),
                "a0": pa.array([x for x, _ in cells], pa.string()).dictionary_encode(),
            }
        )
        expected = one.apply(batch)

        assert rows(other.apply_arrow(table, "edge").to_arrow()) == rows(expected.to_arrow())
    for predicate in ("edge", "path"):
        traces = (each.trace(predicate).to_arrow() for each in (one, other))
        assert rows(next(traces)) == rows(next(traces))


def test_what_a_reasoner_returns_another_takes():
    """Triples as a table, a batch or a polars data frame."""
    reasoner = Reasoner.from_rules("rho-df")
    sub = URIRef("http://www.w3.org/2000/01/rdf-schema#subClassOf")
    reasoner.apply(
        Update.triple(URIRef(f"http://e/{n}"), sub, URIRef(f"http://e/{n + 1}")) for n in range(9)
    )
    table = reasoner.facts().to_arrow()

    assert table.column_names == ["s", "p", "o"]
    for each in (table, reasoner.facts().to_polars(), table.to_batches()[0]):
        again = Reasoner.from_rules("rho-df")
        again.apply_arrow(each)
        assert {*again.facts()} == {*reasoner.facts()}


def test_data_frames():
    """Terms are categorical texts."""
    reasoner = Reasoner.from_rules(PATHS)
    diff = reasoner.apply([Update("edge", (1, "a"))])
    one = to_ntriples(1)

    for result in (diff.to_polars("path"), reasoner.facts("path").to_polars()):
        assert result.schema["x"] == pl.Categorical
        assert result.row(0)[:2] == (one, '"a"')
    assert diff.to_polars()["args"].to_list() == [[one, '"a"']] * 2
    for result in (diff.to_pandas("path"), reasoner.facts("path").to_pandas()):
        assert result["x"].dtype == "category"
        assert [*result.iloc[0]][:2] == [one, '"a"']
    assert [*reasoner.trace("path").to_pandas().columns] == [
        "x",
        "y",
        "iteration",
        "multiplicity",
    ]


def test_a_missing_library_is_named(monkeypatch):
    """The message has the way out."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    facts = Reasoner.from_rules(PATHS).facts("path")
    with pytest.raises(
        EnvironmentSetupError,
        match=r"needs pandas, which is not installed.*'streamreasoner\[pandas\]'",
    ):
        facts.to_pandas()


def test_empty_results_have_their_columns():
    """Also of a predicate that has not changed."""
    reasoner = Reasoner.from_rules(f"{PATHS}again(?s) :- [?s, _, _] .\n")
    diff = reasoner.apply([])

    assert diff.to_arrow().column_names == ["predicate", "args", "multiplicity"]
    assert diff.to_arrow("path").column_names == ["x", "y", "multiplicity"]
    assert diff.to_arrow("triple").column_names == ["s", "p", "o", "multiplicity"]
    assert len(diff.to_arrow()) == len(diff.to_arrow("path")) == 0
    with pytest.raises(DataError, match="has no predicate 'paths'"):
        diff.to_arrow("paths")


def test_a_result_is_a_sequence():
    """Equal to a list of the same rows, and shown like one, cut when it is long."""
    reasoner = Reasoner.from_rules(PATHS)
    reasoner.apply([Update("edge", (1, 2))])
    facts = reasoner.facts("path")
    assert facts == [(1, 2)] == facts
    assert facts != [(2, 1)]
    assert facts != "ab"
    assert (facts[0], facts[-1:], repr(facts)) == ((1, 2), [(1, 2)], "[(1, 2)]")
    reasoner.apply(Update("edge", (n, n + 1)) for n in range(10, 40))
    assert repr(reasoner.facts("edge")).endswith("… 31 in all]")
    assert repr(reasoner.apply([])) == "Diff(epoch=2, iterations=0, frontier=None, changes={})"
    assert "changes={'edge': '-1', 'path': '-1'})" in repr(
        reasoner.apply([Update("edge", (1, 2), -1)])
    )


A = ["<a:a>"]
REFUSED = {
    "no table": ([1], r"Expected an Arrow table, got list"),
    "a missing column": ({"a0": A}, r"The table has no column a1; its columns are a0.*a0, a1"),
    "another column": ({"a0": A, "a1": A, "w": A}, r"has a column w"),
    "no texts": ({"a0": [[1]], "a1": A}, r"The column a0 has the type list<.*terms are texts"),
    "no term": ({"a0": A * 2, "a1": ["<a:a>", "a"]}, r"Row 1, column a1: .*a term is"),
    "null": ({"a0": A, "a1": pa.array([None], pa.string())}, r"Row 0, column a1: it is null"),
    "half": ({"a0": A, "a1": A, "multiplicity": [1.5]}, "has the type double, not integers"),
    "zero": (
        {"a0": A * 2, "a1": A * 2, "multiplicity": [1, 0]},
        "Row 1, .*non-zero integer, not 0",
    ),
    "none": (
        {"a0": A, "a1": A, "multiplicity": pa.array([None], pa.int64())},
        "Row 0, .*non-zero integer, not None",
    ),
    "many": (
        {"a0": A, "a1": A, "multiplicity": pa.array([2**63], pa.uint64())},
        "has a number beyond 64 bits",
    ),
    "a local time": (
        {"a0": A, "a1": A, "ts": pa.array([0], pa.timestamp("ms"))},
        r"The column ts has the type timestamp\[ms\].*with a time zone",
    ),
    "a time of 64 bits": (
        {"a0": A, "a1": A, "ts": pa.array([2**63], pa.uint64())},
        "The column ts has a number beyond 64 bits",
    ),
    "a time of more than 64 bits": (
        {"a0": A, "a1": A, "ts": pa.array([2**62], pa.timestamp("s", "UTC"))},
        "The column ts has a number beyond 64 bits",
    ),
    "no time": (
        {"a0": A, "a1": A, "ts": pa.array([None], pa.int64())},
        "column ts: None is not a time",
    ),
    "a late time": ({"a0": A, "a1": A, "ts": [1 << 60]}, "Row 0, column ts: .* is not a time"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_table_is_refused(name):
    """The message names column or row, and nothing is taken."""
    columns, message = REFUSED[name]
    reasoner = Reasoner.from_rules(PATHS)
    table = pa.table(columns) if isinstance(columns, dict) else columns
    with pytest.raises(DataError, match=message):
        reasoner.apply_arrow(table, "edge")
    assert reasoner.facts("edge") == []


def test_statements_have_their_terms_in_place():
    """A subject is not a literal, and a constraint is not asserted."""
    reasoner = Reasoner.from_rules("!late(?x) :- [?x, <a:p>, 1] .")
    table = pa.table({"s": [*A, '"a"'], "p": A * 2, "o": A * 2})
    with pytest.raises(DataError, match="Row 1: the subject is a literal"):
        reasoner.apply_arrow(table)
    with pytest.raises(DataError, match="'late' is a constraint"):
        reasoner.apply_arrow(pa.table({"a0": A}), "late")
    with pytest.raises(DataError, match="has no predicate 'other'"):
        reasoner.apply_arrow(table, "other")


def test_times_before_1970_are_cut_as_those_of_updates_are():
    """To the millisecond before, not to the one nearer to 1970."""
    moment = datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)
    rules = '@expires seen(_) after "PT10S" .'
    one, other = Reasoner.from_rules(rules), Reasoner.from_rules(rules)
    table = pa.table({"a0": A, "ts": pa.array([moment], pa.timestamp("us", "UTC"))})
    expected = one.apply([Update("seen", (URIRef("a:a"),), ts=moment)])

    assert other.apply_arrow(table, "seen").frontier == expected.frontier == -1


@pytest.mark.parametrize("unit", ["ms", "us", None])
def test_times_expire_facts(unit):
    """As milliseconds or as timestamps of any unit, they move the frontier as `Update.ts` does."""
    rules = '@expires seen(_) after "PT10S" .\nhere(?x) :- seen(?x) .\n'
    moments = [datetime(2026, 1, 1, 12, 0, second, 500_999, UTC) for second in (0, 30)]
    one, other = Reasoner.from_rules(rules), Reasoner.from_rules(rules)
    kind = pa.int64() if unit is None else pa.timestamp(unit, "Europe/Berlin")
    times = [int(each.timestamp() * 1000) for each in moments] if unit is None else moments
    table = pa.table(
        {
            "a0": ["<a:a>", "<a:b>"],
            "ts": pa.array(times, pa.int64() if unit is None else pa.timestamp("us", "UTC")).cast(
                kind, safe=False
            ),
        }
    )
    ids = [URIRef("a:a"), URIRef("a:b")]
    expected = one.apply(Update("seen", (x,), ts=ts) for x, ts in zip(ids, moments, strict=True))
    found = other.apply_arrow(table, "seen")

    assert found.frontier == expected.frontier
    assert one.facts("here") == other.facts("here") == [(ids[1],)]


def test_results_in_a_notebook():
    """Tables of the first rows, in which a term is text and no markup."""
    reasoner = Reasoner.from_rules(PATHS)
    diff = reasoner.apply([Update("edge", ("<b>", n)) for n in range(30)])
    nested = diff._repr_html_()

    assert "Epoch 0: 60 changes." in nested
    assert "60 rows, of which the first 20 are shown." in nested
    assert "&lt;b&gt;" in nested
    assert "<b>" not in nested
    table = reasoner.facts("path")._repr_html_()
    assert table.startswith("<table><tr><th>x</th><th>y</th></tr><tr><td>")
    assert table.count("<tr>") == 21
    assert reasoner.trace("path")._repr_html_().count("<th>") == 4
    assert "2 rules, after 1 epoch: 60 facts, 30 of them derived" in reasoner._repr_html_()
