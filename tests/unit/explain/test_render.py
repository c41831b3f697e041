"""Explanations as trees, graphs and documents, of paths through small graphs."""

from __future__ import annotations

import json
import re
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Namespace
from thorough import THOROUGH

from streamreasoner import Reasoner, Update
from streamreasoner.explain.proof import Aggregation, Proof
from streamreasoner.explain.render.document import absence_json, proof_json
from streamreasoner.explain.render.dot import absence_dot, proof_dot
from streamreasoner.explain.render.prefixed import ExplanationPrinter
from streamreasoner.explain.render.tree import absence_text, proof_text
from streamreasoner.lang.parser import parse
from streamreasoner.rdf.terms import canonical

IRI = "http://example.org/"
EX = Namespace(IRI)
HEADER = f"@prefix ex: <{IRI}> .\n"
RULES = f"""{HEADER}
path(?x, ?y) :- edge(?x, ?y), not closed(?x), ?x != ex:n4 .
path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .
reach(?x, count(?y)) :- path(?x, ?y) .
"""
NODES = st.integers(1, 4).map(lambda number: EX[f"n{number}"])
FEW = settings(max_examples=500 if THOROUGH else 15)
PRINTER = ExplanationPrinter({"ex": IRI})


@st.composite
def explained(draw):
    """What explains a path or the number of paths in a graph, and its parts that are facts."""
    reasoner = Reasoner.from_rules(RULES)
    edges = draw(st.lists(st.tuples(NODES, NODES), min_size=1, max_size=8))
    closed = draw(st.lists(NODES, max_size=1))
    reasoner.apply(
        [*(Update("edge", each) for each in edges), *(Update("closed", (each,)) for each in closed)]
    )
    numbers = sorted(reasoner.facts("reach"), key=str)
    if numbers and draw(st.booleans()):
        return reasoner.explain("reach", *draw(st.sampled_from(numbers))).content
    return reasoner.explain("path", draw(NODES), draw(NODES)).content


def facts(document):
    """The facts in a JSON document, wherever they stand."""
    match document:
        case {"predicate": predicate, "arguments": arguments, "text": text}:
            yield predicate, arguments, text
        case dict():
            for each in document.values():
                yield from facts(each)
        case list():
            for each in document:
                yield from facts(each)


@FEW
@given(explained())
def test_a_tree_draws_each_derivation_once(content):
    """Each derived fact has one line with its rule; all others of its lines refer to that one."""
    if not isinstance(content, Proof):
        text = absence_text(content, PRINTER)
        assert text.count("✗") == len(content.attempts)
        return
    lines = [line.lstrip("│├└─ ") for line in proof_text(content, PRINTER).splitlines()]
    counts = Counter(lines)

    for step in content.steps:
        name = PRINTER.fact(step.fact)
        assert counts[name] == (step.why is not None)
        assert bool(counts[f"{name}  (shown above)"]) <= (step.why is not None)
    rules = [
        match
        for step in content.steps
        for match in (step.why.matches if isinstance(step.why, Aggregation) else (step.why,))
        if match is not None
    ]
    assert sum(line.startswith("<rules>:") for line in lines) == len(rules)


@FEW
@given(explained())
def test_a_graph_has_one_node_for_each_fact(content):
    """However many derivations need it."""
    if not isinstance(content, Proof):
        nodes = re.findall(r"^  (\w+) \[label", absence_dot(content, PRINTER), re.MULTILINE)
        assert sorted(nodes) == sorted({*nodes})
        assert [node for node in nodes if node[0] == "f"] == ["fact"]
        return
    nodes = dict(
        re.findall(r'^  (f\d+) \[label="([^"]*)"', proof_dot(content, PRINTER), re.MULTILINE)
    )

    assert [*nodes.values()] == [PRINTER.fact(step.fact) for step in content.steps]
    assert len({*nodes.values()}) == len(content.steps)


@FEW
@given(explained())
def test_a_document_has_terms_and_text(content):
    """Terms are canonical; the text of a fact, read with the prefixes, is that fact."""
    is_proof = isinstance(content, Proof)
    document = json.loads((proof_json if is_proof else absence_json)(content, PRINTER))
    found = [*facts(document)]

    assert document["present"] is is_proof
    assert found
    for predicate, arguments, text in found:
        (head,) = parse(f"{HEADER}{text} .").rules[0].heads
        assert [*map(canonical, arguments)] == arguments
        assert (head.predicate, [each.term for each in head.arguments]) == (predicate, arguments)
        assert IRI not in text


def test_what_is_printed_reads_as_it_was():
    """Rules, literals and expressions are shortened by the prefixes, and mean the same."""
    for rule in parse(RULES).rules:
        printed = PRINTER.rule(rule)
        (again,) = parse(f"{HEADER}{printed} .").rules
        body = ", ".join(PRINTER.part(literal) for literal in rule.body)

        assert again == rule
        assert IRI not in printed
        assert printed.endswith(f":- {body}")
        assert PRINTER.part(rule.head.arguments[-1]) in printed
        assert rule.span.place == f"<rules>:{rule.span.line}"
