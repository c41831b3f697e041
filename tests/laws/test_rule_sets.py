"""Rule sets of SPARQL-RL derive what the specification's algorithm does, naively and by stratum.

The evaluator shares nothing with what it judges but the text of the rule set.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from driver import Driver
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle.rule_sets import (
    GROUND,
    NAMES,
    NODES,
    PREDICATES,
    TERMS,
    TripleTerm,
    inference_graph,
    names_of,
    rdf,
    strata,
    text_of,
    texts,
    written,
)
from thorough import THOROUGH

from streamreasoner import Reasoner, Term, Update
from streamreasoner.errors import ProgramError
from streamreasoner.facts import decode_facts
from streamreasoner.program.checked import check_source
from streamreasoner.program.edit import canonical_program, with_rules
from streamreasoner.program.sources import RULES
from streamreasoner.program.text import canonical_text

# A term of a pattern is a term of RDF, a triple term, a variable such as `?x`, or a blank node such
# as `_:x`.
VARIABLES = st.sampled_from(NAMES)
SUBJECTS = st.one_of(VARIABLES, VARIABLES, st.sampled_from(("_:x", "_:y")), st.sampled_from(NODES))
PARTS = st.one_of(VARIABLES, st.sampled_from(NODES))
TRIPLE_TERMS = st.builds(TripleTerm, PARTS, st.sampled_from(PREDICATES[:2]), PARTS)
OBJECTS = st.one_of(
    VARIABLES,
    VARIABLES,
    st.sampled_from(("_:x", "_:y")),
    st.sampled_from([*TERMS, *GROUND[:1]]),
    TRIPLE_TERMS,
)
PATTERNS = st.tuples(SUBJECTS, st.sampled_from(PREDICATES), OBJECTS)
BASES = st.sets(
    st.tuples(
        st.sampled_from(NODES), st.sampled_from(PREDICATES), st.sampled_from([*TERMS, *GROUND])
    ),
    max_size=8,
)
TESTS = ("{} = {}", "{} != {}", "{} < {}", "isIRI({})")
VALUES = ("{} + 1", "STR({})", "{}")


@st.composite
def conditions(draw, bound):
    """A condition on variables that are bound, or constants."""
    operands = st.one_of(st.sampled_from(sorted(bound)), st.sampled_from(TERMS))
    return "filter", draw(st.sampled_from(TESTS)), (draw(operands), draw(operands))


@st.composite
def rule(draw):
    """(head, body, whether it matches the base graph alone), well-formed from left to right."""
    of_data = draw(st.integers(0, 5)) == 0
    body = [("pattern", each) for each in draw(st.lists(PATTERNS, min_size=1, max_size=2))]
    bound = names_of(each for _, each in body)
    for kind in draw(st.lists(st.sampled_from(("filter", "not", "set", "pattern")), max_size=2)):
        shown = {each for each in bound if each.startswith("?")}
        if kind == "pattern":
            body.append((kind, draw(PATTERNS)))
            bound |= names_of([body[-1][1]])
        elif kind == "not":
            inner = draw(st.lists(PATTERNS, min_size=1, max_size=2))
            inside = {each for each in bound | names_of(inner) if each.startswith("?")}
            tests = [draw(conditions(inside))] if inside and draw(st.booleans()) else []
            body.append((kind, inner, tests, draw(st.integers(0, 3)) == 0))
        elif shown and kind == "filter":
            body.append(draw(conditions(shown)))
        elif shown and kind == "set" and "?n" not in bound:
            body.append((kind, draw(st.sampled_from(VALUES)), draw(st.sampled_from(sorted(shown)))))
            bound.add("?n")
            if draw(st.booleans()):
                body.append(("pattern", (draw(SUBJECTS), draw(st.sampled_from(PREDICATES)), "?n")))
                bound |= names_of([body[-1][1]])
    shown = sorted(each for each in bound if each.startswith("?"))
    subjects = st.one_of(*([st.sampled_from(shown)] if shown else []), st.sampled_from(NODES))
    objects = st.one_of(*([st.sampled_from(shown)] if shown else []), st.sampled_from(TERMS))
    if draw(st.integers(0, 4)) == 0:
        subjects = objects = st.one_of(st.just("_:n"), objects)
    elif draw(st.integers(0, 3)) == 0:
        objects = st.builds(TripleTerm, subjects, st.sampled_from(PREDICATES[:2]), objects)
    predicates = st.sampled_from(PREDICATES)
    head = draw(st.lists(st.tuples(subjects, predicates, objects), min_size=1, max_size=2))
    return head, body, of_data


def inferred(reasoner, base):
    """What is present and not in the base graph."""
    facts = reasoner.session.engine.facts("triple")
    present = {
        fact.arguments for fact in decode_facts("triple", facts, reasoner.session.dictionary)
    }
    return rdf(present - texts(base))


def update(triple, multiplicity=1):
    """An update of a triple of the base graph."""
    return Update("triple", tuple(map(Term.parse, map(written, triple))), multiplicity)


@settings(max_examples=2000 if THOROUGH else 36, deadline=None)
@given(
    st.lists(rule(), min_size=1, max_size=4),
    BASES.map(lambda each: set(sorted(each, key=str)[:2])),
    BASES,
    BASES,
)
def test_the_inference_graph_is_that_of_the_algorithm(rules, data, before, after):
    """Whatever was in the base graph before, and whatever the rules are."""
    text = text_of(rules, data)
    if strata(rules) is None:
        with pytest.raises(ProgramError, match="SR304"):
            check_source(text, "rules.srl")
        return
    program = check_source(text, "rules.srl")
    reasoner = Reasoner(program, store=Driver.new_store() if Driver.new_store else None)
    reasoner.apply([update(triple) for triple in sorted(before, key=str)])
    reasoner.apply(
        [
            *(update(triple, -1) for triple in sorted(before - after, key=str)),
            *(update(triple) for triple in sorted(after - before, key=str)),
        ]
    )
    expected = rdf(texts(inference_graph(rules, data, after)))
    found = inferred(reasoner, after)
    assert found.isomorphic(expected), (
        f"{text}\n{texts(after)}\n{sorted(found)}\n{sorted(expected)}"
    )


def without_absences(rules):
    """Rules without what is in NOT."""
    return [(head, [each for each in body if each[0] != "not"], data) for head, body, data in rules]


@settings(max_examples=3000 if THOROUGH else 60, deadline=None)
@given(st.lists(rule(), min_size=1, max_size=2), st.lists(rule(), min_size=1, max_size=2))
def test_a_rule_set_is_added_if_both_are_one(first, second):
    """By its text, and by the rules that a control message has.

    It is refused as one document is where a rule that runs once is in a cycle. A NOT in a cycle is
    allowed to rules if nothing can be in it.
    """
    assume(strata(first) is not None and strata(second) is not None)
    # A rule that derives nothing, as its triple has a number as its subject, is not in a program.
    assume(all(check_source(text_of([each], set()), "one.srl").rules for each in first + second))
    # In rules, an assigned variable that a pattern reads too is a condition.
    patterns = [
        each for _, body, _ in first + second for kind, each, *_ in body if kind == "pattern"
    ]
    assume("?n" not in names_of(patterns))
    is_one = strata(first + second) is not None
    is_refused = strata(without_absences(first + second)) is None
    assume(is_one or is_refused)
    text = text_of(second, set())
    before = check_source(text_of(first, set()), "first.srl")
    rules = canonical_text(check_source(text, "second.srl").programs)
    with nullcontext() if is_one else pytest.raises(ProgramError, match=r"SR30[14]"):
        with_rules(before, text, "second.srl")
    in_effect = canonical_program(before, "program")
    with nullcontext() if is_one else pytest.raises(ProgramError, match=r"SR30[14]"):
        with_rules(in_effect, rules, "second.srl", RULES)
