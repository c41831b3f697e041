"""Shapes as rules: names, places, texts, and what is refused. Their meaning is a law."""

from __future__ import annotations

import pytest
from rdflib import RDF, RDFS, XSD, BNode, Literal, URIRef
from typer.testing import CliRunner

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.cli import app
from streamreasoner.errors import ProgramError
from streamreasoner.program.checked import check_source, check_text
from streamreasoner.program.edit import canonical_program
from streamreasoner.program.load import load_program

HEADER = """@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ex: <http://example.org/> .
"""
SHAPES = (
    HEADER
    + """
ex:Team sh:node ex:Named ; sh:targetNode ex:t .
# ex:Named has sh:minCount too
ex:Named sh:targetSubjectsOf ex:name ;
    sh:property [ sh:path ex:name ; sh:maxCount 1 ; sh:minLength 2 ; sh:message "bad {$value}" ] ;
    sh:property [ sh:path ( ex:in [ sh:inversePath ex:of ] ) ; sh:nodeKind sh:IRI ] ;
    sh:property [ sh:path ex:name ; sh:maxLength 5 ; sh:severity ex:Odd ] .
"""
)
EX = "http://example.org/"
NAME, ANN = URIRef(EX + "name"), URIRef(EX + "ann")


def checked(shapes):
    """The program of some shapes."""
    return check_source(shapes, "shapes.ttl")


def refused(shapes):
    """What is wrong with shapes, with the line and the text that is marked."""
    with pytest.raises(ProgramError) as error:
        checked(HEADER + shapes)
    return [
        (each.span.line - 2, (HEADER + shapes)[each.span.start : each.span.end], each.message)
        for each in error.value.diagnostics
    ]


def test_a_prefix_that_rules_cannot_have_is_left_out():
    """Turtle has more names than the rule language, in which the program is stored."""
    renamed = SHAPES.replace("ex:name", "a\u00b7:name")
    shapes = f"@prefix a\u00b7: <http://example.org/> .\n{renamed}"
    program = canonical_program(checked(shapes), "again")
    assert program.hash == checked(SHAPES).hash


def test_constraints_have_the_names_and_places_of_shapes():
    """A name is made of shapes, paths and parameters; places are in the text of the shapes."""
    program = checked(SHAPES)

    assert {
        name: (each.span.line, each.span.column) for name, each in program.constraints.items()
    } == {
        "Team_node": (4, 9),
        "Named_name_maxCount": (7, 37),
        "Named_name_minLength": (7, 53),
        "Named_in_inverse_of_nodeKind": (8, 64),
        "Named_name_2_maxLength": (9, 37),
    }
    assert program.warnings == ()


def test_texts_and_severities_are_those_of_the_shape():
    """A message has the value; without one, the text says what is wrong, with short terms."""
    reasoner = Reasoner(checked(SHAPES))
    reasoner.apply([Update.triple(ANN, NAME, "x"), Update.triple(ANN, NAME, "123456")])
    found = {each.constraint: (each.args, each.message) for each in reasoner.violations()}

    assert found["Named_name_maxCount"][1] == "bad ex:ann"
    assert found["Named_name_minLength"] == (
        (ANN, NAME, "x", URIRef("http://www.w3.org/ns/shacl#Violation")),
        'bad "x"',
    )
    assert found["Named_name_2_maxLength"] == (
        (ANN, NAME, "123456", URIRef(EX + "Odd")),
        '"123456" is longer than 5 characters (ex:name)',
    )


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        ("sh:minCount 1", "has fewer than 1 value (ex:name)"),
        ("sh:maxCount 0", "has more than 0 values (ex:name)"),
        ("sh:maxCount 1", "has more than 1 value (ex:name)"),
        ("sh:minLength 11", "is shorter than 11 characters (ex:name)"),
        ("sh:maxLength 1", "is longer than 1 character (ex:name)"),
        ('sh:hasValue "1"', 'does not have the value "1" (ex:name)'),
    ],
)
def test_texts_count_values_and_characters(demand, said):
    """One is singular, and other numbers are plural."""
    shape = f"ex:S sh:targetNode ex:a ; sh:property [ sh:path ex:name ; {demand} ] ."
    program = checked(HEADER + shape)
    (constraint,) = program.constraints.values()
    assert said in constraint.template.text


