"""Entailment: of graphs by rulesets, and queries over what a graph entails."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import owlrl
import rdflib
from pyoxigraph import parse

from conformance.datasets import FORMATS, Dataset, quad_row, rdflib_dataset, reasoner
from conformance.manifest import MF, QT, entries
from conformance.outcome import OURS, Case, WrongError
from conformance.queries import dataset_of, rdflib_answer, reasoner_answer
from conformance.results import read_expected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conformance.manifest import Entry

_SD = "http://www.w3.org/ns/sparql-service-description#"
_RDF_RULES = """
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@rule "rdfD2" [?p, a, rdf:Property] :- [_, ?p, _] .
"""
_RDFS_RULES = '@import "rdfs-axioms" .'
_DATATYPES = '@import "rdfs-datatypes" .'
_OWL_RULES = "owl-rl"
_PEER = "owlrl"


def graph_cases(suite: str, manifest: Path) -> Iterator[Case]:
    """The cases of "RDF 1.1 Semantics"."""
    for entry in entries(manifest):
        holds = entry.kind == "PositiveEntailmentTest"
        if holds or entry.kind == "NegativeEntailmentTest":
            regime = entry.text(MF + "entailmentRegime").upper()
            known = [*entry.members(MF + "recognizedDatatypes")]
            rules = {"SIMPLE": "", "RDF": _RDF_RULES, "RDFS": _RDFS_RULES}[regime]
            # The tests of values are tests of datatypes, whatever regime they name.
            ours = f"{_RDFS_RULES}\n{_DATATYPES}" if known and regime != "SIMPLE" else rules
            yield Case(
                f"{suite}: {'RDF and simple' if regime != 'RDFS' else regime} entailment",
                entry.name,
                {
                    OURS: partial(_entails, entry, ours, holds=holds),
                    _PEER: partial(_peer_entails, entry, regime, holds=holds),
                },
                entry.test,
            )


def query_cases(suite: str, manifest: Path) -> Iterator[Case]:
    """Queries under RDF and RDFS, and under OWL within the profile RL."""
    for entry in entries(manifest):
        action = entry.part(MF + "action")
        if entry.kind != "QueryEvaluationTest" or action is None:
            continue
        regimes = _names(action, "entailmentRegime")
        if "RDFS" in regimes:
            yield _query(f"{suite}: queries under RDFS", entry, action, _RDFS_RULES)
        elif "RDF" in regimes:
            yield _query(f"{suite}: queries under RDF", entry, action, _RDF_RULES)
        elif regimes and "RL" in _names(action, "EntailmentProfile"):
            yield _query(f"{suite}: queries under OWL 2 RL", entry, action, _OWL_RULES)


def _entails(entry: Entry, rules: str, *, holds: bool) -> None:
    graph, result = entry.file(MF + "action"), entry.file(MF + "result")
    assert graph is not None
    closure = reasoner(Dataset((graph,)), rules)
    entailed = bool(closure.program.constraints) and bool(closure.violations())
    if not entailed and result is not None:
        entailed = bool(closure.query(_pattern(result)))
    _check(holds=holds, entailed=entailed)


def _peer_entails(entry: Entry, regime: str, *, holds: bool) -> None:
    graph, result = entry.file(MF + "action"), entry.file(MF + "result")
    assert graph is not None
    closure = rdflib_dataset(Dataset((graph,))).default_graph
    if regime != "SIMPLE":
        _expand(closure, _RDFS_RULES)
    entailed = (None, rdflib.RDF.type, _ERROR) in closure
    if not entailed and result is not None:
        entailed = bool(closure.query(_pattern(result)).askAnswer)
    _check(holds=holds, entailed=entailed)


def _check(*, holds: bool, entailed: bool) -> None:
    if holds != entailed:
        raise WrongError("entailed" if entailed else "not entailed")


def _pattern(path: Path) -> str:
    """A graph as a question, in which its blank nodes are variables."""
    triples = parse(path=path, format=FORMATS[path.suffix], base_iri=path.as_uri())
    return f"ASK {{ {' '.join(f'{s} {p} {o} .' for s, p, o in map(quad_row, triples))} }}"


def _query(suite: str, entry: Entry, action: Entry, rules: str) -> Case:
    query, result = action.file(QT + "query"), entry.file(MF + "result")
    assert query is not None
    assert result is not None
    text, base = query.read_bytes().decode(), query.as_uri()
    data = dataset_of(action, text, query)

    def ours() -> None:
        answer = reasoner_answer(reasoner(data, rules), text, base).by_value()
        read_expected(result).by_value().check(answer)

    def peer() -> None:
        closure = rdflib_dataset(data)
        _expand(closure.default_graph, rules)
        answer = rdflib_answer(closure, text, base).by_value()
        read_expected(result).by_value().check(answer)

    return Case(suite, entry.name, {OURS: ours, _PEER: peer}, entry.test)


_ERROR = rdflib.URIRef("http://www.daml.org/2002/03/agents/agent-ont#ErrorMessage")


def _expand(graph: rdflib.Graph, rules: str) -> None:
    semantics = owlrl.OWLRL_Semantics if rules == _OWL_RULES else owlrl.RDFS_Semantics
    owlrl.DeductiveClosure(semantics, axiomatic_triples=True).expand(graph)


def _names(action: Entry, predicate: str) -> set[str]:
    """The local names of a value, or of the members of a list."""
    found = [action.text(_SD + predicate)]
    found += [str(each.node.value) for each in action.members(_SD + predicate)]
    return {each.rpartition("/")[2] for each in found}
