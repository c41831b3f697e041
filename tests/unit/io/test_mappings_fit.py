"""Mappings and programs: what every row would be rejected for is refused before the first one."""

from __future__ import annotations

import pytest

from streamreasoner.config.rows import MappedFact, RowMapping, argument
from streamreasoner.errors import ConfigError
from streamreasoner.io.formats.rows.fit import check_mappings

IRI, TEXT = "<http://e/{id}>", '"{id}"@en'
QUOTED = "<<( <urn:s> <urn:p> 'x' )>>".replace("'", '"')


def mapping(*facts):
    """A mapping of facts given as a predicate and arguments."""
    read = (MappedFact(predicate, tuple(map(argument, args))) for predicate, *args in facts)
    return RowMapping("m", "in", None, (), tuple(read))


def problems(*facts, may_change=False):
    """What is wrong with a mapping for a program with `edge`."""
    try:
        check_mappings([mapping(*facts)], {"triple": 3, "edge": 2}, may_change=may_change)
    except ConfigError as error:
        return str(error).splitlines()[1:]
    return []


def test_a_mapping_that_fits():
    """Literals are objects, and arguments of other predicates."""
    assert problems(("triple", IRI, "<http://e/p>", "floor"), ("edge", "a", TEXT)) == []
    assert problems(("quad", "_:a", IRI, TEXT, IRI), ("new", "a"), may_change=True) == []
    assert problems(("triple", IRI, "<http://e/p>", QUOTED), ("edge", "a", QUOTED)) == []


@pytest.mark.parametrize(
    ("fact", "problem"),
    [
        (("edge", "a"), "edge has 2 arguments; found 1"),
        (("new", "a"), "the program has no predicate 'new'; the predicates are edge/2"),
        (
            ("quad", IRI, IRI, IRI, IRI),
            "the program has no predicate 'quad'; say how graphs count for rules about triples",
        ),
        (("triple", "id", IRI, IRI), "args[0], the subject of a triple, must be an IRI or a bl"),
        (("triple", IRI, TEXT, IRI), "args[1], the predicate of a triple, must be an IRI"),
        (("triple", QUOTED, IRI, IRI), "args[0], the subject of a triple, must be an IRI or a bl"),
        (("triple", IRI, QUOTED, IRI), "args[1], the predicate of a triple, must be an IRI"),
        (("triple", IRI, "_:p", IRI), "args[1], the predicate of a triple, must be an IRI"),
    ],
)
def test_a_mapping_that_does_not_fit(fact, problem):
    """The problem begins with its key."""
    good = ("edge", "a", "b")
    [found] = problems(good, fact, good)
    assert found.startswith(f"  input.map.m.facts[1]: {problem}")


def test_a_program_that_may_change_has_no_other_arity():
    """A predicate keeps its number of arguments, those of RDF too."""
    assert problems(("edge", "a"), ("quad", IRI, IRI, IRI), may_change=True) == [
        "  input.map.m.facts[0]: edge has 2 arguments; found 1",
        "  input.map.m.facts[1]: quad has 4 arguments; found 3",
    ]
    literals = ("quad", IRI, IRI, TEXT, '"g"')
    [found] = problems(literals, may_change=True)
    assert found.endswith("args[3], the graph of a quad, must be an IRI or a blank node")
