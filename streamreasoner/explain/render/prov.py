"""A proof as RDF 1.2, in Turtle, with PROV-O. Invariant: a fact has one IRI, in every document.

    <urn:streamreasoner:fact:…> rdf:reifies <<( ex:a rdf:type ex:B )>> ;
        prov:wasDerivedFrom <urn:streamreasoner:fact:…> ;
        sh:sourceRule <urn:streamreasoner:rule:…> .

These IRIs are hashes of facts and rules, so documents can be merged. A rule that is named by an IRI
keeps it. A fact that is not a triple of RDF has its predicate and arguments in place of a triple.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from streamreasoner.errors import DataError
from streamreasoner.explain.proof import Absent, Aggregation, Derivation, Proved
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.program.graphs.annotations import rule_iri
from streamreasoner.rdf.minted import fact_iri
from streamreasoner.rdf.term_kind import is_iri, is_resource
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.triple_terms import triple_term
from streamreasoner.rdf.version import VERSION
from streamreasoner.rdf.vocabulary import RDF, RDFS, SH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from streamreasoner.explain.proof import Proof, ProofStep
    from streamreasoner.explain.render.prefixed import ExplanationPrinter
    from streamreasoner.facts import Fact
    from streamreasoner.lang.ast import Rule

_HEADER = f"""{VERSION}PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdf: <{RDF}>
PREFIX rdfs: <{RDFS}>
PREFIX sh: <{SH}>
PREFIX sr: <urn:streamreasoner:>
"""


def proof_prov(proof: Proof, printer: ExplanationPrinter) -> str:
    """The steps of a proof, then the rules that they name."""
    names = [fact_iri(step.fact.predicate, step.fact.arguments) for step in proof.steps]
    rules: dict[str, Rule] = {}
    parts = [_HEADER]
    for name, step in zip(names, proof.steps, strict=True):
        parts.append(_described(name, _of_step(step, names, rules, printer)))
    parts += (_described(name, _of_rule(rule, printer)) for name, rule in rules.items())
    return "\n".join(parts)


def facts_prov(proofs: Iterable[Proof], printer: ExplanationPrinter) -> Iterator[str]:
    """The first step of each proof, then the rules that they name, part by part."""
    rules: dict[str, Rule] = {}
    yield _HEADER
    for proof in proofs:
        names = [fact_iri(step.fact.predicate, step.fact.arguments) for step in proof.steps]
        yield "\n" + _described(names[0], _of_step(proof.steps[0], names, rules, printer))
    for name, rule in rules.items():
        yield "\n" + _described(name, _of_rule(rule, printer))


def no_prov(fact: str) -> DataError:
    """The error for an absent fact."""
    return DataError(
        f"{fact} is not present, so nothing has derived it. Ask for text or json, which say what is"
        " missing."
    )


def _described(name: str, pairs: Iterable[tuple[str, str]]) -> str:
    lines = " ;\n".join(f"    {predicate} {objects}" for predicate, objects in pairs)
    return f"{name}\n{lines} .\n"


def _of_step(
    step: ProofStep, names: list[str], rules: dict[str, Rule], printer: ExplanationPrinter
) -> Iterator[tuple[str, str]]:
    """The predicates and objects of a fact; adds the rules that derive it."""
    yield "a", "prov:Entity"
    yield from _of_fact(step.fact)
    if step.asserted:
        yield "sr:asserted", str(step.asserted)
    if step.stated is not None:
        yield "sr:statedAt", to_ntriples(step.stated.place)
    match step.why:
        case Derivation() as derivation:
            yield from _of_derivations((derivation,), names, rules, printer)
        case Aggregation(_, matches, total):
            yield "sr:matches", str(total)
            yield from _of_derivations(matches, names, rules, printer)
        case None:
            pass
    if step.cut:
        yield "sr:cut", "true"


def _of_fact(fact: Fact) -> Iterator[tuple[str, str]]:
    if fact.predicate == TRIPLE and _is_rdf(*fact.arguments):
        subject, predicate, value = fact.arguments
        yield "rdf:reifies", triple_term(subject, predicate, value)
    else:
        yield "sr:predicate", to_ntriples(fact.predicate)
        yield "sr:arguments", f"( {''.join(f'{each} ' for each in fact.arguments)})"


def _of_derivations(
    derivations: Sequence[Derivation],
    names: list[str],
    rules: dict[str, Rule],
    printer: ExplanationPrinter,
) -> Iterator[tuple[str, str]]:
    premises = [*chain.from_iterable(each.premises for each in derivations)]
    steps = dict.fromkeys(each.step for each in premises if isinstance(each, Proved))
    if steps:
        yield "prov:wasDerivedFrom", ", ".join(names[step] for step in steps)
    absent = dict.fromkeys(printer.part(each.atom) for each in premises if isinstance(each, Absent))
    if absent:
        yield "sr:absent", ", ".join(map(to_ntriples, absent))
    named = {rule_iri(each.rule): each.rule for each in derivations}
    rules |= {name: rule for name, rule in named.items() if name not in rules}
    yield "sh:sourceRule", ", ".join(named)


def _of_rule(rule: Rule, printer: ExplanationPrinter) -> Iterator[tuple[str, str]]:
    yield "a", "sr:Rule"
    if rule.name is not None:
        yield "rdfs:label", to_ntriples(rule.name)
    yield "sr:text", to_ntriples(printer.rule(rule))
    yield "sr:place", to_ntriples(rule.span.place)


def _is_rdf(subject: str, predicate: str, _object: str) -> bool:
    return is_resource(subject) and is_iri(predicate)
