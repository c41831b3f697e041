"""Alongside rules with variable predicates, negation follows the schema at hand."""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import CircularError, closure, evaluate, total
from strategies import checked
from thorough import THOROUGH

from streamreasoner.errors import CircularNegationError, ProgramError

EXAMPLES = settings(max_examples=2_000 if THOROUGH else 8)
HEADER = """@import "rho-df" .
@input taken/2 .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix ex: <http://example.org/> .
"""
RULES = (
    "[?w, ex:may, ?d] :- [?w, ex:owns, ?d], not [?d, ex:private, 1] .",
    "[?x, a, ex:Open] :- [?x, a, ex:Doc], not [?x, a, ex:Closed] .",
    "[?x, ex:seen, ?y] :- [?x, ex:owns, ?y], not [?x, ex:may, ?y], not [?y, a, ex:Open] .",
    "[?x, ?q, ?y] :- [?x, ex:owns, ?y], [?q, ex:is, ex:default], not [?x, ex:blocked, _] .",
    "[?x, ex:private, 1] :- [?x, a, ex:Closed] .",
    "[?x, ex:private, 2] :- [?x, ex:seen, _] .",
    "lone(?x) :- [?x, a, ex:Doc], not [_, ex:owns, ?x] .",
    "[?x, a, ex:Lost] :- lone(?x) .",
    "[?x, ex:free, ?y] :- [?x, ex:owns, ?y], not taken(?y, _) .",
    "[?x, ex:owns, ?y] :- [?x, ex:may, ?y], [?y, a, ex:Open] .",
    "[?p, rdfs:subPropertyOf, ex:known] :- [?p, ex:is, ex:shown] .",
    "[?x, a, ?c] :- [?x, ex:kind, ?k], [?k, ex:means, ?c] .",
    "[?x, ex:private, 1] :- [?x, ex:may, ?x] .",
)
PREFIX = "http://example.org/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
ONE = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'


def _iris(names):
    return [f"<{PREFIX}{name}>" for name in names.split()]


THINGS = _iris("d e")
PROPERTIES = _iris("owns may private seen blocked known")
CLASSES = _iris("Doc Open Closed Lost")
SUB, CLASS, DOMAIN, RANGE = (
    f"<{RDFS}{name}>" for name in ("subPropertyOf", "subClassOf", "domain", "range")
)
IS, KIND, MEANS = _iris("is kind means")


def _triples(subjects, verbs, others):
    return st.tuples(*map(st.sampled_from, (subjects, verbs, others)))


SCHEMA = st.one_of(
    _triples(PROPERTIES, [SUB], PROPERTIES),
    # What rules derive, below what they negate: most cycles are closed by these.
    _triples(PROPERTIES[1:4], [SUB], PROPERTIES[1:3]),
    _triples(CLASSES[1:3], [CLASS], CLASSES[1:3]),
    _triples(CLASSES, [CLASS], CLASSES),
    _triples(PROPERTIES, [DOMAIN, RANGE], CLASSES),
    _triples(PROPERTIES, [IS], _iris("default shown")),
    _triples(THINGS, [MEANS], CLASSES),
    _triples([TYPE, *PROPERTIES], [SUB], [KIND, SUB, CLASS]),
)
DATA = st.one_of(
    _triples(THINGS, PROPERTIES[:1], THINGS),
    _triples(THINGS, [TYPE], CLASSES),
    _triples(THINGS, PROPERTIES, [*THINGS, ONE]),
    _triples(THINGS, [KIND], THINGS),
)
UPDATES = st.one_of(
    st.tuples(st.just("triple"), st.one_of(DATA, SCHEMA), st.sampled_from((1, 1, 1, -1))),
    st.tuples(
        st.just("taken"), st.tuples(*[st.sampled_from(THINGS)] * 2), st.sampled_from((1, -1))
    ),
)
BEGINNING = [
    ("triple", (thing, *terms), 1)
    for thing in THINGS
    for terms in ((PROPERTIES[0], THINGS[0]), (TYPE, CLASSES[0]))
]
CLOSING = (
    [("triple", (PROPERTIES[1], SUB, PROPERTIES[2]), 1)],
    [("triple", (CLASSES[1], CLASS, CLASSES[2]), 1)],
)
"""Each makes one of the first two rules circular."""
EPOCHS = st.lists(st.lists(UPDATES, min_size=1, max_size=4), min_size=2, max_size=4)
KEPT = [
    [
        ("triple", (PROPERTIES[3], IS, _iris("default")[0]), 1),
        ("triple", (PROPERTIES[2], SUB, PROPERTIES[2]), 1),
    ]
]
"""A property that passes on the object that a rule gives it."""
PROGRAMS = st.lists(st.sampled_from(RULES), min_size=2, max_size=6, unique=True)


