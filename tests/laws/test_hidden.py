"""What is hidden is in no result unless it is asked for, and proofs without it are proofs."""

from __future__ import annotations

from dataclasses import replace

import oracle
import pytest
from driver import Driver
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import Scenario, scenarios

from streamreasoner import Reasoner, Update
from streamreasoner.errors import DataError
from streamreasoner.explain import Fact, Limits, explain
from streamreasoner.explain.proof import Aggregation, Derivation, Proved
from streamreasoner.program import check_text

EVERYTHING = Limits(depth=None, size=None, matches=1000)


def with_hidden(checked, places):
    """The program with the predicates at some places of its sorted names hidden."""
    names = sorted(checked.arities)
    return replace(
        checked, hidden=tuple(name for at, name in enumerate(names) if at in places), outputs=()
    )


def from_premises(program, facts, whole):
    """The trace of some facts of the whole, in which nothing holds that does not hold there.

    Of fewer facts, a count is less, and what a rule negates may hold.
    """
    while True:
        trace = oracle.evaluate(program, facts, helpers=True)
        others = oracle.closure(trace) - whole
        if not others:
            return trace
        facts = facts | dict.fromkeys(others, -MANY)


MANY = 1000
"""More than the derivations of any fact here."""
A = "<http://example.org/a>"
NEGATED_COUNT = Scenario(
    "degree(?x, ?n) :- node(?x), ?n = count() { edge(?x, _) } .\n"
    "leaf(?x) :- node(?x), not degree(?x, 0) .\n",
    [[("node", (A,), 1), ("edge", (A, A), 1)]],
)


@given(scenarios(), st.sets(st.integers(0, 15)))
@example(NEGATED_COUNT, set())
@example(NEGATED_COUNT, {0})
def test_a_proof_without_hidden_facts_is_a_proof(scenario, hidden):
    """Asserting the premises of a step derives it; a hidden one is asserted or an aggregate."""
    driver = Driver(scenario.checked)
    driver.run(scenario.epochs)
    session = driver.session
    program = with_hidden(session.program, hidden)
    whole = oracle.closure(oracle.evaluate(program, oracle.total(scenario.epochs), helpers=True))
    visible = [fact for fact in sorted(whole) if fact[0] in program.visible]
    for fact in visible[:12]:
        found = explain(program, session.engine, session.dictionary, Fact(*fact), EVERYTHING)
        steps = found.content.steps

        assert steps[0].fact == Fact(*fact)
        for step in steps:
            if step.fact.predicate in program.unlisted:
                assert step.why is None or isinstance(step.why, Aggregation)
            if not isinstance(step.why, Derivation) or step.until is not None:
                continue
            read = [steps[each.step] for each in step.why.premises if isinstance(each, Proved)]
            if any(each.until is not None for each in read):
                continue
            facts = {(each.fact.predicate, each.fact.arguments): 1 for each in read}
            trace = from_premises(program, facts, whole)
            assert trace.sums[step.fact.predicate, step.fact.arguments] > 0


RULES = check_text(
    "@hidden part .\npart(?x) :- piece(?x, _) .\nwhole(?x) :- part(?x), not broken(?x) .\n"
    "part(?x) :- whole(?x) .\nseen(?x) :- asserted piece(?x, _) .\n"
)


def test_results_leave_out_what_is_hidden():
    """Differences, sizes and messages; `with_hidden` and the name of a predicate ask for it."""
    reasoner = Reasoner(RULES)
    diff = reasoner.apply([Update("piece", (1, 2))])

    assert [change.predicate for change in diff.derived] == ["seen", "whole"]
    assert diff.to_arrow()["predicate"].to_pylist() == ["piece", "seen", "whole"]
    assert "part" not in repr(diff) + diff._repr_html_()
    assert [change.predicate for change in diff.with_hidden().derived] == ["part", "seen", "whole"]
    assert diff.to_arrow("part").num_rows == 1
    assert reasoner.facts("part") == [(1,)]
    size, everything = reasoner.size(), reasoner.size(hidden=True)
    assert (size.present, size.asserted, size.derived) == (3, 1, 2)
    assert (everything.present, everything.derived) == (4, 3)
    assert "3 facts, 2 of them derived" in reasoner._repr_html_()
    with pytest.raises(DataError, match=r"The predicates are broken/1, piece/2, seen/1, triple/3,"):
        reasoner.facts("gone")


def test_a_hidden_predicate_that_output_names_is_seen():
    """It is published, so it is not a secret."""
    program = check_text("@hidden part .\n@output part .\npart(?x) :- piece(?x) .\n")

    assert "part" in program.visible
    assert program.published == {"part"}


def test_limits_count_what_is_shown():
    """Hidden facts are neither cut off nor counted."""
    reasoner = Reasoner(RULES)
    reasoner.apply([Update("piece", (1, 2))])
    whole = reasoner.explain("whole", 1, limits=Limits(1, 1))

    assert whole.text() == (
        "whole(1)\n│ <rules>:3: whole(?x) :- not broken(?x), …\n"
        "├── piece(1, 2)  asserted\n└── absent: not broken(1)\n"
    )
    assert "part(1)" in reasoner.explain("whole", 1, hidden=True).text()


CHAIN = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:foundIn owl:propertyChainAxiom (:hangsIn :inCity) .
:nightwatch :hangsIn :rijks . :rijks :inCity :amsterdam . :Painting rdfs:subClassOf :Work .
"""


def test_a_ruleset_shows_the_rules_of_its_specification(tmp_path):
    """A chain of two is one step; what is absent names rules, not helpers; prefixes shorten."""
    (tmp_path / "m.ttl").write_text(CHAIN, "utf-8")
    reasoner = Reasoner.from_rules("owl-rl")
    diff = reasoner.load(tmp_path / "m.ttl")
    proof = reasoner.explain("[:nightwatch, :foundIn, :amsterdam]").text()
    absent = reasoner.explain("[:rijks, a, :Work]").text()

    assert {change.predicate for change in diff.changes} == {"triple"}
    assert '@rule "prp-spo2" [?x, ?p, ?z] :- [?p, owl:propertyChainAxiom, ?l], …\n' in proof
    assert proof.endswith("[:rijks, :inCity, :amsterdam]  asserted\n")
    assert proof.count("\n") == 9
    assert "prp-dom" in absent
    assert "rl_" not in proof + absent
    assert "rl_" in reasoner.explain("[:rijks, a, :Work]", hidden=True).text()
