"""The validation report: what it says, how often, and how it is printed."""

from __future__ import annotations

import json

import pytest
import rdflib
from rdflib import SH, Literal, URIRef
from rdflib.compare import isomorphic
from typer.testing import CliRunner

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.cli import app
from streamreasoner.errors import ProgramError
from streamreasoner.program.checked import check_shapes, check_source, check_text
from streamreasoner.program.load import load_program, load_shapes
from streamreasoner.shapes.graph import read_graph
from streamreasoner.shapes.paths import path_text, read_path

EX = "http://example.org/"
HEADER = f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <{EX}> .
ex: sh:declare [ sh:prefix "ex" ; sh:namespace "{EX}"^^xsd:anyURI ] .
"""
A, B, C, P, Q = (URIRef(EX + name) for name in "abcpq")


def reasoner_of(shapes, *triples):
    """A reasoner with shapes and triples."""
    reasoner = Reasoner(check_source(HEADER + shapes, "shapes.ttl"))
    reasoner.apply(Update.triple(*each) for each in triples)
    return reasoner


def results_of(reasoner):
    """Focus node, value and component of each result, sorted."""
    results = reasoner.validate().results
    names = [each.component.removeprefix(f"<{SH}").split("Constraint")[0] for each in results]
    found = [(each.focus, each.value, name) for each, name in zip(results, names, strict=True)]
    return sorted(found, key=str)


def ex(name):
    """A term of the example."""
    return f"<{EX}{name}>"


def test_a_report_unpacks_as_that_of_pyshacl():
    """Whether the data conforms, the graph and the text; the graph has all parts of a result."""
    shapes = """ex:S sh:targetNode ex:a ; sh:property ex:P .
    ex:P sh:path [ sh:inversePath ex:p ] ; sh:nodeKind sh:Literal ;
        sh:severity sh:Warning ; sh:message "bad"@en, "schlecht {$value}"@de ."""
    reasoner = reasoner_of(shapes)
    assert reasoner.validate().conforms

    reasoner.apply([Update.triple(B, P, A)])
    conforms, graph, text = reasoner.validate()
    expected = f"""{HEADER}[] a sh:ValidationReport ; sh:conforms false ; sh:result [
        a sh:ValidationResult ; sh:focusNode ex:a ; sh:value ex:b ;
        sh:resultPath [ sh:inversePath ex:p ] ; sh:sourceShape ex:P ; sh:resultSeverity sh:Warning ;
        sh:sourceConstraintComponent sh:NodeKindConstraintComponent ;
        sh:resultMessage "bad"@en, "schlecht ex:b"@de ] ."""
    wanted = rdflib.Graph().parse(data=expected)
    wanted.remove((URIRef(EX), None, None))
    wanted.remove((None, SH.prefix, None))
    wanted.remove((None, SH.namespace, None))

    assert not conforms
    assert isomorphic(graph, wanted)
    assert text.startswith("Validation Report\nConforms: False\nResults (1):\n")
    assert "  Result path: ^<http://example.org/p>\n" in text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("ex:p", "<p>"),
        ("( ex:p ex:q )", "<p>/<q>"),
        ("[ sh:inversePath ( ex:p ex:q ) ]", "^(<p>/<q>)"),
        ("( [ sh:inversePath ex:p ] [ sh:zeroOrMorePath ex:q ] )", "^<p>/<q>*"),
        ("[ sh:alternativePath ( ex:p [ sh:oneOrMorePath ex:q ] ) ]", "<p>|<q>+"),
        ("[ sh:zeroOrOnePath [ sh:inversePath ex:p ] ]", "(^<p>)?"),
        ("[ sh:zeroOrMorePath [ sh:alternativePath ( ex:p ( ex:q ex:p ) ) ] ]", "(<p>|<q>/<p>)*"),
    ],
)
def test_paths_are_reported_as_they_are_written(path, text):
    """As nodes in the graph, and as in SPARQL in violations."""
    shapes = f"ex:S sh:targetNode ex:a ; sh:path {path} ; sh:minCount 9 ."
    graph = reasoner_of(shapes).validate().graph
    (reported,) = graph.objects(None, SH.resultPath)
    triples = read_graph({"report.ttl": graph.serialize(format="turtle")})
    (again,) = (
        read_path(triples, value)
        for predicates in triples.triples.values()
        for value in predicates.get(f"<{SH.resultPath}>", ())
    )

    assert reported is not None
    assert path_text(again).replace(EX, "") == text


def test_a_shape_that_is_reached_in_two_ways_has_two_results():
    """By two shapes or from two nodes; as a fact there is one violation."""
    shapes = """ex:S sh:targetNode ex:a, ex:b ; sh:property [ sh:path ex:p ; sh:property ex:P ] ;
        sh:property [ sh:path ex:q ; sh:property ex:P ] .
    ex:P sh:path ex:p ; sh:targetNode ex:c ; sh:minCount 1 ."""
    reasoner = reasoner_of(shapes, (A, P, C), (A, Q, C), (B, P, C))

    assert results_of(reasoner) == [(ex("c"), None, "MinCount")] * 4
    assert len(reasoner.violations()) == 1
    reasoner.apply([Update.triple(A, Q, C, multiplicity=-1)])
    assert results_of(reasoner) == [(ex("c"), None, "MinCount")] * 3


def test_a_shape_that_is_reached_from_selected_targets_has_a_result_for_each():
    """Targets that a query selects count as others do."""
    shapes = """ex:S sh:target [ a sh:SPARQLTarget ; sh:prefixes ex: ;
            sh:select "SELECT ?this { ?this ex:q ?any }" ] ; sh:property ex:P .
    ex:T sh:targetSubjectsOf ex:q ; sh:property ex:P .
    ex:P sh:path ex:p ; sh:minCount 1 ; sh:target [ a sh:SPARQLTarget ; sh:prefixes ex: ;
            sh:select "SELECT ?this { ?this ex:q ?any }" ] ."""
    reasoner = reasoner_of(shapes, (A, Q, C))

    assert results_of(reasoner) == [(ex("a"), None, "MinCount")] * 3
    assert len(reasoner.violations()) == 1


def test_shapes_of_one_file_are_described_in_another(tmp_path):
    """Equal names in two files are one shape; equal last parts of names are two."""
    first, second = tmp_path / "first.ttl", tmp_path / "second.ttl"
    first.write_text(f"{HEADER}ex:S sh:targetNode ex:a ; sh:node ex:T .")
    second.write_text(
        f"{HEADER}ex:T sh:nodeKind sh:Literal .\n"
        "<http://other.org/S> sh:targetNode ex:b ; sh:class ex:C ."
    )
    (tmp_path / "rules.dl").write_text('@import "first.ttl" . @import "second.ttl" .')
    expected = [(ex("a"), ex("a"), "Node"), (ex("b"), ex("b"), "Class")]

    for program in (load_shapes([first, second]), load_program(tmp_path / "rules.dl")):
        assert results_of(Reasoner(program)) == expected
        assert program.warnings == ()


def test_a_mistake_is_placed_in_its_file():
    """Of several files, too."""
    texts = {"a.ttl": f"{HEADER}ex:S sh:class ex:C .", "b.ttl": f"{HEADER}ex:T sh:class 1 ."}
    with pytest.raises(ProgramError, match=r"b\.ttl:6:6: SR223 sh:class is not an IRI"):
        check_shapes(texts)


def test_a_large_file_of_shapes_is_read(tmp_path):
    """Its size has no limit: ontologies hold shapes next to much else."""
    path = tmp_path / "large.ttl"
    others = "".join(f"ex:n{number} rdfs:label 'n' .\n" for number in range(50_000))
    path.write_text(f"{HEADER}{others}ex:S sh:targetNode ex:a ; sh:class ex:C .")

    assert path.stat().st_size > 1_000_000
    assert results_of(Reasoner(load_program(path))) == [(ex("a"), ex("a"), "Class")]


@pytest.mark.parametrize(
    ("shape", "triples", "results"),
    [
        ("sh:deactivated true ; sh:targetNode ex:a ; sh:class ex:C", [], []),
        ("sh:targetNode ex:a ; sh:node [ sh:deactivated true ; sh:class ex:C ]", [], []),
        (
            "sh:targetNode ex:a ; sh:not [ sh:deactivated true ; sh:class ex:C ]",
            [],
            [(ex("a"), ex("a"), "Not")],
        ),
        (
            "sh:targetNode ex:a ; sh:xone ( [ sh:nodeKind sh:IRI ] [ sh:minLength 1 ] )",
            [],
            [(ex("a"), ex("a"), "Xone")],
        ),
        (
            "sh:targetNode ex:a ; sh:path ex:p ; sh:uniqueLang true",
            [(A, P, Literal("x", lang="en")), (A, P, Literal("y", lang="en")), (A, P, "z")],
            [(ex("a"), None, "UniqueLang")],
        ),
        (
            "sh:targetNode ex:a ; sh:path ex:p ; sh:lessThan ex:q",
            [(A, P, 2), (A, Q, 1), (A, Q, 2), (A, Q, 3)],
            [(ex("a"), f'"2"^^<{rdflib.XSD.integer}>', "LessThan")] * 2,
        ),
        (
            "sh:targetNode ex:a ; sh:path ex:p ; sh:closed true",
            [(A, P, B), (A, P, C), (B, Q, A), (C, Q, A)],
            [(ex("a"), ex("a"), "Closed")] * 2,
        ),
        (
            "sh:targetNode ex:a ; sh:path ex:p ; sh:hasValue _:b ; sh:in ( _:b )",
            [(A, P, B)],
            [(ex("a"), ex("b"), "In"), (ex("a"), None, "HasValue")],
        ),
        ("sh:targetNode ex:a ; sh:and ( [ ] [ sh:property [ sh:path ex:p ] ] )", [(A, P, B)], []),
    ],
)
def test_a_constraint_has_its_results(shape, triples, results):
    """Cases whose number of results is special; the rest is a law."""
    assert results_of(reasoner_of(f"ex:S {shape} .", *triples)) == results


def test_a_shape_that_is_a_class_by_its_own_graph_has_a_target():
    """Classes are instances of rdfs:Class, of owl:Class and of their subclasses."""
    shapes = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
    ex:Kind rdfs:subClassOf rdfs:Class . ex:C a ex:Kind ; sh:nodeKind sh:BlankNode .
    ex:D a owl:Class ; sh:nodeKind sh:BlankNode ."""
    triples = [(A, rdflib.RDF.type, C), (B, rdflib.RDF.type, URIRef(EX + "D"))]
    shapes = shapes.replace("ex:C a", f"<{C}> a")

    assert results_of(reasoner_of(shapes, *triples)) == [
        (ex("a"), ex("a"), "NodeKind"),
        (ex("b"), ex("b"), "NodeKind"),
    ]


