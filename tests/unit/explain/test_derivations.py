"""Derivations of single facts, and the proof that they make."""

from __future__ import annotations

import pytest

from streamreasoner import Reasoner, Update
from streamreasoner.engine.ports import LAST_ITERATION
from streamreasoner.explain.derivations import Derivations, Obligation
from streamreasoner.explain.explanation import explain
from streamreasoner.explain.proof import Limits, Proved
from streamreasoner.explain.prove import ProofSearch
from streamreasoner.explain.rule_groups import Rules
from streamreasoner.explain.store import FactIndex
from streamreasoner.facts import Fact

RULES = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) ."


@pytest.fixture(scope="module")
def reasoner():
    """All paths of a cycle with a shortcut."""
    started = Reasoner.from_rules(RULES)
    started.apply([Update("edge", (i, (i + 1) % 7)) for i in range(7)] + [Update("edge", (1, 4))])
    return started


def paths(reasoner):
    """The rules, an index, and the rows of all paths."""
    store = FactIndex(
        reasoner.session.engine, reasoner.session.dictionary, reasoner.program.arities
    )
    return Rules(reasoner.program), store, [*store.present("path", {})]


def test_premises_precede_their_conclusion(reasoner):
    """A fact of the same stratum was present in an earlier iteration."""
    rules, store, rows = paths(reasoner)
    derivations = Derivations(rules, store, 1)
    for row in rows:
        justification = derivations.justify(Obligation("path", row, LAST_ITERATION))
        premises = [*justification.obligations]

        assert premises
        assert justification.iteration == row.since
        assert max(each.row.since for each in premises) == row.since - 1


def test_a_shared_fact_appears_once_in_a_proof(reasoner):
    """Every step but the first is a premise of another one."""
    rules, store, rows = paths(reasoner)
    for row in rows:
        fact = Fact("path", row.arguments)
        steps = ProofSearch(rules, store, Limits()).prove(fact, row).steps
        needed = {
            premise.step
            for step in steps
            if step.why is not None
            for premise in step.why.premises
            if isinstance(premise, Proved)
        }

        assert steps[0].fact == fact
        assert len({step.fact for step in steps}) == len(steps)
        assert needed == set(range(1, len(steps)))


def test_an_explanation_is_of_the_fact_whether_it_is_present_or_not(reasoner):
    """A proof of what is in the state, reasons for what is not."""
    _, _, rows = paths(reasoner)
    terms = {term for row in rows for term in row.arguments}
    program, engine, dictionary = (
        reasoner.program,
        reasoner.session.engine,
        reasoner.session.dictionary,
    )
    for first in [*sorted(terms)[:3], '"unknown"']:
        for second in [*sorted(terms)[:3], '"unknown"']:
            fact = Fact("path", (first, second))
            found = explain(program, engine, dictionary, fact, Limits())

            assert found.fact == fact
            assert found.present == any(row.arguments == fact.arguments for row in rows)