def test_helpers_are_hidden_and_the_rest_is_not(tmp_path):
    """A program that imports shapes publishes what it would without them."""
    (tmp_path / "shapes.ttl").write_text(SHAPES)
    (tmp_path / "rules.dl").write_text('@import "shapes.ttl" .\nfar(?x) :- [?x, ?x, ?x] .\n')
    program = load_program(tmp_path / "rules.dl")
    stored = canonical_program(program, "stored")

    assert program.published == stored.published == {"far", "triple"}
    assert stored.hash == program.hash
    assert list(stored.constraints) == list(program.constraints)


@pytest.mark.parametrize(
    ("bound", "wrong"),
    [
        ("sh:minInclusive 2", {1, "a", "2026-01-01", "2026-01-01T00:00:00", "c"}),
        ("sh:maxExclusive 3.5", {4, "a", "2026-01-01", "2026-01-01T00:00:00", "c"}),
        ("sh:minExclusive '2025-12-31'^^xsd:date", {1, 4, "a", "2026-01-01T00:00:00", "c"}),
        ("sh:maxInclusive '2026-01-01T00:00:00'^^xsd:dateTime", {1, 4, "a", "2026-01-01", "c"}),
    ],
)
def test_what_cannot_be_compared_with_a_bound_violates_it(bound, wrong):
    """As in SPARQL, numbers are compared with numbers, dates with dates and times with times."""
    shape = f"ex:S sh:targetObjectsOf ex:name ; {bound} ."
    prefix = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
    reasoner = Reasoner(checked(HEADER + prefix + shape))
    values = [1, 4, "a", URIRef("c:c")]
    values += [
        Literal("2026-01-01", datatype=XSD.date),
        Literal("2026-01-01T00:00:00", datatype=XSD.dateTime),
    ]
    reasoner.apply(Update.triple(ANN, NAME, value) for value in values)
    found = [each.args[0] for each in reasoner.violations()]

    assert {
        each if isinstance(each, int) else str(each).removeprefix("c:") for each in found
    } == wrong


def test_a_shape_that_is_a_class_is_about_its_instances():
    """Those of its subclasses too, as the data says."""
    shape = "ex:C a <http://www.w3.org/2000/01/rdf-schema#Class> ; sh:nodeKind sh:IRI ."
    reasoner = Reasoner(checked(HEADER + shape))
    one, other = URIRef(EX + "C"), URIRef(EX + "D")
    reasoner.apply(
        [
            Update.triple(other, RDFS.subClassOf, one),
            Update.triple(ANN, RDF.type, other),
            Update.triple(BNode("b"), RDF.type, other),
            Update.triple(BNode("c"), RDF.type, URIRef(EX + "E")),
        ]
    )

    assert [each.args[0] for each in reasoner.violations()] == [BNode("b")]


