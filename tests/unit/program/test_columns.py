"""The columns of a predicate's arguments are those that the program names."""

from __future__ import annotations

import pyarrow as pa
import pytest

from streamreasoner import Reasoner
from streamreasoner.program.checked import check_text

RULES = {
    "directive": ("@columns path(?from, ?to) .\npath(?x, ?y) :- edge(?x, ?y) .", ("from", "to")),
    "variables": ("path(?x, ?y) :- edge(?x, ?y) .", ("x", "y")),
    "facts do not name": ("path(1, 2) .\npath(?x, ?y) :- edge(?x, ?y) .", ("x", "y")),
    "the first rule": (
        "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .",
        ("x", "y"),
    ),
    "aggregates": ("path(?x, count(?y)) :- edge(?x, ?y) .", ("x", "a1")),
    "names that clash": ("path(?a1, count(?y)) :- edge(?a1, ?y) .", ("a0", "a1")),
    "names of other columns": ("path(?ts, ?y) :- edge(?ts, ?y) .", ("a0", "a1")),
    "the same twice": ("path(?x, ?x) :- edge(?x, _) .", ("a0", "a1")),
    "input only": ("@input path/2 .", ("a0", "a1")),
}


@pytest.mark.parametrize(("rules", "expected"), RULES.values(), ids=RULES.keys())
def test_columns_are_those_of_the_program(rules, expected):
    """A @columns names them, or else the variables of the first rule."""
    assert check_text(rules).columns("path") == expected


def test_columns_do_not_change_what_a_program_derives():
    """The hash of a program is that of the same program without the directive."""
    rules = "path(?x, ?y) :- edge(?x, ?y) .\n"
    assert check_text(f"@columns path(?from, ?to) .\n{rules}").hash == check_text(rules).hash


def test_tables_go_in_and_out_with_the_same_columns():
    """By name or by position; statements keep their letters."""
    reasoner = Reasoner.from_rules(
        "@columns road(?from, ?to, ?miles) .\nlong(?from, ?to) :- road(?from, ?to, ?m), ?m > 9 .\n"
    )
    reasoner.apply_arrow(pa.table({"from": [1], "to": [2], "miles": [10]}), "road")
    diff = reasoner.apply_arrow(pa.table({"a0": [2], "a1": [3], "a2": [20]}), "road")

    roads = reasoner.facts("road").to_arrow(types=True)
    assert sorted(roads.to_pylist(), key=lambda row: row["from"]) == [
        {"from": 1, "to": 2, "miles": 10},
        {"from": 2, "to": 3, "miles": 20},
    ]
    assert diff.to_arrow("long", types=True).to_pylist() == [
        {"from": 2, "to": 3, "multiplicity": 1}
    ]
    assert reasoner.trace("road").to_arrow().column_names[:3] == ["from", "to", "miles"]
    assert reasoner.facts("triple").to_arrow().column_names == ["s", "p", "o"]
    reasoner.apply_arrow(roads.append_column("multiplicity", pa.array([-1, -1])), "road")
    assert len(reasoner.facts("long")) == 0


def test_columns_of_a_query_are_its_variables():
    """A continuous SELECT has the columns that its answer has."""
    reasoner = Reasoner.from_rules("rho-df")
    reasoner.add_query("ages", "SELECT ?who ?age { ?who <http://example.org/age> ?age }")
    assert reasoner.facts("ages").to_arrow().column_names == ["who", "age"]
