"""Cases of a specification's rules: a graph, what follows from it, and what does not.

A file of cases explains its syntax. `check` holds every case to four laws: what is listed follows,
or does not; the closure is that of the oracle; one triple at a time, in any order, leads to the
same trace; and retracting them leaves nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyoxigraph
from conformance.datasets import quad_row

from streamreasoner.lang.parser import parse

HERE = Path(__file__).parent / "rulesets"
PREFIXES = {
    "": "http://example.org/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_HEADER = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())


@dataclass(frozen=True)
class Case:
    """A graph, the facts that follow from it, and some that do not."""

    rule: str
    title: str
    graph: frozenset
    follows: frozenset
    fails: frozenset

    def __str__(self):
        return f"{self.rule}: {self.title}"


def cases(ruleset):
    """The cases of a ruleset, in the order of its file."""
    text = (HERE / ruleset / "cases.txt").read_text("utf-8")
    return [_case(*part.partition("\n")[::2]) for part in text.split("\n## ")[1:]]


def _case(heading, body):
    rule, _, title = heading.partition(": ")
    turtle, *sections = re.split(r"^(=>|=/>)$", body, flags=re.MULTILINE)
    facts = dict(zip(sections[::2], map(_facts, sections[1::2]), strict=True))
    return Case(
        rule, title, graph(turtle), facts.get("=>", frozenset()), facts.get("=/>", frozenset())
    )


def graph(turtle):
    """The triples of a graph in Turtle, as facts."""
    read = pyoxigraph.parse(_HEADER + turtle, pyoxigraph.RdfFormat.TURTLE)
    return frozenset(("triple", quad_row(each)) for each in read)


def _facts(text):
    heads = (head for rule in parse(_HEADER + text).rules for head in rule.heads)
    return frozenset(
        (head.predicate, tuple(each.term for each in head.arguments)) for head in heads
    )


def check(driver, case, judge):
    """Hold a case to the laws; the driver has a state without input, before and after.

    Args:
        driver: Drives the ruleset.
        case: The case.
        judge: Returns the triples that follow from some, and the names of the rules that derive
            a contradiction; and which of them are to be compared. None: nothing else is known.
    """
    empty = driver.trace(driver.predicates)
    driver.apply([(*fact, 1) for fact in case.graph])
    present, trace = driver.closure(), driver.trace(driver.predicates)
    driver.apply([(*fact, -1) for fact in case.graph])

    assert case.follows <= present
    assert not case.fails & present
    if judge is not None:
        assert_judged(present, case.graph, judge)
    assert driver.trace(driver.predicates) == empty

    order = sorted(case.graph)
    Random(case.title).shuffle(order)
    for fact in order:
        driver.apply([(*fact, 1)])

    assert driver.trace(driver.predicates) == trace

    for fact in sorted(case.graph):
        driver.apply([(*fact, -1)])

    assert driver.trace(driver.predicates) == empty


def assert_judged(present, asserted, judge):
    """Compare present facts with what the oracle says that follows."""
    triples, false, compared = judge({args for _, args in asserted})
    derived = {args for predicate, args in present if predicate == "triple"}

    assert set(filter(compared, derived)) == set(filter(compared, triples))
    assert {args[0].strip('"') for name, args in present if name == "inconsistent"} == false