COMPONENTS = """
ex:AtLeast a sh:ConstraintComponent ;
    sh:parameter [ sh:path ex:least ], [ sh:path ex:unit ; sh:optional true ] ;
    sh:validator [ sh:ask "ASK { FILTER ($value >= $least) }" ;
        sh:message "{$value} is below {$least} {$unit}" ] .
ex:Apart a sh:ConstraintComponent ; sh:parameter [ sh:path ex:apart ] ;
    sh:nodeValidator [ sh:select "SELECT $this ?value { $this $apart ?value }" ] ;
    sh:propertyValidator [
        sh:select "SELECT $this ?value ?why { $this $PATH ?value . ?value $apart ?why }" ] .
"""


def test_constraint_components_check_nodes_and_values():
    """ASK is about each value node, SELECT finds what is wrong; parameters are terms."""
    shapes = """ex:S sh:targetNode ex:a ; ex:apart ex:q ; sh:property ex:P, ex:R .
    ex:P sh:path ex:p ; ex:least 3 ; ex:unit "m" . ex:R sh:path ex:p ; ex:apart ex:q ."""
    reasoner = reasoner_of(
        COMPONENTS + shapes, (A, P, 2), (A, P, 3), (A, P, B), (A, Q, B), (B, Q, 1), (B, Q, 2)
    )
    report = reasoner.validate()
    messages = {each.messages[0] for each in report.results if each.component == ex("AtLeast")}

    assert [(each.value, each.component) for each in report.results if each.path is None] == [
        (ex("b"), ex("Apart"))
    ]
    assert messages == {'"2 is below 3 \\"m\\""', '"ex:b is below 3 \\"m\\""'}
    apart = [each for each in report.results if each.path and each.component == ex("Apart")]
    assert [(each.value, each.shape) for each in apart] == [(ex("b"), ex("R"))] * 2