def read(rules, stated=()):
    """The program, or None if it is refused."""
    facts = [f"[{', '.join(terms)}] ." for terms in stated]
    try:
        return checked(HEADER + "\n".join((*sorted(rules), *facts)))
    except ProgramError:
        return None


def expected(program, epochs):
    """The trace, or None if the schema makes a negation circular."""
    try:
        return evaluate(program, total(epochs))
    except CircularError:
        return None


@EXAMPLES
@given(PROGRAMS, EPOCHS)
@example([RULES[0], RULES[3], RULES[5]], KEPT)
def test_the_state_is_the_perfect_model_of_the_instances(rules, epochs):
    """An epoch is refused if and only if the schema after it makes a negation circular.

    A refused epoch changes nothing; after all others facts and counts are those of the model.
    """
    program = read(rules)
    if program is None:
        return
    driver, accepted, known = Driver(program), [], {}
    for epoch in (BEGINNING, *epochs, *CLOSING):
        trace = expected(program, [*accepted, epoch])
        if trace is None:
            before = driver.trace(driver.predicates)
            with pytest.raises(CircularNegationError, match=r" needs not .*, which may be \["):
                driver.apply(epoch)
            assert driver.trace(driver.predicates) == before
            continue
        driver.add_changes(driver.apply(epoch).closure, known)
        accepted.append(epoch)
        assert driver.trace() == trace
        assert known == dict.fromkeys(closure(trace), 1)
    again = Driver(program)
    again.run([[(*fact, count) for fact, count in total(accepted).items()]])
    assert driver.trace(driver.predicates) == again.trace(again.predicates)
    driver.run([[(*fact, -count) for fact, count in total(accepted).items()]])
    empty = Driver(program)
    empty.run([[]])
    assert driver.trace(driver.predicates) == empty.trace(empty.predicates)


@EXAMPLES
@given(PROGRAMS, st.lists(SCHEMA, max_size=4))
def test_a_program_that_states_a_circular_schema_is_refused(rules, stated):
    """It is refused when it is read, or if rules derive the schema, with its first epoch."""
    program = read(rules)
    if program is None:
        return
    trace = expected(program, [[("triple", terms, 1) for terms in set(stated)]])
    stating = read(rules, stated)
    if stating is None:
        assert trace is None
    elif trace is None:
        with pytest.raises(CircularNegationError):
            Driver(stating).apply([])
    else:
        driver = Driver(stating)
        driver.apply([])
        assert driver.trace() == trace


@EXAMPLES
@given(PROGRAMS, PROGRAMS, EPOCHS)
def test_rules_that_negate_come_and_go(rules, others, epochs):
    """After a change of rules the trace is that of the new program; a circular one is refused."""
    before, after = read(rules), read(others)
    updates = [*BEGINNING, *(update for epoch in epochs for update in epoch)]
    if before is None or after is None or expected(before, [updates]) is None:
        return
    driver = Driver(before)
    driver.apply(updates)
    trace = expected(after, [updates])
    if trace is None:
        with pytest.raises(CircularNegationError):
            driver.change(after)
        assert driver.trace() == expected(before, [updates])
        return
    driver.change(after)
    assert driver.trace() == trace
    driver.change(before)
    assert driver.trace() == expected(before, [updates])


