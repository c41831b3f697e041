"""An explanation as JSON. Invariant: terms are canonical N-Triples; `text` uses prefixes.

docs/explain.md describes the schema.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from streamreasoner.explain.proof import (
    Absent,
    Aggregation,
    Derivation,
    Proved,
    Satisfied,
)
from streamreasoner.facts import Fact

if TYPE_CHECKING:
    from streamreasoner.explain.proof import Absence, Attempt, Proof, ProofStep
    from streamreasoner.explain.render.prefixed import ExplanationPrinter
    from streamreasoner.lang.ast import Rule, Span


def proof_json(proof: Proof, printer: ExplanationPrinter) -> str:
    """`{"present": true, "steps": [...]}`; the first step is the explained fact."""
    steps = [_step(step, printer) for step in proof.steps]
    return _dump({"present": True, "fact": _fact(proof.steps[0].fact, printer), "steps": steps})


def absence_json(absence: Absence, printer: ExplanationPrinter) -> str:
    """`{"present": false, ..., "rules": [...]}`."""
    beaten_by = absence.beaten_by
    return _dump(
        {
            "present": False,
            "fact": _fact(absence.fact, printer),
            "asserted": absence.asserted,
            "stated": _place(absence.stated),
            "beaten_by": None if beaten_by is None else _fact(beaten_by, printer),
            "close": [_fact(fact, printer) for fact in absence.close],
            "rules": [_attempt(attempt, printer) for attempt in absence.attempts],
            **(
                {"unmet": [_rule(each, printer) for each in absence.unmet]} if absence.unmet else {}
            ),
        }
    )


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _fact(fact: Fact, printer: ExplanationPrinter) -> dict[str, Any]:
    return {
        "predicate": fact.predicate,
        "arguments": list(fact.arguments),
        "text": printer.fact(fact),
    }


def _place(span: Span | None) -> dict[str, Any] | None:
    return None if span is None else {"file": span.source, "line": span.line}


def _rule(rule: Rule, printer: ExplanationPrinter) -> dict[str, Any]:
    place = {"file": rule.span.source, "line": rule.span.line, "text": printer.rule(rule)}
    return place if rule.name is None else {**place, "name": rule.name}


def _step(step: ProofStep, printer: ExplanationPrinter) -> dict[str, Any]:
    document: dict[str, Any] = {
        "fact": _fact(step.fact, printer),
        "stratum": step.stratum,
        "iteration": step.iteration,
        "until": step.until,
        "asserted": step.asserted,
        "stated": _place(step.stated),
        "cut": step.cut,
    }
    match step.why:
        case Derivation() as derivation:
            document["derivation"] = _derivation(derivation, printer)
        case Aggregation(aggregates, matches, total):
            document["aggregation"] = {
                "aggregates": [printer.part(aggregate) for aggregate in aggregates],
                "total": total,
                "matches": [_derivation(match, printer) for match in matches],
            }
        case None:
            pass
    if (other := step.competition) is not None:
        document["competition"] = {
            "function": other.function,
            "candidates": other.candidates,
            "next_best": _fact(other.next_best, printer),
        }
    return document


def _derivation(derivation: Derivation, printer: ExplanationPrinter) -> dict[str, Any]:
    return {
        "rule": _rule(derivation.rule, printer),
        "bindings": dict(derivation.bindings),
        "premises": [
            {"step": premise.step} if isinstance(premise, Proved) else _premise(premise, printer)
            for premise in derivation.premises
        ],
    }


def _premise(premise: Fact | Absent | Satisfied, printer: ExplanationPrinter) -> dict[str, Any]:
    match premise:
        case Fact():
            return {"fact": _fact(premise, printer)}
        case Absent(atom):
            return {"absent": printer.part(atom)}
        case Satisfied(literal):
            return {"condition": printer.part(literal)}


def _attempt(attempt: Attempt, printer: ExplanationPrinter) -> dict[str, Any]:
    failure = attempt.failure
    return {
        "rule": _rule(attempt.rule, printer),
        "holds": [_premise(premise, printer) for premise in attempt.holds],
        "failure": {
            "kind": failure.kind.value,
            "parts": [printer.part(part) for part in failure.parts],
            "facts": [_fact(fact, printer) for fact in failure.facts],
        },
        "ways": attempt.ways,
    }
