"""Triple terms tell facts apart: the strata of rules about them are those of their kinds."""

from __future__ import annotations

from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner.explain import Fact, Limits, explain, provenance
from streamreasoner.program import check_text

EX = "http://example.org/"
RULES = f"""
@prefix ex: <{EX}> .
@input r/2, p/2 .
r(?b, <<( ?s ex:good ?o )>>) :- r(?b, <<( ?s ex:new ?o )>>), not r(_, <<( ?s ex:bad ?o )>>) .
r(?b, <<( ?s ex:bad ?o )>>) :- r(?b, <<( ?s ex:bad ?m )>>), r(_, <<( ?m ex:new ?o )>>) .
r(?b, <<( ?s ex:lone ?s )>>) :- r(?b, <<( ?s ex:good ?_o )>>), not r(?b, <<( ?s ex:good ?s )>>) .
r(ex:all, <<( ?s ex:many ?s )>>) :- n(?s, ?n), ?n > 1 .
n(?s, count(?o)) :- r(_, <<( ?s ex:good ?o )>>) .
seen(?s, ?o) :- r(_, <<( ?s _ ?o )>>) .
whole(?t) :- r(ex:all, ?t) .
"""
PROGRAM = check_text(RULES)
NAMES = st.sampled_from("abc")
FACTS = st.tuples(
    NAMES, st.tuples(NAMES, st.sampled_from(("new", "new", "bad", "good", "lone")), NAMES)
)
UPDATES = st.lists(st.tuples(FACTS, st.sampled_from((1, 1, 2, -1))), max_size=6)


def iri(name):
    """A term."""
    return f"<{EX}{name}>"


def fact(row):
    """The arguments of a fact of `r`."""
    node, parts = row
    return iri(node), "<<( {} {} {} )>>".format(*map(iri, parts))


def model(asserted):
    """All facts of `r`, and the counts: kind by kind."""
    found = set(asserted)
    while (
        more := {
            (b, (s, "bad", o))
            for b, (s, kind, m) in found
            if kind == "bad"
            for _, (middle, new, o) in found
            if (middle, new) == (m, "new")
        }
        - found
    ):
        found |= more
    bad = {(s, o) for _, (s, kind, o) in found if kind == "bad"}
    found |= {
        (b, (s, "good", o)) for b, (s, kind, o) in found if kind == "new" and (s, o) not in bad
    }
    good = {(b, s, o) for b, (s, kind, o) in found if kind == "good"}
    found |= {(b, (s, "lone", s)) for b, s, _ in good if (b, s, s) not in good}
    counts = {s: sum(each == s for _, each, _ in good) for _, s, _ in good}
    found |= {("all", (s, "many", s)) for s, number in counts.items() if number > 1}
    return found, counts


@settings(max_examples=500 if THOROUGH else 24)
@given(st.lists(UPDATES, min_size=1, max_size=4))
def test_kinds_of_triple_terms_have_strata_of_their_own(epochs):
    """After every epoch facts are those of Python, and nothing is left of what was retracted."""
    driver, counts = Driver(PROGRAM), {}
    for drawn in epochs:
        # What is asserted less often than never would hide what is derived.
        epoch = [(row, max(times, -counts.get(row, 0))) for row, times in dict(drawn).items()]
        driver.apply([("r", fact(row), times) for row, times in epoch if times])
        for row, times in epoch:
            counts[row] = counts.get(row, 0) + times
        found, numbers = model({row for row, times in counts.items() if times > 0})

        assert {args for _, args in driver.closure(["r"])} == set(map(fact, found))
        assert {(args[0], args[1].split('"')[1]) for _, args in driver.closure(["n"])} == {
            (iri(s), str(number)) for s, number in numbers.items()
        }
        assert {args for _, args in driver.closure(["seen"])} == {
            (iri(s), iri(o)) for _, (s, _, o) in found
        }
        assert {args for _, args in driver.closure(["whole"])} == {
            fact(row)[1:] for row in found if row[0] == "all"
        }
    driver.apply([("r", fact(row), -times) for row, times in counts.items() if times])

    assert driver.trace(driver.predicates) == Driver(PROGRAM).trace(driver.predicates)


ALL = Limits(matches=100)
"""Of a count all matches are shown, and nothing is left out."""


@settings(max_examples=100 if THOROUGH else 10)
@given(UPDATES)
def test_explanations_show_rules_as_they_are_written(updates):
    """Of present and absent facts alike; what tells facts apart is not mentioned."""
    driver = Driver(PROGRAM)
    driver.apply([("r", fact(row), abs(times)) for row, times in updates])
    session, present = driver.session, driver.closure(["r", "seen"])
    absent = {
        ("r", fact((b, (s, kind, s)))) for b in "ab" for s in "ac" for kind in ("good", "bad")
    }
    for each in sorted(present | absent):
        found = explain(session.program, session.engine, session.dictionary, Fact(*each), ALL)

        assert found.present == (each in present)
        assert "apart" not in found.text()
        assert "…" not in found.text()
    known = {*session.program.arities, *session.program.helpers}
    facts = [Fact(*each) for each in sorted(driver.closure(sorted(known)))]
    written = "".join(provenance(session.program, session.engine, session.dictionary, facts))

    assert "apart" not in written