def test_a_constraint_in_sparql_is_kept_up_to_date():
    """Its messages have the variables that it selects, also ?message, and it may be deactivated."""
    shapes = """ex:S sh:targetSubjectsOf ex:p ; sh:sparql ex:Q, ex:R, [ sh:deactivated true ;
        sh:select "SELECT $this { }" ] .
    ex:Q sh:prefixes ex: ; sh:message "{$this} has {?count} values" ;
        sh:select "SELECT $this (COUNT(?o) AS ?count) { $this ex:p ?o } GROUP BY $this" .
    ex:R sh:prefixes ex: ; sh:select '''SELECT $this (ex:q AS ?path) (str(?x) AS ?message) {
        $this ex:p ?x . FILTER NOT EXISTS { $shapesGraph ex:none ?x } FILTER (isIRI(?x)) }''' ."""
    reasoner = reasoner_of(shapes, (A, P, 1), (A, P, 2))

    def found():
        return [
            (each.messages, each.path and path_text(each.path), each.constraint)
            for each in reasoner.validate().results
        ]

    assert found() == [(('"ex:a has 2 values"',), None, ex("Q"))]
    reasoner.apply([Update.triple(A, P, 2, multiplicity=-1), Update.triple(A, P, B)])
    assert found() == [
        (('"ex:a has 2 values"',), None, ex("Q")),
        ((f'"{B}"',), ex("q"), ex("R")),
    ]


