"""Rules of shapes derive triples, which stay exact as data changes; pySHACL is the oracle."""

from __future__ import annotations

from random import Random

import pyoxigraph
import pyshacl
import pytest
import rdflib
from conformance.datasets import quad_row
from conformance.replay import replay
from shape_rule_cases import DATA, PREFIXES, SHAPES, TRIPLE

from streamreasoner import Reasoner, Term, Update
from streamreasoner.errors import ProgramError
from streamreasoner.program.checked import check_source

RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def test_a_rule_may_make_a_uuid_for_each_solution():
    """UUID() and STRUUID() derive a name for each target, the same whenever it is there."""
    shapes = f"""{PREFIXES} ex:S a sh:NodeShape ; sh:targetClass ex:Rectangle ;
        sh:rule [ a sh:SPARQLRule ; sh:prefixes ex: ; sh:construct
            '''CONSTRUCT {{ $this ex:name ?u, ?v }} WHERE {{ $this ex:width ?w
             BIND (UUID() AS ?u) BIND (STRUUID() AS ?v) }}''' ] ."""
    reasoner = Reasoner(check_source(shapes, "shapes.ttl"))
    typed = ("<http://example.org/r>", RDF_TYPE, "<http://example.org/Rectangle>")
    width = ("<http://example.org/r>", "<http://example.org/width>", '"x"')
    facts = [Update("triple", tuple(map(Term.parse, each))) for each in (typed, width)]
    reasoner.apply(facts)
    first = found(reasoner)
    reasoner.apply([Update("triple", facts[1].args, -1)])
    assert len(found(reasoner)) == 1
    reasoner.apply([facts[1]])

    assert found(reasoner) == first
    assert len(first) == 4


def expected(shapes: str, data: rdflib.Graph) -> set[tuple[str, ...]]:
    """What pySHACL has in the end, applied until nothing is new."""
    graph, size = rdflib.Graph(), -1
    graph += data
    rules = rdflib.Graph().parse(data=PREFIXES + shapes, format="turtle")
    while len(graph) != size:
        size = len(graph)
        more = pyshacl.shacl_rules(graph, shacl_graph=rules, advanced=True, iterate_rules=True)
        graph = rdflib.Graph()
        for triple in more.triples((None, None, None)):
            graph.add(triple[:3])
    return terms(graph)


def terms(graph: rdflib.Graph) -> set[tuple[str, ...]]:
    """The triples as texts."""
    return {tuple(map(str, triple)) for triple in graph}


def term(node: rdflib.term.Node) -> Term:
    """A term of the data, whose literals are integers."""
    line = f"<urn:s> <urn:p> {node.n3()} ."
    (quad,) = pyoxigraph.parse(line, format=pyoxigraph.RdfFormat.TURTLE)
    return Term.parse(str(quad.object))


def found(reasoner: Reasoner) -> set[tuple[str, ...]]:
    """The triples that are present, as texts."""
    return {tuple(map(str, fact)) for fact in reasoner.facts()}


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=[*SHAPES])
def test_rules_derive_what_pyshacl_derives_one_triple_at_a_time(shapes: str) -> None:
    """After each triple that is added, and each that is removed, both have the same triples."""
    data = rdflib.Graph().parse(data=DATA, format="turtle")
    triples = sorted(data)
    Random(7).shuffle(triples)
    reasoner = Reasoner(check_source(PREFIXES + shapes, "shapes.ttl"))
    now = rdflib.Graph()
    for number, triple in enumerate([*triples, *triples]):
        if number < len(triples):
            now.add(triple)
        else:
            now.remove(triple)
        sign = 1 if number < len(triples) else -1
        reasoner.apply([Update.triple(*map(term, triple), multiplicity=sign)])
        assert found(reasoner) == expected(shapes, now)


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_states_are_those_from_scratch(shapes: str) -> None:
    """Also multiplicities by iteration, while triples come one at a time, and go."""
    program = check_source(PREFIXES + shapes, "shapes.ttl")
    rows = [quad_row(each) for each in pyoxigraph.parse(DATA, format=pyoxigraph.RdfFormat.TURTLE)]
    replay(lambda store: Reasoner(program, store=store), rows, shapes)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            f"sh:rule [ {TRIPLE} ; sh:object [ ex:sum ( 1 2 ) ] ]",
            "the node expression with <http://example.org/sum> is not supported",
        ),
        ("sh:rule [ a sh:JSRule ]", "the rule of the type sh:JSRule is not supported"),
        (
            f"sh:rule [ {TRIPLE} ; sh:object 1 ; sh:conditon ex:C ]",
            "SHACL has no property sh:conditon",
        ),
        (
            (
                f"sh:rule [ {TRIPLE} ; sh:object 1 ] . "
                "ex: sh:entailment <http://www.w3.org/ns/entailment/RDFS>"
            ),
            "the entailment regime <http://www.w3.org/ns/entailment/RDFS> is not evaluated",
        ),
        (
            (
                "sh:rule [ a sh:SPARQLRule ; sh:prefixes ex: ; sh:construct "
                "'CONSTRUCT { $this ex:d ?x } WHERE { $this ex:p ?w BIND (ex:f(?w) AS ?x) }' ]"
            ),
            "write the expression that it computes",
        ),
        (
            "sh:rule [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate ex:p ]",
            "0 values of sh:object",
        ),
        (
            f"""sh:rule [ {TRIPLE} ; sh:object 1 ; sh:order 2 ] ; sh:rule [ a sh:SPARQLRule ;
                sh:order 1 ; sh:construct '''PREFIX ex: <http://example.org/>
                CONSTRUCT {{ $this ex:none true }}
                WHERE {{ FILTER NOT EXISTS {{ $this ex:derived ?x }} }}''' ]""",
            "comes before S_rule (<rules>.ttl",
        ),
        (
            f"""sh:order 2 ; sh:rule [ {TRIPLE} ; sh:object 1 ] .
            ex:T a sh:NodeShape ; sh:targetClass ex:C ; sh:order 1 ; sh:rule [ a sh:SPARQLRule ;
                sh:construct '''PREFIX ex: <http://example.org/>
                CONSTRUCT {{ $this ex:none true }}
                WHERE {{ FILTER NOT EXISTS {{ $this ex:derived ?x }} }}''' ]""",
            "the rule T_rule comes before S_rule",
        ),
    ],
)
def test_what_is_not_supported_is_refused_by_name(shapes: str, message: str) -> None:
    """The diagnostic names the expression, the type, the property or the order."""
    text = f"{PREFIXES} ex:S a sh:NodeShape ; sh:targetClass ex:C ; {shapes} ."
    with pytest.raises(ProgramError, match=r".") as caught:
        check_source(text, "<rules>.ttl")
    assert message in str(caught.value)


