"""An explanation as a text tree. Invariant: a derivation is drawn once, then referred to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.counts import counted
from streamreasoner.explain.proof import (
    Absent,
    Aggregation,
    Derivation,
    FailureKind,
    Proved,
    Satisfied,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.explain.proof import Absence, Attempt, Failure, Proof, ProofStep
    from streamreasoner.explain.render.prefixed import ExplanationPrinter
    from streamreasoner.facts import Fact
    from streamreasoner.lang.ast import Rule


@dataclass(frozen=True, slots=True)
class _Branch:
    """A node of the tree.

    Attributes:
        line: Its text.
        notes: Lines below it, before its children.
        children: Steps of the proof by number, or other nodes.
    """

    line: str
    notes: tuple[str, ...] = ()
    children: tuple[_Branch | int, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A node of a tree in the order of reading, with what draws its place.

    Attributes:
        line: Its text.
        notes: Lines below it, before its children.
        more: For the node's ancestor below the root, and so on down to the node itself, whether
            siblings follow; empty for the root.
        has_children: Whether nodes below it follow.
    """

    line: str
    notes: tuple[str, ...]
    more: tuple[bool, ...]
    has_children: bool


def proof_text(proof: Proof, printer: ExplanationPrinter) -> str:
    """The proof as a tree: below each fact its rule, and below the rule its premises."""
    return "".join(map(_drawn, proof_tree(proof, printer)))


def absence_text(absence: Absence, printer: ExplanationPrinter) -> str:
    """The fact, then for each rule its longest partial match and what is missing."""
    first, *attempts = absence_trees(absence, printer)
    parts = ["".join(map(_drawn, tree)) for tree in attempts]
    return "\n".join(["".join(f"{row.line}\n" for row in first), *parts])


def proof_tree(proof: Proof, printer: ExplanationPrinter) -> Iterator[TreeRow]:
    """The rows of the tree of `proof_text`."""
    return _rows(0, proof.steps, printer)


def absence_trees(absence: Absence, printer: ExplanationPrinter) -> list[list[TreeRow]]:
    """The rows of what `absence_text` says: first the fact, then a tree for each rule."""
    lines = [f"{printer.fact(absence.fact)} is absent: {_reason(absence, printer)}."]
    if absence.close and not (absence.attempts or absence.unmet) and absence.beaten_by is None:
        lines.append(f"Close to it: {_listed(absence.close, printer)}.")
    attempts = (_attempt(attempt, printer) for attempt in absence.attempts)
    return [
        [TreeRow(line, (), (), has_children=False) for line in lines],
        *([*_rows(attempt, (), printer)] for attempt in attempts),
        *([TreeRow(_unmet(absence.unmet), (), (), has_children=False)] for _ in absence.unmet[:1]),
    ]


def _drawn(row: TreeRow) -> str:
    """A row and its notes as lines of text."""
    above = "".join("│   " if more else "    " for more in row.more[:-1])
    first = below = above
    if row.more:
        first += "├── " if row.more[-1] else "└── "
        below += "│   " if row.more[-1] else "    "
    bar = "│" if row.has_children else " "
    lines = [first + row.line, *(f"{below}{bar} {note}" for note in row.notes)]
    return "".join(f"{line}\n" for line in lines)


def _rows(
    root: _Branch | int, steps: Sequence[ProofStep], printer: ExplanationPrinter
) -> Iterator[TreeRow]:
    drawn: set[int] = set()
    stack: list[tuple[_Branch | int, tuple[bool, ...]]] = [(root, ())]
    while stack:
        item, more = stack.pop()
        branch = item if isinstance(item, _Branch) else _step(item, steps, drawn, printer)
        yield TreeRow(branch.line, branch.notes, more, bool(branch.children))
        last = len(branch.children) - 1
        stack += [
            (child, (*more, at < last)) for at, child in reversed([*enumerate(branch.children)])
        ]


def _step(
    number: int, steps: Sequence[ProofStep], drawn: set[int], printer: ExplanationPrinter
) -> _Branch:
    step = steps[number]
    line = printer.fact(step.fact)
    if step.until is not None:
        line += f"  (in iterations {step.iteration} to {step.until - 1} only)"
    if step.why is not None and number in drawn:
        return _Branch(f"{line}  (shown above)")
    drawn.add(number)
    notes = []
    if step.competition is not None:
        other = step.competition
        notes.append(
            f"{other.function} of {counted(other.candidates, 'candidate')}; the next is"
            f" {printer.fact(other.next_best)}"
        )
    if step.asserted < 0 and step.until is None:
        often = counted(-step.asserted, "time")
        notes.append(f"retracted {often} more than asserted, but other derivations keep it present")
    match step.why:
        case Derivation() as derivation:
            notes.insert(0, _rule(derivation, printer))
            return _Branch(line, tuple(notes), _premises(derivation, printer))
        case Aggregation(aggregates, matches, total):
            printed = ", ".join(printer.part(aggregate) for aggregate in aggregates)
            notes.insert(0, f"{printed} of {counted(total, 'match', 'matches')}")
            children = [
                _Branch(_rule(match, printer), (), _premises(match, printer)) for match in matches
            ]
            if total > len(matches):
                children.append(_Branch(f"… and {total - len(matches)} more"))
            return _Branch(line, tuple(notes), tuple(children))
        case None:
            return _Branch(f"{line}  {_leaf(step)}", tuple(notes))


