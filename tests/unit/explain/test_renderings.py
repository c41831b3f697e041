"""JSON, DOT and SVG: as docs/explain.md describes them, and valid for any text."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

from streamreasoner import Reasoner, Update

RULES = """@prefix ex: <http://example.org/> .
p(?x, ?n) :- q(?x), not r(?x, _), ?n = length(?x) .
most(max(?n)) :- p(_, ?n) .
many(count(?x)) :- p(?x, _) .
s("stated") .
"""
NASTY = 'a "quoted" \\ text\nof two lines'


def started():
    """A reasoner with a string full of special characters and a plain one."""
    reasoner = Reasoner.from_rules(RULES)
    reasoner.apply([Update("q", (NASTY,)), Update("q", ("b",)), Update("r", ("d", "c"))])
    return reasoner


def test_a_proof_as_json():
    """Steps refer to each other by number, and every fact has a step."""
    document = json.loads(started().explain("most(30)").json())
    fact, derived, asserted = document["steps"]

    assert document["present"] is True
    assert document["fact"] == fact["fact"]
    assert fact["fact"]["predicate"] == "most"
    assert fact["fact"]["text"] == "most(30)"
    assert fact["derivation"]["rule"] == {
        "file": "<rules>", "line": 3, "text": "most(max(?n)) :- p(_, ?n)"
    }  # fmt: skip
    assert fact["derivation"]["premises"] == [{"step": 1}]
    assert fact["competition"]["candidates"] == 2
    assert fact["competition"]["next_best"]["text"] == "most(1)"
    assert derived["derivation"]["bindings"].keys() == {"x", "n"}
    assert [list(premise) for premise in derived["derivation"]["premises"]] == [
        ["step"], ["absent"], ["condition"]
    ]  # fmt: skip
    assert (asserted["asserted"], asserted["stated"], asserted["cut"]) == (1, None, False)
    assert "derivation" not in asserted
    assert (derived["stratum"] < fact["stratum"], derived["iteration"]) == (True, 1)


def test_an_aggregation_as_json():
    """Each match is a derivation."""
    document = json.loads(started().explain("many(2)").json())
    aggregation = document["steps"][0]["aggregation"]

    assert aggregation["aggregates"] == ["count(?x)"]
    assert aggregation["total"] == 2
    assert [match["rule"]["line"] for match in aggregation["matches"]] == [4, 4]
    assert json.loads(started().explain('s("stated")').json())["steps"][0]["stated"] == {
        "file": "<rules>", "line": 5
    }  # fmt: skip


def test_an_absence_as_json():
    """Each rule has the literals that hold and the one that fails."""
    document = json.loads(started().explain('p("c", 1)').json())
    (rule,) = document["rules"]

    assert document["present"] is False
    assert document["asserted"] == 0
    assert document["stated"] is None
    assert document["beaten_by"] is None
    assert [fact["text"] for fact in document["close"]] == ['p("b", 1)']
    assert rule["rule"]["line"] == 2
    assert rule["holds"] == []
    assert rule["ways"] == 1
    assert rule["failure"]["kind"] == "missing"
    assert rule["failure"]["parts"] == ['q("c")']


QUOTED = r'"(?:[^"\\\n]|\\.)*"'
ATTRIBUTE = rf"\w+=(?:\w+|{QUOTED})"
ATTRIBUTES = rf"\[{ATTRIBUTE}(?:, {ATTRIBUTE})*\]"
STATEMENT = re.compile(rf"  (?:rankdir=BT|\w+ (?:-> \w+ )?{ATTRIBUTES}|\w+ -> \w+);")


def test_graphs_are_dot():
    """Every line is a statement and every edge joins two nodes, whatever the terms contain."""
    reasoner = started()
    for fact in ("most(30)", "many(2)", "most(1)", 'p("c", 1)', 's("stated")', 's("absent")'):
        first, *statements, last = reasoner.explain(fact).dot().splitlines()

        assert (first, last) == ("digraph explanation {", "}")
        assert [line for line in statements if not STATEMENT.fullmatch(line)] == []
        nodes = {line.split()[0] for line in statements if " [label=" in line}
        ends = {end for line in statements for end in re.findall(r"^  (\w+) -> (\w+)", line)}
        assert {end for pair in ends for end in pair} <= nodes


def test_a_picture_has_the_lines_of_the_text():
    """In their order, each below and next to the others, for proofs and for what is missing."""
    reasoner = started()
    reasoner.apply([Update("q", ("\x01<&\u20ac\u3042",))])
    for fact in ("most(30)", "many(3)", 'p("b", 2)', 'p("d", 1)', 's("stated")'):
        explanation = reasoner.explain(fact)
        picture = ET.fromstring(explanation._repr_svg_())  # noqa: S314 - our own
        texts = picture.findall("{*}text")
        lines = [re.sub(r"^[│├└─ ]+", "", line) for line in explanation.text().splitlines()]
        places = [float(each.get("y")) for each in texts]

        assert [each.text.strip() for each in texts] == [line.strip() for line in lines if line]
        assert places == sorted({*places})
        assert max(places) < float(picture.get("height"))
        assert fact.split("(")[0] in picture.find("{*}title").text
