"""Texts of rules, shapes, queries, updates: accepted for good, or refused with diagnostics."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from fuzz.target import ACCEPTED

from streamreasoner import rulesets
from streamreasoner.errors import ProgramError
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.checked import check_source
from streamreasoner.program.edit import canonical_program
from streamreasoner.sparql.parse import parse_update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.program.checked import CheckedProgram

_TESTS = Path(__file__).parents[1]
_LONGEST_SEED = 2_000
_QUOTED = re.compile(r"`[^`]*`|'.*'|<[^>]*>|_:\S+|\?\w+")
_CODE = re.compile(r"SR\d{3}")
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://e/> .
"""
_PARAMETERS = (
    *(
        "sh:minCount 1",
        "sh:maxCount 2",
        "sh:datatype xsd:integer",
        "sh:class ex:C",
        "sh:nodeKind sh:IRI",
    ),
    *("sh:minLength 1", 'sh:pattern "^A" ; sh:flags "i"', "sh:in ( ex:a 1 )", "sh:hasValue ex:a"),
    *(
        "sh:minInclusive 0",
        "sh:node ex:Other",
        "sh:equals ex:q",
        "sh:lessThan ex:q",
        "sh:not ex:Other",
    ),
    *(
        'sh:message "bad {$value}"',
        "sh:severity sh:Warning",
        "sh:closed true",
        "sh:uniqueLang true",
    ),
    *("sh:or ( ex:Other [ sh:minLength 2 ] )", 'sh:languageIn ( "en" )', "sh:deactivated true"),
    *(
        "sh:qualifiedValueShape ex:Other ; sh:qualifiedMinCount 1",
        "sh:xone ( ex:Other [ sh:disjoint ex:p ] )",
        "sh:sparql [ sh:select 'SELECT $this ?value { $this $PATH ?value }' ]",
        "sh:sparql [ sh:select 'SELECT $this { FILTER NOT EXISTS { $this <http://e/p>* ?x } }' ]",
        "ex:size 3",
    ),
)
_QUERY = """PREFIX ex: <http://e/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
_SELECTS = (
    "SELECT ?x { ?x ex:p ?y }",
    "SELECT * { ex:a ex:p + ?y }",
    "SELECT ( SUM( ?y ) AS ?n ) { ?x ex:p ?y }",
    "ASK { ?x ex:p ?y FILTER ( strlen( ?y ) > 2 ) }",
    'SELECT * WHERE { ?x ex:p ?y ; ex:q [ ex:r 1.5 , "a"@en ] . FILTER ( ?y > 1 || ! ?y ) }',
    "SELECT DISTINCT ?x { ?x ex:p / ^ ex:q * ?y OPTIONAL { ?y ( ex:r | ! ex:p ) + ?z } }",
    "SELECT ?x ( COUNT( * ) AS ?n ) { ?x a ?y } GROUP BY ?x HAVING ( COUNT( DISTINCT ?y ) > 1 )",
    "ASK { { ?x ex:p ?y } UNION { VALUES ( ?x ?y ) { ( 1 UNDEF ) } } MINUS { ?x ex:q ?y } }",
    "CONSTRUCT { ?x ex:p [ ex:q ?y ] } WHERE { GRAPH ?g { ?x ex:p ?y } BIND ( ?y + 1 AS ?z ) }",
    "SELECT ?x { ?x ex:p ?y FILTER NOT EXISTS { ?y ex:q ?x } { SELECT ?y { ?y ex:r ?w } } }",
    "SELECT ?x FROM NAMED WINDOW ex:w ON ex:s [ RANGE PT1M ] { WINDOW ex:w { ?x ?p ?y } }",
    "SELECT ?x { ?x ex:p ?y FILTER ( regex( ?y , 'a' , 'i' ) && xsd:integer( ?y ) IN ( 1 , 2 ) ) }",
    "VERSION '1.2' SELECT * { ?s ex:p ?o ~ ?r {| ex:q << ?o a <<( ?s ?p 'x'@en--ltr )>> ~ >> |} }",
    "CONSTRUCT { << ?s ex:z ?o >> ex:q 1 } { ?s ex:p + <<( ?a ?b <<( _:c a ?o )>> )>> }",
    "ASK { ?s ?p ?o FILTER ( <<( ?s ex:p 1 )>> = ?o || isTRIPLE( TRIPLE( ?s , ?p , ?o ) ) ) }",
    "SELECT * { VALUES ( ?t ) { ( <<( ex:a a <<( ex:b a 1 )>> )>> ) } ?s ?p ?t ~ ex:r ~ }",
)
_BROKEN = ("SELECT ?x { ?x ex:p }", "SELECT ?x { ?x ex:p ?y } ORDER BY ?y", "DESCRIBE ex:a", "{")
_UPDATES = (
    "INSERT DATA { ex:a ex:p 1 , _:b . GRAPH ex:g { _:b ex:q [ ex:r -1.5 ] } } ;",
    "DELETE DATA { GRAPH ex:g { ex:a ex:p ( 1 'x'@en ) } }",
    "DELETE DATA { ex:a ex:p 1 . ex:b ex:p 2 } ; INSERT DATA { }",
    "DELETE WHERE { ?s ex:p ?o . GRAPH ?g { ?s ?p ?o } }",
    "INSERT DATA { ex:a ex:p 1 {| ex:q <<( _:b ex:r 'x'@en--ltr )>> |} ~ ex:r . << ex:a a _:b >> }",
    "DELETE { ?s ex:p ?o ~ ?r } INSERT { << ?s ?p [ ] >> ex:q ?r } WHERE { << ?s ?p ?o ~ ?r >> }",
    "WITH ex:g DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } USING ex:u WHERE { ?s ?p ?o FILTER ( ?o ) }",
    "INSERT { GRAPH ?g { ?s ?p _:b } } USING NAMED ex:u WHERE { GRAPH ?g { ?s ?p ?o } }",
    "LOAD SILENT ex:f INTO GRAPH ex:g ; CLEAR DEFAULT ; DROP SILENT NAMED ; CREATE GRAPH ex:g",
    "COPY DEFAULT TO ex:g ; MOVE SILENT GRAPH ex:g TO DEFAULT ; ADD ex:a TO ex:b ; CLEAR ALL",
)
_PATHS = (
    *("ex:p", "[ sh:inversePath ex:p ]", "( ex:p ex:q )", "[ sh:zeroOrMorePath ex:p ]"),
    "( ex:p [ sh:alternativePath ( ex:q [ sh:zeroOrOnePath ex:p ] ) ] [ sh:oneOrMorePath ex:q ] )",
)


class Programs:
    """Texts of one kind; see `Target`."""

    batch = 20
    source: ClassVar[str]

    def check(self, inputs: Sequence[bytes]) -> list[str]:
        """See `Target`."""
        return [self._outcome(data.decode("utf-8", "replace")) for data in inputs]

    def _outcome(self, text: str) -> str:
        try:
            checked = check_source(text, self.source)
        except ProgramError as error:
            return self._refused(error, text)
        check_accepted(checked)
        kinds = {type(each).__name__ for rule in checked.rules for each in rule.body}
        size = min(len(checked.rules), 4), min(len(checked.strata), 3), len(checked.expiries)
        return f"{ACCEPTED}{sorted(kinds)} {size} {bool(checked.constraints)}"

    def _refused(self, refusal: ProgramError, text: str) -> str:
        """The codes of the diagnostics, each of which is at a place of the text."""
        assert refusal.diagnostics
        str(refusal).encode()
        for each in refusal.diagnostics:
            if each.span.source == self.source:
                assert 0 <= each.span.start <= each.span.end <= len(text) + 1, each
        return " ".join(sorted({*_CODE.findall(str(refusal))}))


def check_accepted(checked: CheckedProgram) -> None:
    """A program can be lowered, and its canonical text is the same program."""
    plan = lower(checked)
    again = canonical_program(checked, "again")
    assert again.hash == checked.hash
    assert lower(again).arities == plan.arities


class Rules(Programs):
    """Texts in the rule language."""

    source = "fuzz.dl"

    def __init__(self) -> None:
        paths = [*_TESTS.glob("programs/*/program.dl"), *_TESTS.glob("diagnostics/*.dl")]
        texts = [path.read_bytes() for path in sorted(paths)]
        texts += [rulesets.text(name).encode() for name in rulesets.names()]
        self.seeds = [text for text in texts if len(text) < _LONGEST_SEED]
        self.tokens = [
            *(
                b"?x",
                b"?y",
                b"_",
                b":- ",
                b" .\n",
                b", ",
                b"not ",
                b"!",
                b"a",
                b"[?s, ?p, ?o]",
                b"p(?x)",
            ),
            *(
                b"count(?x)",
                b"min(?x)",
                b"sum(?x)",
                b"avg(?x)",
                b"count(distinct ?x)",
                b"?z = ?x + 1",
            ),
            *(
                b"?x < ?y",
                b"?x != ?y",
                b'matches(?x, "a*")',
                b"skolem(?x)",
                b"strlen(?x)",
                b"( ",
                b" ; ",
            ),
            *(b"@prefix e: <http://e/> .\n", b"@input p/1 .\n", b"@output p .\n", b"@hidden p .\n"),
            *(
                b'@expires p/1 after "PT1H" .\n',
                b'@message p(?x) "{?x}" .\n',
                b"@columns p(?x) .\n",
                b"@import ",
                b'"rdfs" .',
            ),
            *(
                b'"x"@en',
                b'"1"^^<http://www.w3.org/2001/XMLSchema#integer>',
                b"1.5e3",
                b"<http://e/a>",
            ),
        ]


class Shapes(Programs):
    """Graphs of shapes in Turtle."""

    source = "fuzz.ttl"

    def __init__(self) -> None:
        texts = [
            f"{SHAPES}ex:S sh:targetClass ex:C ; sh:property [ sh:path {path} ; {parameter} ] .\n"
            f"ex:Other sh:nodeKind sh:IRI .\n"
            for path in _PATHS
            for parameter in _PARAMETERS
        ]
        texts += [f"{SHAPES}ex:S sh:targetSubjectsOf ex:p ; {each} ." for each in _PARAMETERS]
        component = (
            "ex:Sized a sh:ConstraintComponent ; sh:parameter [ sh:path ex:size ] ;"
            " sh:validator [ sh:ask 'ASK { FILTER (strlen(str($value)) < $size) }' ] .\n"
        )
        texts += [f"{text}{component}" for text in texts if "ex:size" in text]
        self.seeds = [text.encode() for text in texts]
        self.seeds += [
            path.read_bytes() for path in sorted(_TESTS.glob("diagnostics/imported/*.ttl"))
        ]
        self.tokens = [
            *(
                f" {each} ;".encode()
                for each in (*_PARAMETERS, "sh:path ex:p", "sh:targetNode ex:a")
            ),
            *(
                f" {each} ".encode()
                for each in (*_PATHS, "[ ]", "( )", "_:b", "ex:S", "sh:property")
            ),
        ]


class Queries(Programs):
    """Queries in SPARQL."""

    source = "fuzz.rq"

    def __init__(self) -> None:
        self.seeds = [f"{_QUERY}{each}".encode() for each in (*_SELECTS, *_BROKEN)]
        words = " ".join(_SELECTS).split()
        self.tokens = [f" {each} ".encode() for each in dict.fromkeys(words)]


class Updates(Programs):
    """Requests in SPARQL Update, which are read only."""

    source = "fuzz.ru"

    def __init__(self) -> None:
        self.seeds = [f"{_QUERY}{each}".encode() for each in _UPDATES]
        words = " ".join(_UPDATES).split()
        self.tokens = [f" {each} ".encode() for each in dict.fromkeys(words)]

    def _outcome(self, text: str) -> str:
        try:
            found = parse_update(text, self.source)
        except ProgramError as error:
            self._refused(error, text)
            return _QUOTED.sub("", error.diagnostics[0].message)
        return f"{ACCEPTED}{sorted({type(each).__name__ for each in found.operations})}"
