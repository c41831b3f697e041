"""OWL 2 RL, read from the tables of its specification and evaluated naively, over sets of triples.

Shares nothing with the ruleset: rules with a fixed number of premises are lines of a text
(`tests/rulesets/owl_rl/rules.txt`), those over lists are functions here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import combinations, product
from pathlib import Path

TABLES = Path(__file__).parents[1] / "rulesets/owl_rl/rules.txt"
NAMESPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
ANNOTATIONS = [
    "rdfs:label",
    "rdfs:comment",
    "rdfs:seeAlso",
    "rdfs:isDefinedBy",
    "owl:deprecated",
    "owl:versionInfo",
    "owl:priorVersion",
    "owl:backwardCompatibleWith",
    "owl:incompatibleWith",
]


def term(text):
    """A variable as it is; a name, or a number of a cardinality, as N-Triples."""
    if text.startswith("?"):
        return text
    if text.isdigit():
        return f'"{text}"^^<{NAMESPACES["xsd"]}nonNegativeInteger>'
    prefix, _, name = ("rdf:type" if text == "a" else text).partition(":")
    return f"<{NAMESPACES[prefix]}{name}>"


def _triples(text):
    return [tuple(map(term, each.split())) for each in text.split(", ")]


TYPE, SAME, FIRST, REST, NIL = map(
    term, ("rdf:type", "owl:sameAs", "rdf:first", "rdf:rest", "rdf:nil")
)
RULES = [
    (name, _triples(body), None if head == "false" else _triples(head)[0])
    for name, body, head in (
        re.fullmatch(r"(.*): (.*) -> (.*)", line).groups()
        for line in TABLES.read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    )
]
AXIOMS = {
    *((term(each), TYPE, term("owl:AnnotationProperty")) for each in ANNOTATIONS),
    (term("owl:Thing"), TYPE, term("owl:Class")),
    (term("owl:Nothing"), TYPE, term("owl:Class")),
}


class Graph(set):
    """Triples, indexed by what a pattern knows of them."""

    def __init__(self, triples):
        super().__init__(triples)
        self._index = defaultdict(list)
        for triple in self:
            for known in product(*((each, None) for each in triple)):
                self._index[known].append(triple)

    def get(self, s, p, o):
        """The triples with these terms; None is any."""
        return self._index.get((s, p, o), [])

    def objects(self, p):
        """(subject, object) of the triples of a property, by its short name."""
        return [(s, o) for s, _, o in self.get(None, term(p), None)]

    def lists(self, node, seen=()):
        """The elements of each list that begins at a node: LIST[node, e1, ..., en]."""
        if node == NIL:
            yield ()
        elif node not in seen:
            for _, _, first in self.get(node, FIRST, None):
                for _, _, rest in self.get(node, REST, None):
                    for others in self.lists(rest, (*seen, node)):
                        yield (first, *others)

    def matches(self, body, row=None):
        """The bindings of the variables of a body."""
        row = row or {}
        if not body:
            yield row
            return
        known = [row.get(each, None if each.startswith("?") else each) for each in body[0]]
        for triple in self.get(*known):
            extended = dict(row)
            if all(
                extended.setdefault(each, value) == value
                for each, value in zip(body[0], triple, strict=True)
            ):
                yield from self.matches(body[1:], extended)


def closure(triples):
    """The triples that follow, eq-ref included, and the names of the rules that derive false."""
    graph, false = Graph(AXIOMS | set(triples)), set()
    while True:
        derived = {(each, SAME, each) for triple in graph for each in triple}
        for name, body, head in RULES:
            for row in graph.matches(body):
                if head is None:
                    false.add(name)
                else:
                    derived.add(tuple(row.get(each, each) for each in head))
        for name, head in _over_lists(graph):
            if head is None:
                false.add(name)
            else:
                derived.add(head)
        if derived <= graph:
            return set(graph), false
        graph = Graph(graph | derived)


def _over_lists(graph):  # noqa: C901, PLR0912 - one branch for each rule of the tables
    """(name, triple), or (name, None) for false: what the rules with a LIST derive."""
    for rule, members in (("eq-diff2", "owl:members"), ("eq-diff3", "owl:distinctMembers")):
        for _, elements in _listed(graph, members, "owl:AllDifferent"):
            if any(graph.get(y, SAME, z) for y, z in combinations(elements, 2)):
                yield rule, None
    for p, elements in _listed(graph, "owl:propertyChainAxiom"):
        for row in graph.matches([(f"?{i}", q, f"?{i + 1}") for i, q in enumerate(elements)]):
            if elements:
                yield "prp-spo2", (row["?0"], p, row[f"?{len(elements)}"])
    for _, elements in _listed(graph, "owl:members", "owl:AllDisjointProperties"):
        for p, q in combinations(elements, 2):
            if any(True for _ in graph.matches([("?x", p, "?y"), ("?x", q, "?y")])):
                yield "prp-adp", None
    for c, elements in _listed(graph, "owl:hasKey"):
        keys = [(s, p, f"?{i}") for i, p in enumerate(elements) for s in ("?x", "?y")]
        for row in graph.matches([("?x", TYPE, c), ("?y", TYPE, c), *keys]):
            if elements:
                yield "prp-key", (row["?x"], SAME, row["?y"])
    for c, elements in _listed(graph, "owl:intersectionOf"):
        for row in graph.matches([("?x", TYPE, d) for d in elements]):
            if elements:
                yield "cls-int1", (row["?x"], TYPE, c)
        for d in elements:
            yield "scm-int", (c, term("rdfs:subClassOf"), d)
            yield from (("cls-int2", (x, TYPE, d)) for x, _, _ in graph.get(None, TYPE, c))
    for c, elements in _listed(graph, "owl:unionOf"):
        for d in elements:
            yield "scm-uni", (d, term("rdfs:subClassOf"), c)
            yield from (("cls-uni", (x, TYPE, c)) for x, _, _ in graph.get(None, TYPE, d))
    for c, elements in _listed(graph, "owl:oneOf"):
        yield from (("cls-oo", (x, TYPE, c)) for x in elements)
    for _, elements in _listed(graph, "owl:members", "owl:AllDisjointClasses"):
        for c, d in combinations(elements, 2):
            if any(True for _ in graph.matches([("?x", TYPE, c), ("?x", TYPE, d)])):
                yield "cax-adc", None


def _listed(graph, axiom, kind=None):
    """The subjects of an axiom, of a kind if it is given, with the elements of its lists."""
    for x, node in graph.objects(axiom):
        if kind is None or graph.get(x, TYPE, term(kind)):
            yield from ((x, elements) for elements in graph.lists(node))
