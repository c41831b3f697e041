"""Shapes with rules, one for each thing that rules can say, and data that they are about."""

from __future__ import annotations

PREFIXES = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix ex: <http://example.org/> .
ex: sh:declare [ sh:prefix "ex" ; sh:namespace "http://example.org/" ] .
"""
DATA = """
@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Square rdfs:subClassOf ex:Rectangle .
ex:r a ex:Rectangle ; ex:width 3 ; ex:height 4 .
ex:s a ex:Square ; ex:width 2 ; ex:height 2 ; ex:tag ex:small, ex:red .
ex:t a ex:Rectangle ; ex:width 3, 5 .
ex:a ex:part ex:b . ex:b ex:part ex:c . ex:c ex:tag ex:red . ex:a ex:also ex:b, ex:c .
"""
TRIPLE = "a sh:TripleRule ; sh:subject sh:this ; sh:predicate ex:derived"
SHAPES = {
    "constants": f"""ex:Rectangle a sh:NodeShape, rdfs:Class ;
        sh:rule [ {TRIPLE} ; sh:object ex:yes ] .""",
    "a condition about all values": f"""ex:S a sh:NodeShape ; sh:targetClass ex:Rectangle ;
        sh:rule [ {TRIPLE} ; sh:object ex:yes ;
            sh:condition [ a sh:NodeShape ;
                sh:property [ sh:path ex:width ; sh:maxCount 1 ] ] ] .""",
    "conditions that values are there": f"""
        ex:S a sh:NodeShape ; sh:targetClass ex:Rectangle ; sh:rule [ {TRIPLE} ; sh:object ex:yes ;
            sh:condition [ a sh:NodeShape ; sh:property [
                sh:path ex:tag ; sh:qualifiedMinCount 1 ;
                sh:qualifiedValueShape [ a sh:NodeShape ; sh:hasValue ex:red ] ] ] ;
            sh:condition [ a sh:NodeShape ; sh:class ex:Square ] ] .""",
    "a path": f"""ex:S a sh:NodeShape ; sh:targetSubjectsOf ex:part ;
        sh:rule [ {TRIPLE} ; sh:object [ sh:path [ sh:zeroOrMorePath ex:part ] ] ] .""",
    "a union": f"""ex:S a sh:NodeShape ; sh:targetNode ex:a, ex:b ;
        sh:rule [ {TRIPLE} ; sh:object [ sh:union ( [ sh:path ex:part ] ex:more sh:this ) ] ] .""",
    "an intersection": f"""ex:S a sh:NodeShape ; sh:targetObjectsOf ex:part ; sh:targetNode ex:a ;
        sh:rule [ {TRIPLE} ;
            sh:object [ sh:intersection ( [ sh:path ex:part ] [ sh:path ex:also ] ) ] ] .""",
    "SPARQL": """ex:S a sh:NodeShape ; sh:targetClass ex:Rectangle ;
        sh:rule [ a sh:SPARQLRule ; sh:prefixes ex: ; sh:construct
            '''CONSTRUCT { $this ex:area ?a } WHERE
             { $this ex:width ?w ; ex:height ?h . BIND (?w * ?h AS ?a) }''' ] .""",
    "SPARQL that derives what is missing": """ex:S a sh:NodeShape ; sh:targetSubjectsOf ex:part ;
        sh:rule [ a sh:SPARQLRule ; sh:prefixes ex: ; sh:construct
            '''CONSTRUCT { $this ex:part ?z } WHERE
             { $this ex:part/ex:part ?z FILTER NOT EXISTS { $this ex:part ?z } }''' ] .""",
    "recursion": f"""ex:S a sh:NodeShape ; sh:targetSubjectsOf ex:part ; sh:rule [ {TRIPLE} ;
            sh:object [ sh:path ex:part ] ] ;
        sh:rule [ {TRIPLE} ; sh:object [ sh:path ( ex:part ex:derived ) ] ] .""",
    "targets in SPARQL": f"""ex:S a sh:NodeShape ;
        sh:target [ a sh:SPARQLTarget ; sh:prefixes ex: ;
            sh:select "SELECT ?this WHERE {{ ?this ex:tag ex:red }}" ] ;
        sh:rule [ {TRIPLE} ; sh:object ex:yes ] .""",
    "what is off": f"""ex:S a sh:NodeShape ; sh:targetClass ex:Rectangle ;
        sh:rule [ {TRIPLE} ; sh:object ex:yes ; sh:deactivated true ] .""",
}
