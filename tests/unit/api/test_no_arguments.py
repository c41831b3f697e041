"""Facts without arguments are in every form that facts have, and read back from it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from streamreasoner import Reasoner, Update

RULES = "@input on/0 .\nalarm() :- p(_) .\n"


@pytest.fixture
def reasoner():
    """With an asserted and a derived fact without arguments."""
    reasoner = Reasoner.from_rules(RULES)
    reasoner.apply([Update("p", (1,)), Update("on", ())])
    return reasoner


def test_tables_keep_their_rows(reasoner):
    """A table without columns still says how many facts there are, in each library."""
    facts = reasoner.facts("alarm")

    assert facts == [()]
    assert (facts.to_arrow().num_rows, facts.to_arrow().num_columns) == (1, 0)
    assert facts.to_pandas().shape == facts.to_polars().shape == (1, 0)
    assert facts._repr_html_() == "<table><tr><td>()</td></tr></table>"
    assert Reasoner.from_rules(RULES).facts("alarm").to_arrow().num_rows == 0


def test_differences_and_traces_keep_their_rows(reasoner):
    """With the columns that they have besides."""
    diff = reasoner.apply([Update("p", (1,), -1)])

    assert diff.to_arrow("alarm").to_pydict() == {"multiplicity": [-1]}
    assert diff.to_arrow().to_pydict()["args"][0] == []
    assert reasoner.trace("on").to_arrow().to_pydict() == {"iteration": [0], "multiplicity": [1]}


def test_tables_are_read_back(reasoner):
    """As Arrow and as polars; a column of multiplicities is enough."""
    for table in (reasoner.facts("on").to_arrow(), reasoner.facts("on").to_polars()):
        other = Reasoner.from_rules(RULES)
        other.apply_arrow(table, "on")
        assert other.facts("on") == [()]
        other.apply_arrow(pa.table({"multiplicity": [-1]}), "on")
        assert other.facts("on") == []


def test_files_are_read_back(tmp_path):
    """CSV has a record of its own for them; a string of the same text is another fact."""
    for name, text in (("on", "()\n"), ("p", '"""()"""\n')):
        (tmp_path / f"{name}.csv").write_text(text, "utf-8")
    reasoner = Reasoner.from_rules(RULES)
    reasoner.load(tmp_path / "on.csv", tmp_path / "p.csv")

    assert reasoner.facts("on") == reasoner.facts("alarm") == [()]
    assert reasoner.facts("p") == [("()",)]