def test_a_query_reads_the_graph_of_the_shapes():
    """Its triples are not facts of the data."""
    shapes = """ex:S sh:targetNode ex:a ; ex:allowed ex:b ; sh:sparql [ sh:prefixes ex: ;
        sh:select '''SELECT $this ?value { $this ex:p ?value
            FILTER NOT EXISTS { GRAPH $shapesGraph { $currentShape ex:allowed ?value } } }''' ] ."""
    reasoner = reasoner_of(shapes, (A, P, B), (A, P, C))

    assert results_of(reasoner) == [(ex("a"), ex("c"), "SPARQL")]
    assert sorted(reasoner.facts()) == [(A, P, B), (A, P, C)]
    assert "shacl_shapes" in reasoner.program.hidden


def test_a_program_without_shapes_has_no_report():
    """The message says how to have some."""
    with pytest.raises(ProgramError, match=r"has no shapes.*@import"):
        Reasoner(check_text("p(1) .")).validate()


def test_the_command_prints_the_report(tmp_path):
    """As a graph in Turtle or as JSON on standard output, with the exit code of violations."""
    shapes, data = tmp_path / "shapes.ttl", tmp_path / "data.ttl"
    shapes.write_text(
        f"{HEADER}ex:S sh:targetNode ex:a ; sh:property [ sh:path ex:p ; sh:in ( ) ] ."
    )
    data.write_text(f"@prefix ex: <{EX}> . ex:a ex:p 1 .")

    def run(*arguments):
        return CliRunner().invoke(app, ["check-shapes", str(shapes), *arguments])

    turtle = run("--data", str(data), "--format", "turtle")
    assert turtle.exit_code == 3
    assert (None, SH.value, Literal(1)) in rdflib.Graph().parse(data=turtle.stdout)
    found = json.loads(run("--data", str(data), "--format", "json").stdout)
    assert found["conforms"] is False
    assert found["results"][0]["resultPath"] == ex("p")
    assert run("--format", "json").exit_code == 2
    assert f"{data} has no constraints. If it is data" in run(str(data)).stderr
    data.write_text(f"@prefix ex: <{EX}> . ex:b ex:p 1 .")
    conforming = run("--data", str(data), "--format", "json")
    assert (conforming.exit_code, json.loads(conforming.stdout)["conforms"]) == (0, True)
