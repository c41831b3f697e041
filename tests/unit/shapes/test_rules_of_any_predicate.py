"""Rules that ask what is absent, where others derive anything; pySHACL is the oracle.

The rules have the forms of those of ontologies of buildings: inverse properties, super-properties,
defaults, conditions, and a tag for each class.
"""

from __future__ import annotations

from random import Random

import pyshacl
import rdflib

from streamreasoner import Reasoner, Term, Update
from streamreasoner.program.checked import check_source
from streamreasoner.shapes.compile import compile_shapes
from streamreasoner.shapes.rules.tables import LEAST

PREFIXES = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix ex: <http://example.org/> .
ex: sh:declare [ sh:prefix "ex" ; sh:namespace "http://example.org/" ] ,
    [ sh:prefix "rdfs" ; sh:namespace "http://www.w3.org/2000/01/rdf-schema#" ] .
"""
CLASSES = "".join(
    f"""ex:C{n} a sh:NodeShape, rdfs:Class ; sh:rule [ a sh:TripleRule ;
        sh:subject sh:this ; sh:predicate ex:tag ; sh:object ex:t{n % 7} ] .
"""
    for n in range(LEAST + 3)
)
EARLY = f"""{PREFIXES}{CLASSES}
ex:Entity a sh:NodeShape, rdfs:Class ; sh:rule [ a sh:SPARQLRule ; sh:prefixes ex: ; sh:construct
    '''CONSTRUCT {{ $this ?q ?o }} WHERE {{ ?o ?p $this . ?q ex:inverseOf ?p }}''' ] .
ex:Sub a sh:NodeShape ; sh:targetSubjectsOf rdfs:subPropertyOf ;
    sh:rule [ a sh:SPARQLRule ; sh:prefixes ex: ; sh:construct
        '''CONSTRUCT {{ ?s ?q ?o }} WHERE {{ ?s $this ?o . $this rdfs:subPropertyOf ?q }}''' ] .
"""
LATE = """
ex:Station a sh:NodeShape, rdfs:Class ; sh:rule [ a sh:SPARQLRule ; sh:prefixes ex: ; sh:construct
    '''CONSTRUCT { $this ex:direction ex:one } WHERE {
        FILTER NOT EXISTS { $this ex:hasPart ?port . ?port ex:flow ?any } }''' ] ;
    sh:rule [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate ex:is ; sh:object ex:Simple ;
        sh:condition [ a sh:NodeShape ; sh:property [ sh:path ex:hasPart ; sh:maxCount 1 ] ] ] .
"""
DATA = """
@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:hasPart ex:inverseOf ex:isPartOf . ex:main rdfs:subPropertyOf ex:hasPart .
ex:Station rdfs:subClassOf ex:Entity . ex:C1 rdfs:subClassOf ex:C2 .
ex:a a ex:Station ; ex:main ex:p . ex:p ex:flow ex:two . ex:q ex:isPartOf ex:a .
ex:b a ex:Station . ex:r ex:isPartOf ex:b . ex:r ex:flow ex:one .
ex:c a ex:Station, ex:C1 . ex:d a ex:C30, ex:C3 . ex:s ex:isPartOf ex:c .
"""


def expected(data: rdflib.Graph) -> set[tuple[str, ...]]:
    """What pySHACL has by early rules, applied until nothing is new, and by all rules then."""
    graph = data
    for shapes in (EARLY, EARLY + LATE):
        rules = rdflib.Graph().parse(data=shapes, format="turtle")
        size = -1
        while len(graph) != size:
            size = len(graph)
            more = pyshacl.shacl_rules(graph, shacl_graph=rules, advanced=True)
            graph = rdflib.Graph()
            for triple in more.triples((None, None, None)):
                graph.add(triple[:3])
    return {tuple(map(str, triple)) for triple in graph}


def found(reasoner: Reasoner) -> set[tuple[str, ...]]:
    """The triples that are present, as texts."""
    return {tuple(map(str, fact)) for fact in reasoner.facts()}


def test_late_rules_derive_what_pyshacl_derives_after_all_others() -> None:
    """Triples, the schema among them, come and go one at a time in random order."""
    random = Random(7)
    triples = sorted(rdflib.Graph().parse(data=DATA, format="turtle"))
    random.shuffle(triples)
    steps = [(triple, 1) for triple in triples]
    random.shuffle(triples)
    steps += [(triple, -1) for triple in triples]
    reasoner = Reasoner(check_source(EARLY + LATE, "shapes.ttl"))
    now = rdflib.Graph()
    for number, (triple, sign) in enumerate(steps):
        if sign > 0:
            now.add(triple)
        else:
            now.remove(triple)
        terms = (Term.parse(node.n3()) for node in triple)
        reasoner.apply([Update.triple(*terms, multiplicity=sign)])
        if number % 5 == 0 or number == len(triples) - 1:
            assert found(reasoner) == expected(now)
    assert not found(reasoner)


def test_each_late_rule_is_named_in_a_warning() -> None:
    """A rule that asks about early facts is told, and no other."""
    (reading,) = compile_shapes({"shapes.ttl": EARLY + LATE}).readings
    told = [each.message.split()[2] for each in reading.warnings if each.code == "SR512"]
    assert told == ["Station_rule", "Station_rule_2"]


def test_rules_see_all_facts_where_there_is_no_circle() -> None:
    """Without a circle through negation nothing is early."""
    for shapes in (EARLY, PREFIXES + LATE):
        (reading,) = compile_shapes({"shapes.ttl": shapes}).readings
        assert not reading.warnings
        assert not any("early" in rule.head.predicate for rule in reading.program.rules)


def test_many_rules_that_differ_in_constants_are_one() -> None:
    """Their classes and objects are facts of a table."""
    (reading,) = compile_shapes({"shapes.ttl": EARLY}).readings
    rules = [each for each in reading.program.rules if each.head.predicate == "triple"]
    table = [each for each in reading.program.rules if each.head.predicate == "shacl_table1"]
    assert len(rules) == 3
    assert len(table) == LEAST + 3