def test_an_order_that_strata_give_is_accepted() -> None:
    """A rule that negates what an earlier one derives comes after it anyway."""
    text = (
        f"{PREFIXES} ex:S a sh:NodeShape ; sh:targetClass ex:C ; sh:rule [ {TRIPLE} ; sh:object 1 ;"
        " sh:order 1 ] ; sh:rule [ a sh:SPARQLRule ; sh:order 2 ; sh:construct "
        '"PREFIX ex: <http://example.org/> CONSTRUCT { $this ex:none true } '
        'WHERE { FILTER NOT EXISTS { $this ex:derived ?x } }" ] .'
    )
    assert len(check_source(text, "shapes.ttl").rules) > 1


def test_rules_are_named_after_their_iri_or_their_shape() -> None:
    """Explanations show the name of a rule."""
    text = f"""{PREFIXES} ex:r {TRIPLE} ; sh:object 2 .
        ex:S a sh:NodeShape ; sh:targetNode ex:a ; sh:rule ex:r, [ {TRIPLE} ; sh:object 1 ] ."""
    (program,) = check_source(text, "shapes.ttl").programs
    names = {rule.name for rule in program.rules if rule.head.predicate == "triple"}
    assert names == {"http://example.org/S", "http://example.org/r"}


@pytest.mark.parametrize("prefix", ["sh:filterShape", "shnex:filterShape"])
def test_a_shape_may_be_named_by_a_filter_alone(prefix: str) -> None:
    """A filter by a shape keeps the nodes that conform, in both vocabularies."""
    nodes = prefix.replace("filterShape", "nodes")
    text = f"""{PREFIXES} @prefix shnex: <http://www.w3.org/ns/shnex#> .
        ex:S a sh:NodeShape ; sh:targetNode ex:a ; sh:rule [ {TRIPLE} ;
            sh:object [ {prefix} ex:Red ; {nodes} [ sh:path ex:also ] ] ] .
        ex:Red sh:or ( [ sh:property [ sh:path ex:tag ; sh:hasValue ex:red ] ] ) ."""
    reasoner = Reasoner(check_source(text, "shapes.ttl"))
    data = rdflib.Graph().parse(data=DATA, format="turtle")
    reasoner.apply([Update.triple(*map(term, triple)) for triple in data])
    derived = {each for each in found(reasoner) if each[1] == "http://example.org/derived"}
    assert derived == {
        ("http://example.org/a", "http://example.org/derived", "http://example.org/c")
    }


def test_an_unknown_shape_that_a_filter_names_filters_nothing() -> None:
    """A shape without a description has no conditions."""
    text = f"""{PREFIXES} @prefix shnex: <http://www.w3.org/ns/shnex#> .
        ex:S a sh:NodeShape ; sh:targetNode ex:a ; sh:rule [ {TRIPLE} ;
            sh:object [ shnex:filterShape ex:Nothing ; shnex:nodes ex:b ] ] ."""
    reasoner = Reasoner(check_source(text, "shapes.ttl"))
    assert len(found(reasoner)) == 1
