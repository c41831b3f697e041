"""Constraints are ordinary predicates, whose facts are reported as violations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from strategies import checked, scenarios
from thorough import THOROUGH

from streamreasoner.api.nodes import from_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.errors import RecursionLimitError
from streamreasoner.lang.ast import ARITIES
from streamreasoner.lang.parser import parse
from streamreasoner.lang.printer import print_program
from streamreasoner.lang.traversal import asserted_atoms

LIMIT = 100


def is_statement(args):
    """Whether RDF allows these terms as a triple or a quad; updates of others are refused."""
    subject, predicate, _, *graph = args
    return predicate[0] == "<" and all(term[0] != '"' for term in (subject, *graph))


@st.composite
def constrained(draw):
    """A program, the same with marks, its constraints, and epochs of other updates."""
    scenario = draw(scenarios())
    program = parse(scenario.program)
    heads = {head.predicate for rule in program.rules if rule.body for head in rule.heads}
    stated = {head.predicate for rule in program.rules if not rule.body for head in rule.heads}
    declared = {
        item.predicate
        for directive in program.directives
        for item in getattr(directive, "signatures", ())
    }
    possible = sorted(heads - stated - declared - ARITIES.keys())
    assume(possible)
    marked = draw(st.sets(st.sampled_from(possible), min_size=1))
    rules = tuple(
        replace(
            rule,
            heads=tuple(replace(head, violation=head.predicate in marked) for head in rule.heads),
        )
        for rule in program.rules
    )
    given = {atom.predicate for rule in rules for atom in asserted_atoms(rule)}
    assume(not given & marked)
    text = print_program(replace(program, rules=rules))
    epochs = [
        [
            (predicate, args, multiplicity)
            for predicate, args, multiplicity in epoch
            if predicate not in marked and (predicate not in ARITIES or is_statement(args))
        ]
        for epoch in scenario.epochs
    ]
    return scenario.program, text, marked, epochs


@given(constrained())
@settings(max_examples=1000 if THOROUGH else 24)
def test_violations_are_the_facts_of_constraints(case):
    """Marks change no trace; violations come and go with the data, and with the rules."""
    plain, text, marked, epochs = case
    program = checked(text)
    ordinary, reasoner = (
        Reasoner(each, recursion_limit=LIMIT) for each in (checked(plain), program)
    )
    sums = Counter()

    def sum_is_what_is_present(diff):
        for each in diff.violations:
            sums[each.constraint, each.message] += each.multiplicity
        present = [(each.constraint, each.message) for each in reasoner.violations()]
        assert sorted(sums.elements()) == sorted(present)
        assert set(sums.values()) <= {0, 1}

    for epoch in epochs:
        updates = [
            Update(predicate, tuple(map(from_ntriples, args)), multiplicity)
            for predicate, args, multiplicity in epoch
        ]
        try:
            expected, diff = ordinary.apply(updates), reasoner.apply(updates)
        except RecursionLimitError:
            reject()
        changed = [change for change in expected.changes if change.predicate in marked]
        assert len(diff.violations) == len(changed)
        sum_is_what_is_present(diff)
    for predicate in program.arities:
        traces = (Counter(map(repr, each.trace(predicate))) for each in (ordinary, reasoner))
        assert next(traces) == next(traces)
    try:
        sum_is_what_is_present(reasoner.change_program(checked("")))
    except RecursionLimitError:
        reject()
    assert reasoner.violations() == []
