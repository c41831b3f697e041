"""Why a fact is present or absent. Invariant: every fact has one, deterministic explanation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.told_apart import APART, Written
from streamreasoner.explain.collapse import absence_without, proof_without
from streamreasoner.explain.fact import prefixes
from streamreasoner.explain.missing import AbsenceSearch
from streamreasoner.explain.proof import Limits, Proof
from streamreasoner.explain.prove import ProofSearch
from streamreasoner.explain.render.document import absence_json, proof_json
from streamreasoner.explain.render.dot import absence_dot, proof_dot
from streamreasoner.explain.render.prefixed import ExplanationPrinter
from streamreasoner.explain.render.prov import facts_prov, no_prov, proof_prov
from streamreasoner.explain.render.svg import absence_svg, proof_svg
from streamreasoner.explain.render.tree import absence_text, proof_text
from streamreasoner.explain.rule_groups import Rules
from streamreasoner.explain.store import FactIndex
from streamreasoner.plan.lower.triple_patterns import negated_patterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.explain.proof import Absence
    from streamreasoner.explain.store import FactSource, HeldFact
    from streamreasoner.facts import Fact, Terms
    from streamreasoner.program.checked import CheckedProgram


@dataclass(frozen=True, slots=True)
class Explanation:
    """A proof of a present fact, or the reasons for an absent one.

    Attributes:
        content: The proof or the reasons.
        printer: Prints it.
    """

    content: Proof | Absence
    printer: ExplanationPrinter

    @property
    def fact(self) -> Fact:
        """The fact that is explained."""
        return self.content.steps[0].fact if isinstance(self.content, Proof) else self.content.fact

    @property
    def present(self) -> bool:
        """Whether it is present."""
        return isinstance(self.content, Proof)

    def text(self) -> str:
        """A tree for people to read, with a trailing line break."""
        if isinstance(self.content, Proof):
            return proof_text(self.content, self.printer)
        return absence_text(self.content, self.printer)

    def json(self) -> str:
        """A JSON document, described in docs/explain.md."""
        if isinstance(self.content, Proof):
            return proof_json(self.content, self.printer)
        return absence_json(self.content, self.printer)

    def dot(self) -> str:
        """A graph for Graphviz."""
        if isinstance(self.content, Proof):
            return proof_dot(self.content, self.printer)
        return absence_dot(self.content, self.printer)

    def svg(self) -> str:
        """A picture for web pages and notebooks, in the colours around it."""
        if isinstance(self.content, Proof):
            return proof_svg(self.content, self.printer)
        return absence_svg(self.content, self.printer)

    def prov(self) -> str:
        """A proof as RDF 1.2 in Turtle, with the terms of PROV-O.

        Raises:
            DataError: The fact is not present.
        """
        if isinstance(self.content, Proof):
            return proof_prov(self.content, self.printer)
        raise no_prov(self.printer.fact(self.fact))

    def with_prefixes(self, prefixes: Mapping[str, str]) -> Explanation:
        """The same, with further prefixes; those of the program take precedence."""
        printer = replace(self.printer, prefixes={**prefixes, **self.printer.prefixes})
        return replace(self, printer=printer)

    def _repr_svg_(self) -> str:
        return self.svg()


def explain(
    program: CheckedProgram,
    state: FactSource,
    dictionary: Terms,
    fact: Fact,
    limits: Limits,
    *,
    hidden: bool = False,
) -> Explanation:
    """Explain a fact in the current state, which must not change meanwhile.

    Args:
        program: The program whose state this is.
        state: The engine.
        dictionary: Its terms.
        fact: A predicate of the program with as many canonical terms as it has arguments.
        limits: Limits of the proof.
        hidden: Whether to show the facts of predicates declared with `@hidden`.
    """
    left_out = frozenset[str]() if hidden else program.left_out
    rules = Rules(program)
    store = FactIndex(state, dictionary, _arities(program))
    written = Written(program.rules)
    printer = ExplanationPrinter(prefixes(program), left_out, written)

    def stored(fact: Fact) -> HeldFact | None:
        return next(iter(store.lookup(fact.predicate, dict(enumerate(fact.arguments)))), None)

    def proof(fact: Fact, row: HeldFact) -> Proof:
        return ProofSearch(rules, store, limits, left_out).prove(fact, row)

    def proof_of_present(fact: Fact) -> Proof:
        row = stored(fact)
        assert row is not None  # noqa: S101 - it is present
        return proof(fact, row)

    row = stored(fact)
    if row is not None and row.present:
        return Explanation(proof_without(left_out, proof(fact, row)), printer)
    absence = AbsenceSearch(rules, store, written).absence(fact, row)
    # What tells facts apart is shown as it is written.
    left_out = frozenset(name for name in left_out if not name.endswith(APART))
    return Explanation(absence_without(left_out, absence, proof_of_present), printer)


def provenance(
    program: CheckedProgram, state: FactSource, dictionary: Terms, facts: Iterable[Fact]
) -> Iterator[str]:
    """Where present facts come from, as RDF 1.2 in Turtle, part by part: see `Explanation.prov`.

    Args:
        program: The program whose state this is.
        state: The engine, which must not change meanwhile.
        dictionary: Its terms.
        facts: The facts, each once; a premise that is none of them is named, but not described.
    """
    rules = Rules(program)
    store = FactIndex(state, dictionary, _arities(program))
    apart = frozenset(name for name in program.helpers if name.endswith(APART))
    search = ProofSearch(rules, store, Limits(depth=1, size=None), apart)

    def proofs() -> Iterator[Proof]:
        for fact in (each for each in facts if each.predicate not in apart):
            bound = dict(enumerate(fact.arguments))
            row = next(row for row in store.lookup(fact.predicate, bound) if row.present)
            proof = search.prove(fact, row)
            yield proof_without(apart, proof) if apart else proof

    printer = ExplanationPrinter(prefixes(program), apart, Written(program.rules))
    return facts_prov(proofs(), printer)


def _arities(program: CheckedProgram) -> dict[str, int]:
    """Number of arguments of every predicate that a demand may read."""
    return {**program.arities, **program.helpers, **negated_patterns(program.rules)}
