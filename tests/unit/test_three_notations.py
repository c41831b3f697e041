"""The page of three notations: in each section all of them derive what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.datasets import rdflib_rows
from conformance.replay import replay
from rdflib import Graph
from rdflib.term import Literal, Node
from sessions_of_documents import blocks_of

from streamreasoner import Reasoner, Update
from streamreasoner.program.checked import check_source

PAGE = Path(__file__).parents[2] / "docs" / "three-notations.md"
PREFIX = "@prefix ex: <http://example.org/> .\n"
FIRST, *BLOCKS = blocks_of(PAGE.read_text("utf-8"))
SECTIONS = [BLOCKS[start : start + 4] for start in range(0, len(BLOCKS), 4)]
NOTATIONS = {"dl": "rules.dl", "sparql-rl": "rules.srl", "turtle": "shapes.ttl"}


def triples(turtle):
    """The triples of a text."""
    return {tuple(triple) for triple in Graph().parse(data=turtle, format="turtle")}


def present(reasoner):
    """The triples that hold."""
    return {
        tuple(each if isinstance(each, Node) else Literal(each) for each in fact)
        for fact in reasoner.facts()
    }


@pytest.mark.parametrize("section", SECTIONS, ids=[str(each[0].line) for each in SECTIONS])
def test_all_notations_derive_the_same(section):
    """What is derived is what the last block of a section says, and goes with the data."""
    *rules, derived = section
    assert [each.language for each in rules] == [*NOTATIONS]
    base, expected = triples(FIRST.text), triples(PREFIX + derived.text)
    assert expected

    for each in rules:
        reasoner = Reasoner(check_source(each.text, NOTATIONS[each.language]))
        reasoner.apply([Update("triple", triple) for triple in base])
        assert present(reasoner) - base == expected, each.language
        reasoner.apply([Update("triple", triple, multiplicity=-1) for triple in base])
        assert not present(reasoner)


@pytest.mark.parametrize("section", SECTIONS, ids=[str(each[0].line) for each in SECTIONS])
def test_states_are_those_from_scratch(section):
    """In each notation, also multiplicities, while triples come one at a time, and go."""
    rows = rdflib_rows(triples(FIRST.text))
    for each in section[:-1]:
        program = check_source(each.text, NOTATIONS[each.language])
        replay(lambda store, program=program: Reasoner(program, store=store), rows, each.text)
