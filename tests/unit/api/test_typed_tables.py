"""Tables whose columns have values, out and in: what has no value stays a term."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal, URIRef

from streamreasoner import Reasoner, Term, Update
from streamreasoner.api.nodes import to_ntriples
from streamreasoner.errors import DataError, QueryError, TermError

XSD_ = "http://www.w3.org/2001/XMLSchema#"


def column(*terms):
    """A column of these terms, as a table with types has it."""
    reasoner = Reasoner.from_rules("@input value/1 .")
    reasoner.apply([Update("value", (term,)) for term in terms])
    return reasoner.facts("value").to_arrow(types=True).column("a0")


def literal(text, datatype):
    """A literal, with its lexical form."""
    return Literal(text, datatype=XSD[datatype], normalize=False)


VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(allow_nan=False),
    pa.large_string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    pa.date32(): st.dates(date(1000, 1, 1)),
    pa.timestamp("us"): st.datetimes(datetime(1000, 1, 1)),  # noqa: DTZ001 - it has none
    pa.timestamp("us", "UTC"): st.datetimes(
        datetime(1000, 1, 2),  # noqa: DTZ001 - the zone is given apart
        datetime(9999, 12, 30),  # noqa: DTZ001
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3, minutes=-30))]),
    ),
}


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_values_come_back(kind, data):
    """Values of one kind that go in come out as a column of this kind."""
    values = data.draw(st.lists(VALUES[kind], min_size=1, max_size=4, unique=True))
    found = column(*values)
    assert found.type == kind
    assert sorted(found.to_pylist()) == sorted(values)


@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=1, max_size=4, unique=True))
def test_decimals_have_the_scale_of_the_longest(values):
    """Their numbers are the same."""
    assert sorted(column(*values).to_pylist()) == sorted(values)


@pytest.mark.parametrize(
    "terms",
    [
        (1, "a"),
        (1, 1.5),
        (URIRef("a:b"), "a"),
        (BNode("a"),),
        (Literal("a", lang="en"),),
        (literal("0x10", "integer"), 1),
        (2**63,),
        (literal("2026-01-01Z", "date"),),
        (literal("2026-01-01T00:00:00", "dateTime"), datetime(2026, 1, 1, tzinfo=UTC)),
        (literal("2026-01-01T00:00:00.1234567", "dateTime"),),
        (literal("-0001-01-01T00:00:00", "dateTime"),),
        (literal("yes", "boolean"), True),
        (literal("1e5", "decimal"),),
        (literal("P1D", "duration"),),
    ],
)
def test_a_column_without_one_kind_stays_one_of_terms(terms):
    """Of several kinds, ill-typed, or beyond what the kind holds."""
    found = column(*terms)
    assert pa.types.is_dictionary(found.type)
    assert sorted(found.to_pylist()) == sorted(map(to_ntriples, terms))


def test_lexical_forms_are_values():
    """Forms of one value are rows of the same value."""
    assert column(1, literal("01", "integer"), literal("+1", "integer")).to_pylist() == [1, 1, 1]
    assert sum(column(literal("1", "boolean"), literal("false", "boolean")).to_pylist()) == 1
    assert column(literal("INF", "double"), literal("-INF", "double")).to_pylist() in (
        [float("inf"), float("-inf")],
        [float("-inf"), float("inf")],
    )
    assert column(literal(".5", "decimal"), literal("5.", "decimal")).type == pa.decimal128(38, 1)
    assert column(URIRef("http://example.org/a")).to_pylist() == ["http://example.org/a"]


def test_answers_traces_and_differences_have_types():
    """Null is null, and counts stay what they are."""
    reasoner = Reasoner.from_rules("@prefix ex: <http://e/> . n(?x, ?n) :- [?x, ex:n, ?n] .")
    ex = "http://e/{}".format
    diff = reasoner.apply([Update.triple(URIRef(ex("a")), URIRef(ex("n")), 3)])
    text = "SELECT ?n ?m { ?x <http://e/n> ?n OPTIONAL { ?x <http://e/m> ?m } }"
    assert reasoner.select(text).to_arrow(types=True).to_pylist() == [{"n": 3, "m": None}]
    row = {"x": ex("a"), "n": 3}
    assert diff.to_arrow("n", types=True).to_pylist() == [{**row, "multiplicity": 1}]
    [trace] = reasoner.trace("n").to_arrow(types=True).to_pylist()
    assert trace == {**row, "iteration": 1, "multiplicity": 1}
    assert reasoner.facts("n").to_pandas(types=True)["n"].dtype == np.int64
    assert reasoner.facts("n").to_polars(types=True)["n"].dtype == pl.Int64


def test_columns_of_values_go_in():
    """Numbers, booleans, dates and times are literals; several predicates are one epoch."""
    reasoner = Reasoner.from_rules("@input seen/3, price/2 .")
    when = pd.to_datetime(["2026-01-01", "2026-01-02"], utc=True)
    seen = pd.DataFrame({"a0": [1, 2], "a1": [True, False], "a2": when})
    price = pl.DataFrame({"a0": ["<a:x>", '"text"'], "a1": [1.5, float("inf")]})
    diff = reasoner.apply_tables({"seen": seen, "price": price})
    assert diff.epoch == 0
    assert reasoner.facts("seen").to_arrow(types=True).sort_by("a0").to_pylist() == [
        {"a0": n, "a1": n == 1, "a2": datetime(2026, 1, n, tzinfo=UTC)} for n in (1, 2)
    ]
    assert set(reasoner.facts("price")) == {(URIRef("a:x"), 1.5), ("text", float("inf"))}
    exact = pa.table({"a0": [date(2026, 1, 1)], "a1": pa.array([Decimal("1.50")])})
    reasoner.apply_arrow(exact, "price")
    assert f'"1.50"^^<{XSD_}decimal>' in reasoner.facts("price").to_arrow()["a1"].to_pylist()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a0": pa.array([1, None])}, "Row 1, column a0: it is null"),
        ({"a0": pa.array([[1]])}, "The column a0 has the type list"),
        ({"a0": pa.array([timedelta(1)])}, "The column a0 has the type duration"),
    ],
)
def test_a_column_without_literals_is_refused(table, message):
    """Nothing of the epoch is taken, also of other tables."""
    reasoner = Reasoner.from_rules("@input a/1, b/1 .")
    with pytest.raises(DataError, match=message):
        reasoner.apply_tables({"b": pa.table({"a0": [1]}), "a": pa.table(table)})
    assert reasoner.epochs == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int8(-3), f'"-3"^^<{XSD_}integer>'),
        (np.float32(0.5), f'"5.0E-1"^^<{XSD_}double>'),
        (np.bool_(True), f'"true"^^<{XSD_}boolean>'),  # noqa: FBT003 - numpy has no names
        (np.str_("a"), '"a"'),
        (np.datetime64("2026-01-01"), f'"2026-01-01"^^<{XSD_}date>'),
        (np.datetime64("2026-01-01T00:00:01.5"), f'"2026-01-01T00:00:01.500000"^^<{XSD_}dateTime>'),
        (np.datetime64("2026-01-01T00:00:01", "ns"), f'"2026-01-01T00:00:01"^^<{XSD_}dateTime>'),
        (pd.Timestamp("2026-01-01", tz="UTC"), f'"2026-01-01T00:00:00Z"^^<{XSD_}dateTime>'),
        (Term.parse('"a"@EN'), '"a"@en'),
        (Term.parse("<a:b>"), "<a:b>"),
    ],
)
def test_values_of_others_are_terms(value, text):
    """Scalars of numpy and pandas, and terms of this package."""
    assert to_ntriples(value) == text


@pytest.mark.parametrize(
    "value",
    [
        np.datetime64("NaT"),
        np.datetime64("2026-01-01T00:00:00.000000001"),
        np.complex64(1),
        np.bytes_(b"a"),
        np.timedelta64(1, "s"),
        pd.NaT,
        pd.NA,
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(seconds=30))),
        None,
    ],
)
def test_other_values_are_refused(value):
    """Nothing is rounded, and nothing is made of what is missing."""
    with pytest.raises(TermError):
        to_ntriples(value)


def test_each_form_of_query_has_its_method():
    """Which returns what it says, and refuses the other forms."""
    reasoner = Reasoner.from_rules("rho-df")
    assert reasoner.ask("ASK {}") is True
    assert len(reasoner.select("SELECT * {}")) == 1
    assert len(reasoner.construct("CONSTRUCT {} WHERE {}")) == 0
    for method, text in (
        (reasoner.ask, "SELECT * {}"),
        (reasoner.select, "ASK {}"),
        (reasoner.select, "CONSTRUCT {} WHERE {}"),
        (reasoner.construct, "SELECT * {}"),
    ):
        with pytest.raises(QueryError, match="The query is not a"):
            method(text)