@EXAMPLES
@given(PROGRAMS, EPOCHS)
def test_a_restored_reasoner_goes_on(rules, epochs):
    """One that takes over the trace between two epochs does what the other does."""
    program = read(rules)
    if program is None:
        return
    first, *rest = ([*BEGINNING, *epochs[0]], *epochs[1:])
    if any(expected(program, [first, *rest[:n]]) is None for n in range(len(rest) + 1)):
        return
    original, heir = Driver(program), Driver(program)
    original.apply(first)
    heir.inherit(original)
    for epoch in rest:
        ours, theirs = heir.changes([epoch]), original.changes([epoch])
        assert sorted(*ours) == sorted(*theirs)
    assert heir.trace(heir.predicates) == original.trace(original.predicates)


GRAPHS = """@prefix ex: <http://example.org/> .
[?x, ?q, ?y, ex:g] :- [?x, ?p, ?y, ex:g], [?p, ex:under, ?q, ex:g] .
[?x, ex:may, ?y, ex:g] :- [?x, ex:owns, ?y, ex:g], not [?y, ex:private, _, ex:g] .
[?x, ?q, ?y, ex:h] :- [?x, ?p, ?y, ex:h], [?p, ex:under, ?q, ex:h] .
[?x, ex:may, ?y, ex:h] :- [?x, ex:owns, ?y, ex:h], not [?y, ex:private, _, ex:h] .
"""
QUADS = st.tuples(
    st.just("quad"),
    st.builds(
        lambda terms, graph: (*terms, graph),
        st.one_of(
            _triples(PROPERTIES[:3], _iris("under"), PROPERTIES[:3]),
            _triples(THINGS, PROPERTIES[:3], THINGS),
        ),
        st.sampled_from(_iris("g h")),
    ),
    st.sampled_from((1, 1, 1, -1)),
)


@EXAMPLES
@given(st.lists(st.lists(QUADS, max_size=6), min_size=1, max_size=4))
def test_each_graph_has_its_own_order(epochs):
    """Rules of one graph and of another are different strata, though they negate the same."""
    program = checked(GRAPHS)
    driver, accepted = Driver(program), []
    for epoch in epochs:
        trace = expected(program, [*accepted, epoch])
        if trace is None:
            with pytest.raises(CircularNegationError):
                driver.apply(epoch)
            continue
        driver.apply(epoch)
        accepted.append(epoch)
        assert driver.trace() == trace


OWL = "http://www.w3.org/2002/07/owl#"
SAME = f"<{OWL}sameAs>"
AXIOMS = st.one_of(
    _triples(PROPERTIES, [f"<{OWL}equivalentProperty>", f"<{OWL}inverseOf>", SUB], PROPERTIES),
    _triples(CLASSES, [f"<{OWL}equivalentClass>", CLASS], CLASSES),
    _triples(PROPERTIES, [DOMAIN, RANGE], CLASSES),
    _triples(
        PROPERTIES,
        [TYPE],
        [f"<{OWL}{kind}Property>" for kind in ("Functional", "Symmetric", "Transitive")],
    ),
    _triples(THINGS, [SAME], THINGS),
)
OWL_UPDATES = st.tuples(st.just("triple"), st.one_of(DATA, AXIOMS), st.sampled_from((1, 1, 1, -1)))


def triples(driver):
    """The triples of the closure."""
    return {args for predicate, args in driver.closure(("triple",))}


@settings(max_examples=300 if THOROUGH else 2, deadline=None)
@given(st.booleans(), st.lists(st.lists(OWL_UPDATES, max_size=4), min_size=1, max_size=4))
def test_beside_owl_rl_it_is_as_if_each_stratum_were_asserted(is_class, epochs):
    """What the ruleset alone derives decides what is absent; what this derives is added to it.

    A schema of which what is absent is not that in the end is refused.
    """
    rule = RULES[1] if is_class else RULES[0]
    header = HEADER.replace("rho-df", "owl-rl")
    driver, alone, accepted = Driver(checked(header + rule)), checked(header), []
    for epoch in (BEGINNING, *epochs):
        try:
            driver.apply(epoch)
        except CircularNegationError:
            continue
        accepted.append(epoch)
        plain = Driver(alone)
        plain.apply([(*fact, count) for fact, count in total(accepted).items()])
        first = triples(plain)
        derived = negating(is_class, first, first)
        while derived - triples(plain):
            plain.apply([("triple", args, 1) for args in sorted(derived - triples(plain))])
            derived = negating(is_class, triples(plain), first)
        assert triples(driver) == triples(plain)
        assert negating(is_class, triples(plain), triples(plain)) == derived


