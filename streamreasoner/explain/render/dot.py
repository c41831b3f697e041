"""An explanation in the DOT language of Graphviz. Invariant: each fact is one node.

Facts are boxes, derivations are ellipses; arrows lead from premises to conclusions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.explain.proof import (
    Absent,
    Aggregation,
    Derivation,
    Proved,
    Satisfied,
)
from streamreasoner.facts import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.explain.proof import Absence, Proof, ProofStep
    from streamreasoner.explain.render.prefixed import ExplanationPrinter

_HEADER = (
    "digraph explanation {",
    "  rankdir=BT;",
    '  node [shape=box, fontname="monospace", fontsize=10];',
)


def proof_dot(proof: Proof, printer: ExplanationPrinter) -> str:
    """The proof as a graph, the fact on top."""
    lines = [*_HEADER]
    for number, step in enumerate(proof.steps):
        lines += _step(number, step, printer)
    return "\n".join([*lines, "}", ""])


def absence_dot(absence: Absence, printer: ExplanationPrinter) -> str:
    """The fact, dashed; for each rule the premises that hold, and in red the one that fails."""
    lines = [*_HEADER, f"  fact [label={_quoted(printer.fact(absence.fact))}, style=dashed];"]
    for number, attempt in enumerate(absence.attempts):
        rule = f"r{number}"
        lines.append(_ellipse(rule, attempt.rule.span.place, printer.rule(attempt.rule)))
        lines.append(f"  {rule} -> fact [style=dashed];")
        for at, premise in enumerate(attempt.holds):
            style = "" if isinstance(premise, Fact) else ", shape=plaintext"
            node = f"{rule}_{at}"
            lines.append(f"  {node} [label={_quoted(printer.premise(premise))}{style}];")
            lines.append(f"  {node} -> {rule};")
        parts = [printer.part(part) for part in attempt.failure.parts]
        label = "\n".join([*parts, attempt.failure.kind.value])
        lines.append(f"  {rule}_x [label={_quoted(label)}, color=red, style=dashed];")
        lines.append(f"  {rule}_x -> {rule} [style=dashed];")
    return "\n".join([*lines, "}", ""])


def _step(number: int, step: ProofStep, printer: ExplanationPrinter) -> Iterator[str]:
    node = f"f{number}"
    label = printer.fact(step.fact)
    if step.stated is not None and step.why is None:
        label += f"\nstated in {step.stated.place}"
    if step.until is not None:
        label += f"\nin iterations {step.iteration} to {step.until - 1} only"
    if step.competition is not None:
        label += f"\n{step.competition.function} of {step.competition.candidates} candidates"
    style = ", style=dashed" if step.cut else "" if step.why else ", style=bold"
    yield f"  {node} [label={_quoted(label)}{style}];"
    match step.why:
        case Derivation() as derivation:
            yield from _derivation(f"r{number}", derivation, printer)
            yield f"  r{number} -> {node};"
        case Aggregation(aggregates, matches, total):
            printed = ", ".join(printer.part(aggregate) for aggregate in aggregates)
            yield f"  a{number} [label={_quoted(f'{printed} of {total}')}, shape=diamond];"
            yield f"  a{number} -> {node};"
            for at, match in enumerate(matches):
                yield from _derivation(f"r{number}_{at}", match, printer)
                yield f"  r{number}_{at} -> a{number};"
        case None:
            pass


def _derivation(rule: str, derivation: Derivation, printer: ExplanationPrinter) -> Iterator[str]:
    yield _ellipse(rule, derivation.rule.span.place, printer.rule(derivation.rule))
    for at, premise in enumerate(derivation.premises):
        match premise:
            case Proved(step):
                yield f"  f{step} -> {rule};"
            case Absent() | Satisfied():
                node = f"{rule}_c{at}"
                yield f"  {node} [label={_quoted(printer.premise(premise))}, shape=plaintext];"
                yield f"  {node} -> {rule};"


def _ellipse(node: str, label: str, tooltip: str) -> str:
    return f"  {node} [label={_quoted(label)}, tooltip={_quoted(tooltip)}, shape=ellipse];"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