@pytest.mark.parametrize(
    ("shapes", "line", "marked", "message"),
    [
        ("ex:S sh:xone ( ex:S [ sh:class ex:C ] ) .", 1, "ex:S", "the shape S is recursive"),
        (
            "ex:S a sh:NodeShape ; sh:deactivated 1 .",
            1,
            "sh:deactivated",
            "sh:deactivated is not true or false",
        ),
        (
            "ex:S a sh:NodeShape ;\n  sh:memberShape ex:T .",
            2,
            "sh:memberShape",
            "sh:memberShape of SHACL 1.2 is not supported",
        ),
        (
            "ex:S a sh:NodeShape ;\n  sh:minCont 1 .",
            2,
            "sh:minCont",
            "SHACL has no property sh:minCont",
        ),
        ("ex:S sh:minCount 1 .", 1, "sh:minCount", "sh:minCount needs a sh:path"),
        ("ex:S sh:node ex:S ; sh:class ex:C .", 1, "ex:S", "the shape S is recursive"),
        ("_:s sh:node _:t . _:t sh:not _:s .", -1, "@", "the shape shape is recursive"),
        ("ex:S a sh:NodeShape ; sh:message ex:m .", 1, "sh:message", "sh:message is not a text"),
        (
            "ex:S a sh:NodeShape ; sh:path [ sh:inversePath ex:p ; sh:zeroOrOnePath ex:p ] .",
            1,
            "sh:path",
            "this path is not one of SHACL",
        ),
        ("ex:S sh:class ex:C ; sh:path () .", 1, "sh:path", "this path is not one of SHACL"),
        (
            "ex:S sh:property [ sh:class ex:C ] .",
            1,
            "sh:property",
            "the property shape S_property has no path",
        ),
        ("ex:S sh:class ex:C, _:b .", 1, "sh:class", "sh:class is not an IRI"),
        ("ex:S sh:in ex:C .", 1, "sh:in", "sh:in is not a list"),
        (
            "ex:S sh:nodeKind ex:C .",
            1,
            "sh:nodeKind",
            (
                "sh:nodeKind is not one of IRI, BlankNode, Literal, "
                "BlankNodeOrIRI, BlankNodeOrLiteral, IRIOrLiteral"
            ),
        ),
        (
            "ex:S sh:pattern 'a' ;\n sh:flags 'g' .",
            2,
            "sh:flags",
            "sh:flags is not of the letters i, m, q, s, x",
        ),
        ("ex:S sh:datatype ex:a, ex:b .", 1, "sh:datatype", "a shape has 2 values of sh:datatype"),
        (
            "ex:S sh:minInclusive ex:a .",
            1,
            "sh:minInclusive",
            "sh:minInclusive is not a number, a string, a boolean, an xsd:date or an xsd:dateTime",
        ),
        ("ex:S sh:uniqueLang true .", 1, "sh:uniqueLang", "sh:uniqueLang needs a sh:path"),
        (
            "ex:S sh:sparql [ sh:select 'SELECT $this { $this ex:p ?x }' ] .",
            1,
            "sh:sparql",
            "the query of sh:select is wrong in its line 1: prefix `ex:` is not declared",
        ),
        (
            "ex:S sh:targetNode 1 ; sh:sparql [ sh:select 'SELECT $this { MINUS { } }' ] .",
            1,
            "sh:sparql",
            "SHACL does not allow MINUS in a query",
        ),
        (
            "ex:S sh:sparql [ sh:select 'ASK { $this ?x ?y }' ] .",
            1,
            "sh:sparql",
            "the query of sh:select has the form ASK",
        ),
        ("ex:S sh:sparql ex:q .", 1, "sh:sparql", "a constraint in SPARQL has one sh:select"),
    ],
)
def test_what_is_not_supported_is_refused_with_its_place(shapes, line, marked, message):
    """No demand of shapes is ignored."""
    assert (line, marked, message) in refused(shapes)


def test_a_pattern_that_re2_does_not_have_is_refused():
    """The mark is at the parameter."""
    [(_, marked, message)] = refused("ex:S sh:targetNode ex:a ; sh:pattern '(?=a)' .")

    assert marked == "sh:pattern"
    assert "RE2" in message or "invalid" in message


def test_the_command_checks_shapes_and_data(tmp_path):
    """Exit code 3 tells that there are violations, 0 that there are none."""
    shapes, data = tmp_path / "shapes.ttl", tmp_path / "data.ttl"
    shapes.write_text(SHAPES)
    data.write_text("@prefix ex: <http://example.org/> . ex:ann ex:name 'x' .")

    def run(*arguments):
        return CliRunner().invoke(app, ["check-shapes", str(shapes), *arguments])

    alone, wrong = run(), run("--data", str(data))
    assert (alone.exit_code, alone.stdout) == (0, f"{shapes}: 5 constraints\n")
    assert wrong.exit_code == 3
    assert wrong.stderr == (
        f'{shapes}:7:53: bad "x"\n  Named_name_minLength(ex:ann, ex:name, "x", sh:Violation)\n'
        "1 violation of 1 constraint.\n"
    )
    printed = run("--print").stdout
    assert check_text(printed).hash == load_program(shapes).hash
    data.write_text("@prefix ex: <http://example.org/> . ex:ann ex:name 'Ann' .")
    assert run("--data", str(data)).exit_code == 0
