"""Dates and times in continuous queries compare as in questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamreasoner import Reasoner
from streamreasoner.api.nodes import from_ntriples
from streamreasoner.api.updates import Update

XSD = "http://www.w3.org/2001/XMLSchema#"
TIMES = [
    *(f'"2026-01-01T{time}"^^<{XSD}dateTime>' for time in ("00:00:00", "00:00:00Z", "20:00:00Z")),
    f'"2026-01-01T01:00:00+01:00"^^<{XSD}dateTime>',
    *(f'"2026-01-0{day}"^^<{XSD}date>' for day in ("1", "1Z", "2Z", "3")),
    f'"1"^^<{XSD}integer>',
    '"2026-01-01"',
]
CONSTANTS = ("?b", TIMES[0], TIMES[1], TIMES[4], TIMES[6])
INSTANTS = (TIMES[4:6], [*TIMES[:2], TIMES[3]])


def assertions(times):
    """A fact for each time."""
    facts = (("<http://e/x>", "<http://e/at>", time) for time in times)
    return [Update("triple", tuple(map(from_ntriples, fact))) for fact in facts]


def begin_together(pair):
    """Whether a date and a time begin at one instant, which rules neither equate nor tell apart."""
    return any({*pair} <= {one, other} for one in INSTANTS[0] for other in INSTANTS[1])


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("other", CONSTANTS)
def test_times_compare_as_in_questions(operator, other):
    """A time without a zone may be hours from UTC, and a date is not a time; after retractions."""
    pattern = "?x <http://e/at> ?a . ?x <http://e/at> ?b"
    text = f"SELECT ?a ?b {{ {pattern} FILTER(?a {operator} {other}) }}"
    asked = Reasoner.from_rules("")
    asked.add_query("answer", text)
    asked.apply(assertions(TIMES))
    for gone in ((), TIMES[1::2]):
        asked.apply(replace(each, multiplicity=-1) for each in assertions(gone))
        rows = asked.query(text).to_arrow().to_pylist()
        expected = {tuple(row.values()) for row in rows}
        rows = asked.facts("answer").to_arrow().to_pylist()
        found = {tuple(row.values()) for row in rows}
        assert found == {
            pair
            for pair in expected
            if operator != "!="
            or not begin_together((pair[0], pair[1] if other == "?b" else other))
        }