def _leaf(step: ProofStep) -> str:
    if step.cut:
        return "… its derivation is cut off here"
    reasons = [] if step.stated is None else [f"stated in {step.stated.place}"]
    if step.asserted > 0:
        reasons.append("asserted" if step.asserted == 1 else f"asserted {step.asserted} times")
    return ", ".join(reasons)


def _premises(derivation: Derivation, printer: ExplanationPrinter) -> tuple[_Branch | int, ...]:
    branches: list[_Branch | int] = []
    for premise in derivation.premises:
        match premise:
            case Proved(step):
                branches.append(step)
            case Absent() as absent:
                branches.append(_Branch(f"absent: {printer.premise(absent)}"))
            case Satisfied() as condition:
                branches.append(_Branch(printer.premise(condition)))
    return tuple(branches)


def _rule(derivation: Derivation | Attempt, printer: ExplanationPrinter) -> str:
    return f"{derivation.rule.span.place}: {printer.rule(derivation.rule)}"


# Absent facts ------------------------------------------------------------------------------------


def _reason(absence: Absence, printer: ExplanationPrinter) -> str:
    if absence.beaten_by is not None:
        return f"{printer.fact(absence.beaten_by)} is the better candidate"
    parts = []
    if absence.asserted > 0:
        parts.append("it is asserted, but derived retractions cancel it")
    elif absence.asserted < 0:
        parts.append(f"it is retracted {counted(-absence.asserted, 'time')} more than asserted")
    elif absence.stated is not None:
        parts.append(f"it is stated in {absence.stated.place}, but retracted, or not yet evaluated")
    else:
        parts.append("it is not asserted")
    if absence.attempts or absence.unmet:
        parts.append("and no rule makes it present")
    else:
        parts.append("and no rule derives such facts")
    return ", ".join(parts)


def _unmet(rules: Sequence[Rule]) -> str:
    names = ", ".join(dict.fromkeys(name for rule in rules for name in str(rule.name).split(", ")))
    return f"✗ there is nothing for {names}; ask for hidden facts, too, to see what is missing"


def _attempt(attempt: Attempt, printer: ExplanationPrinter) -> _Branch:
    children = [
        _Branch(
            f"absent: {printer.premise(each)}"
            if isinstance(each, Absent)
            else printer.premise(each)
        )
        for each in attempt.holds
    ]
    failure = attempt.failure
    *values, last = failure.parts or (None,)
    children += [_Branch(printer.part(part)) for part in values if part is not None]
    shown = "" if last is None else printer.part(last)
    children.append(_Branch(f"✗ {_why(failure, shown, printer)}"))
    more = attempt.ways > 1
    notes = (f"the first of {attempt.ways} partial matches that end here",) if more else ()
    return _Branch(_rule(attempt, printer), notes, tuple(children))


def _why(failure: Failure, shown: str, printer: ExplanationPrinter) -> str:  # noqa: PLR0911 - one for each kind
    facts = _listed(failure.facts, printer)
    match failure.kind:
        case FailureKind.MISSING:
            return f"{shown} is missing" + (f"; there is {facts}" if facts else "; there is none")
        case FailureKind.PRESENT:
            return f"{shown} does not hold: there is {facts}"
        case FailureKind.FALSE:
            return f"{shown} does not hold"
        case FailureKind.NO_VALUE:
            return f"{shown} has no value"
        case FailureKind.OTHER_FACT:
            equation = f"{shown}: " if shown else ""
            return f"{equation}the rule derives {facts}"
        case FailureKind.OTHER_RESULT:
            return f"the group has another value: {facts}" if facts else "the group has no value"
        case FailureKind.BEATEN:
            return f"it is derived, but {facts} is the better candidate"
        case FailureKind.OWED:
            return "it is derived, but retracted at least as often"
        case FailureKind.UNFINISHED:
            return f"{shown}: there are too many partial matches to try them all"


def _listed(facts: Sequence[Fact], printer: ExplanationPrinter) -> str:
    return ", ".join(printer.fact(fact) for fact in facts)
