"""Strata that read too few copies of an encoded hierarchy before the epoch is evaluated again."""

from __future__ import annotations

import pytest
from driver import Driver
from hierarchies import COPYING
from strategies import checked

from streamreasoner.backends.store import columnar, divided
from streamreasoner.engine.inheritance import guess
from streamreasoner.errors import CircularNegationError, RecursionLimitError

PREFIXES = """\
@prefix ex: <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@input in/2, part/2, cand/2, n/1 .
"""
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
NUMBER = '"0"^^<http://www.w3.org/2001/XMLSchema#integer>'
MOST = 60

TYPES, _, _, _, REGIONS, *_ = COPYING
COUNTING = f"""{REGIONS}
m(?n) :- n(?n) .
m(?n) :- m(?k), not in(ex:stop, ex:top), ?n = ?k + 1 .
"""
ORDERED = f"""{REGIONS}
use(?p, ?q) :- cand(?p, ?q), not in(?p, ex:top) .
[?x, ?q, ?y] :- [?x, ?p, ?y], use(?p, ?q) .
[?x, ex:r, ?y] :- [?x, ex:p, ?y], not [?x, ex:q, ?y] .
"""
SEGMENTS = f"""{TYPES}
[?x, ex:n, ?n] :- [?x, ex:n, ?k], not [?x, a, ex:top], ?n = ?k + 1 .
"""


def ex(name):
    """An IRI of the examples."""
    return f"<http://e/{name}>"


LOW_IN_TOP = ("part", (ex("low"), ex("top")), 1)
LOW_BELOW_TOP = ("triple", (ex("low"), SUBCLASS, ex("top")), 1)
CASES = {
    "endless before what is read is known": (
        COUNTING,
        [("in", (ex("stop"), ex("low")), 1)],
        [LOW_IN_TOP, ("n", (NUMBER,), 1)],
        ("m", (NUMBER,)),
        RecursionLimitError,
    ),
    "circular before what is read is known": (
        ORDERED,
        [("in", (ex("r"), ex("low")), 1)],
        [
            LOW_IN_TOP,
            ("cand", (ex("r"), ex("q")), 1),
            ("triple", (ex("a"), ex("p"), ex("b")), 1),
        ],
        ("triple", (ex("a"), ex("r"), ex("b"))),
        CircularNegationError,
    ),
    "endless in the stratum that tells what is read": (
        SEGMENTS,
        [("triple", (ex("a"), TYPE, ex("low")), 1)],
        [LOW_BELOW_TOP, ("triple", (ex("a"), ex("n"), NUMBER), 1)],
        ("triple", (ex("a"), TYPE, ex("top"))),
        RecursionLimitError,
    ),
}


@pytest.mark.parametrize("store", [columnar, lambda: divided(2)], ids=["one", "parts"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_epoch_fails_only_if_it_does_with_all_copies(case, store):
    """Copies that come with the epoch count; without them, it fails in either state."""
    rules, before, (edge, *others), found, error = case
    closures = []
    for encodes in (False, True):
        driver = Driver(
            checked(PREFIXES + rules), recursion_limit=MOST, store=store(), encodes=encodes
        )
        driver.apply(before)
        with pytest.raises(error):
            driver.apply(others)
        driver.apply([edge, *others])

        closures.append(driver.closure())
    assert closures[0] == closures[1]
    assert found in closures[0]


def test_a_schema_that_fails_alone_does_not_fail_an_epoch(monkeypatch):
    """What is evaluated alone in order to guess what is read lacks what ends it."""
    monkeypatch.setattr(guess, "LARGE", 0)
    monkeypatch.setattr(guess, "SHARE", 0)
    rules = f"""{REGIONS}
n(?n) :- n(?k), not in(ex:stop, ex:top), ?n = ?k + 1 .
risk(?x) :- in(?x, ?n), n(?n) .
"""
    driver = Driver(checked(PREFIXES + rules), recursion_limit=MOST, encodes=True)
    driver.apply(
        [
            ("in", (ex("stop"), ex("top")), 1),
            ("in", (ex("x"), ex("low")), 1),
            ("part", (ex("low"), NUMBER), 1),
            ("n", (NUMBER,), 1),
        ]
    )

    assert ("risk", (ex("x"),)) in driver.closure()
