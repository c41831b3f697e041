"""Rule sets have strata wherever the specification gives them some, whatever the base graph is.

What tells rules apart there tells them apart here: repeated variables, what is inside triple terms,
new nodes, and conditions of NOT that are about a recursion.
"""

from __future__ import annotations

from random import Random

from driver import Driver
from hypothesis import example, given, settings
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

from streamreasoner.analysis.strata.told_apart import APART
from streamreasoner.explain import Fact, Limits, explain
from streamreasoner.program.checked import check_source

TESTS = ("{} = {}", "{} != {}", "{} < {}", "isIRI({})")
VALUES = ("{} + 1", "STR({})", "{}")


class Rules:
    """Random rules, well-formed from left to right, of which many are recursive.

    Args:
        random: Chooses.
        open_: How often a predicate is a variable.
    """

    def __init__(self, random, open_):
        self.random, self.open = random, open_

    def choice(self, *options):
        """One of some lists."""
        return self.random.choice([each for option in options for each in option])

    def is_one_in(self, number):
        """Whether a rare case is wanted."""
        return self.random.randrange(number) == 0

    def pattern(self):
        """A triple of terms, variables and blank nodes."""
        names = [*NAMES, *NAMES, "_:x", "_:y"]
        verb = self.choice(NAMES if self.random.random() < self.open else PREDICATES)
        inside = TripleTerm(
            self.choice(NAMES, NODES), self.choice(PREDICATES[:2]), self.choice(NAMES, NODES)
        )
        return self.choice(names, NODES), verb, self.choice([inside], TERMS, GROUND[:1], names)

    def condition(self, names):
        """A condition, most often on variables."""
        return (
            "filter",
            self.random.choice(TESTS),
            tuple(self.choice(sorted(names) * 3, TERMS) for _ in "ab"),
        )

    def rule(self):
        """(head, body, whether it matches the base graph alone)."""
        body = [("pattern", self.pattern()) for _ in range(self.choice([1, 1, 2]))]
        bound = names_of(each for _, each in body)
        for _ in range(self.choice([0, 1, 1, 2])):
            shown = {each for each in bound if each.startswith("?")}
            kind = self.choice(["filter", "not", "not", "not", "set", "pattern"])
            if kind == "pattern":
                body.append((kind, self.pattern()))
                bound |= names_of([body[-1][1]])
            elif kind == "not":
                inner = [self.pattern() for _ in range(self.choice([1, 1, 2]))]
                inside = {each for each in bound | names_of(inner) if each.startswith("?")}
                tests = [self.condition(inside)] if inside and not self.is_one_in(3) else []
                body.append((kind, inner, tests, self.is_one_in(8)))
            elif shown and kind == "filter":
                body.append(self.condition(shown))
            elif shown and kind == "set" and "?n" not in bound:
                body.append((kind, self.random.choice(VALUES), self.choice(sorted(shown))))
                bound.add("?n")
        shown = sorted(each for each in bound if each.startswith("?"))
        kind = self.choice(["plain", "plain", "plain", "new", "inside"])
        head = [self.template(kind, shown) for _ in range(self.choice([1, 1, 2]))]
        return head, body, self.is_one_in(8)

    def template(self, kind, shown):
        """A triple of a head."""
        verb = self.choice(shown if shown and self.random.random() < self.open else PREDICATES)
        subject, other = self.choice(shown, shown, NODES), self.choice(shown, shown, TERMS)
        if kind == "new":
            new = ["_:n"]
            return self.choice(new, [subject]), verb, self.choice(new, [other])
        if kind == "inside":
            part = TripleTerm(self.choice(shown, NODES), self.choice(PREDICATES[:2]), other)
            return subject, verb, self.choice([part, other])
        return subject, verb, other

    def triples(self, most):
        """Triples of the base graph."""
        return {
            (self.choice(NODES), self.choice(PREDICATES), self.choice(TERMS, GROUND))
            for _ in range(self.random.randrange(most))
        }


def rule_sets(seed):
    """Rule sets that the specification accepts, each with what makes its triples."""
    random = Random(seed)
    while True:
        made = Rules(random, random.choice((0, 0, 0.1, 0.3)))
        rules = [made.rule() for _ in range(random.randint(1, 5))]
        if strata(rules) is not None:
            yield made, rules


@settings(max_examples=2000 if THOROUGH else 60, deadline=None)
@given(st.integers(0, 2**32))
def test_what_the_specification_accepts_has_strata(seed):
    """They follow from rules alone, so that no data makes a negation circular."""
    _, rules = next(rule_sets(seed))
    program = check_source(text_of(rules, ()), "rules.srl")

    assert not any(program.guarded), text_of(rules, ())


@settings(max_examples=200 if THOROUGH else 12, deadline=None)
@given(st.integers(0, 2**32))
@example(10652)  # a rule reads nothing but what is told apart
def test_rules_that_are_told_apart_derive_what_the_algorithm_does(seed):
    """After each change of the base graph, with the counts of an evaluation from scratch."""
    for made, rules in rule_sets(seed):
        data = made.triples(3)
        text = text_of(rules, data)
        program = check_source(text, "rules.srl")
        if any(name.endswith(APART) for name in program.helpers):
            break
    driver, before = Driver(program), set()
    for _ in range(3):
        after = made.triples(9)
        driver.apply(updates(before - after, -1) + updates(after - before, 1))
        present = {args for _, args in driver.closure(["triple"])}
        expected = rdf(texts(inference_graph(rules, data, after)))

        assert rdf(present - texts(after)).isomorphic(expected), f"{text}\n{texts(after)}"
        before = after
    scratch = Driver(program)
    scratch.apply(updates(before, 1))

    assert driver.trace(driver.predicates) == scratch.trace(driver.predicates), text
    session = driver.session
    absent = {("triple", tuple(map(written, each))) for each in made.triples(5)}
    for each in sorted({*driver.closure(["triple"]), *absent}):
        found = explain(session.program, session.engine, session.dictionary, Fact(*each), Limits())

        assert "apart" not in found.text()
        assert "may." not in found.text()


def updates(triples, multiplicity):
    """Updates of triples."""
    return [
        ("triple", tuple(map(written, each)), multiplicity) for each in sorted(triples, key=str)
    ]
