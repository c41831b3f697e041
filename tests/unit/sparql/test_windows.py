"""Windows of RSP-QL: the answers are those of an engine on the triples of the window."""

from __future__ import annotations

import random

import pytest
from sparql_judge import answers, comparable, fact, store
from sparql_strategies import PREFIXES

from streamreasoner.api.nodes import from_ntriples, to_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.errors import ProgramError
from streamreasoner.lang.ast import QUAD
from streamreasoner.program.checked import check_query, check_text
from streamreasoner.program.text import canonical_text

MINUTE = 60_000
WINDOW = "FROM NAMED WINDOW ex:w ON ex:g [RANGE PT10M STEP PT1M]"
QUERY = f"""{PREFIXES}SELECT ?x (COUNT(?y) AS ?n)  # FROM NAMED WINDOW in a comment is none
{WINDOW}
WHERE {{ GRAPH ex:h {{ ?x ex:q "WINDOW ex:w" }} OPTIONAL {{ WINDOW ex:w {{ ?x ex:p ?y }} }} }}
GROUP BY ?x"""  # noqa: S608 - SPARQL


def test_answers_follow_the_window():
    """A triple leaves at the first step after its range, or when it is retracted."""
    chance = random.Random(5)
    reasoner = Reasoner(check_query(QUERY, "query.rq", "answer"))
    known = [fact((f"ex:{name}", "ex:q", '"WINDOW ex:w"', "ex:h")) for name in "ab"]
    reasoner.apply(Update(QUAD, tuple(map(from_ntriples, each))) for each in known)
    asserted, retracted, now = {}, {}, 0
    plain = QUERY.replace(WINDOW, "").replace("{ WINDOW ex:w", "{ GRAPH ex:g")
    counts = set()
    for _ in range(40):
        now += chance.randrange(1, 4 * MINUTE)
        names = chance.choice("abc"), chance.choice("abc")
        each = fact((f"ex:{names[0]}", "ex:p", f"ex:{names[1]}", "ex:g"))
        times, sign = (asserted, 1) if chance.random() < 0.8 else (retracted, -1)
        times[each] = now
        reasoner.apply([Update(QUAD, tuple(map(from_ntriples, each)), sign, now)])
        inside = {
            each
            for each, time in asserted.items()
            if time > retracted.get(each, -1) and -(-(time + 10 * MINUTE) // MINUTE) * MINUTE > now
        }
        found = {
            tuple(comparable(to_ntriples(term)) for term in each)
            for each in reasoner.facts("answer")
        }
        assert found == answers(store({*known, *inside}), plain)
        counts.add(len(inside))
    assert len(counts) > 2


def test_a_window_is_an_expiry_of_the_program():
    """So it is printed, and kept by a state."""
    checked = check_query(QUERY, "query.rq", "answer")

    assert '@expires [_, _, _, ex:g] after "PT10M" every "PT1M" .' in canonical_text(
        checked.programs
    )
    assert check_text(canonical_text(checked.programs)).hash == checked.hash


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("RANGE PT10M", "RANGE 10", "10 is not a duration"),
        ("RANGE PT10M STEP PT1M", "TRIPLES 10", "expected `RANGE`"),
        ("{ WINDOW ex:w", "{ WINDOW ex:other", "the window <http://example.org/other> is unknown"),
        ("ON ex:g", "ON other:g", "`other:` is not declared"),
    ],
)
def test_mistakes_of_windows_are_refused(old, new, message):
    """With what is wrong."""
    with pytest.raises(ProgramError, match="SR260") as caught:
        check_query(QUERY.replace(old, new), "query.rq", "answer")
    assert message in str(caught.value)