def negating(is_class, facts, absent):
    """What one of the first two rules derives from facts if others are not in a set."""
    if is_class:
        return {
            (x, TYPE, CLASSES[1])
            for x, p, c in facts
            if (p, c) == (TYPE, CLASSES[0]) and (x, TYPE, CLASSES[2]) not in absent
        }
    return {
        (w, PROPERTIES[1], d)
        for w, p, d in facts
        if p == PROPERTIES[0] and (d, PROPERTIES[2], ONE) not in absent
    }


def _axiom(subject, verb, other):
    return ("triple", (f"<{PREFIX}{subject}>", verb, other), 1)


FUNCTIONAL = _axiom("may", TYPE, f"<{OWL}FunctionalProperty>")
CIRCLE = _axiom("known", SUB, PROPERTIES[2])


def test_what_owl_rl_makes_of_a_property_that_a_negation_decides():
    """Most axioms change the order, or nothing; those that could close a circle are refused."""
    driver = Driver(checked(HEADER.replace("rho-df", "owl-rl") + RULES[0] + RULES[1]))
    for epoch in (
        BEGINNING,
        [_axiom("may", SUB, PROPERTIES[5]), _axiom("may", f"<{OWL}inverseOf>", PROPERTIES[4])],
        [_axiom("may", DOMAIN, CLASSES[3]), _axiom("Lost", CLASS, CLASSES[2])],
        [_axiom("owns", TYPE, f"<{OWL}FunctionalProperty>")],
        [_axiom("d", SAME, THINGS[1])],
    ):
        driver.apply(epoch)
    for axiom in (FUNCTIONAL, CIRCLE):
        with pytest.raises(CircularNegationError, match=r"needs not \[_, ex:private, 1\]"):
            driver.apply([axiom])
    opened = {s for s, _, c in triples(driver) if c == CLASSES[1]}
    may = {s for s, p, _ in triples(driver) if p == PROPERTIES[1]}
    assert (opened, may) == (set(), {*THINGS})
    driver.apply([(*_axiom("may", DOMAIN, CLASSES[3])[:2], -1)])
    assert {s for s, _, c in triples(driver) if c == CLASSES[1]} == {*THINGS}


def test_a_circle_is_shown_by_facts_that_no_rule_of_it_derives():
    """What leads from the negation to the schema may be asserted alone, as a range is here."""
    driver = Driver(
        checked(
            "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
            "@prefix ex: <http://example.org/> .\n"
            "[?x, a, ?c] :- [?x, a, ?b], [?b, rdfs:subClassOf, ?c] .\n"
            "[?y, a, ?c] :- [_, ?p, ?y], [?p, rdfs:range, ?c] .\n"
            "[?c, rdfs:subClassOf, ex:Thing] :- [?c, a, ex:Kind] .\n"
            "[?x, ex:may, ?y] :- [?x, ex:owns, ?y], not [?x, a, ex:Closed] .\n"
        )
    )
    with pytest.raises(CircularNegationError, match=r"by \[ex:may, rdfs:range, ex:Kind\]; "):
        driver.apply([("triple", (*_iris("may"), RANGE, *_iris("Kind")), 1)])


def test_kinds_that_nothing_derives_are_left_out():
    """Rules about kinds of facts read no kind that is derived nowhere, which no state knows."""
    driver = Driver(
        checked(
            HEADER.replace('@import "rho-df" .\n', "")
            + "[ex:b, ?x, ?z] :- [?x, ex:q, ?z], not absent(?x, ?z), is_iri(?x) .\n"
            "absent(?x, ?z) :- [?x, ex:q, ?z], asserted [_, ex:p, ?z], ?x != ex:a .\n"
        )
    )
    for name in ("x", "a"):
        driver.apply([_axiom(name, f"<{PREFIX}q>", f"<{PREFIX}z>")])
    driver.apply([_axiom("w", f"<{PREFIX}p>", f"<{PREFIX}z>")])
    made = {args[1] for _, args in driver.closure(["triple"]) if args[0] == f"<{PREFIX}b>"}
    assert made == {f"<{PREFIX}a>"}
