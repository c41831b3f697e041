"""An explanation as a text tree. Invariant: a derivation is drawn once, then referred to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.explain.proof import (
    Absent,
    Aggregation,
    Condition,
    Derivation,
    Fact,
    Kind,
    Proved,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.explain.names import Names
    from streamreasoner.explain.proof import Absence, Attempt, Failure, Proof, Step


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


def proof_text(proof: Proof, names: Names) -> str:
    """The proof as a tree: below each fact its rule, and below that the premises."""
    return _draw(0, proof.steps, names)


def absence_text(absence: Absence, names: Names) -> str:
    """Below the fact, for each rule the longest partial match and what it lacks."""
    lines = [f"{names.fact(absence.fact)} is absent: {_reason(absence, names)}."]
    if absence.close and not absence.attempts and absence.beaten_by is None:
        lines.append(f"Close to it: {_listed(absence.close, names)}.")
    for attempt in absence.attempts:
        lines += ["", _draw(_attempt(attempt, names), (), names).rstrip("\n")]
    return "\n".join(lines) + "\n"


def _draw(root: _Branch | int, steps: Sequence[Step], names: Names) -> str:
    lines: list[str] = []
    drawn: set[int] = set()
    # (branch, indentation of its line, indentation of the lines below it)
    waiting: list[tuple[_Branch | int, str, str]] = [(root, "", "")]
    while waiting:
        item, first, below = waiting.pop()
        branch = item if isinstance(item, _Branch) else _step(item, steps, drawn, names)
        lines.append(first + branch.line)
        lines += [f"{below}{'│' if branch.children else ' '} {note}" for note in branch.notes]
        last = len(branch.children) - 1
        waiting += [
            (
                child,
                f"{below}{'└' if at == last else '├'}── ",
                f"{below}{'    ' if at == last else '│   '}",
            )
            for at, child in reversed([*enumerate(branch.children)])
        ]
    return "".join(f"{line}\n" for line in lines)


def _step(number: int, steps: Sequence[Step], drawn: set[int], names: Names) -> _Branch:
    step = steps[number]
    line = names.fact(step.fact)
    if step.until is not None:
        line += f"  (in iterations {step.iteration} to {step.until - 1} only)"
    if step.why is not None and number in drawn:
        return _Branch(f"{line}  (shown above)")
    drawn.add(number)
    notes = []
    if step.competition is not None:
        other = step.competition
        notes.append(
            f"{other.function} of {other.candidates} candidates; the next is"
            f" {names.fact(other.next_best)}"
        )
    if step.asserted < 0 and step.until is None:
        often = _count(-step.asserted, "time", "times")
        notes.append(f"retracted {often} too often, which other derivations make up for")
    match step.why:
        case Derivation() as derivation:
            notes.insert(0, _rule(derivation, names))
            return _Branch(line, tuple(notes), _premises(derivation, names))
        case Aggregation(aggregates, matches, total):
            printed = ", ".join(names.part(aggregate) for aggregate in aggregates)
            notes.insert(0, f"{printed} of {_count(total, 'match', 'matches')}")
            children = [
                _Branch(_rule(match, names), (), _premises(match, names)) for match in matches
            ]
            if total > len(matches):
                children.append(_Branch(f"… and {total - len(matches)} more"))
            return _Branch(line, tuple(notes), tuple(children))
        case None:
            return _Branch(f"{line}  {_leaf(step, names)}", tuple(notes))


def _leaf(step: Step, names: Names) -> str:
    if step.cut:
        return "… its derivation is cut off here"
    reasons = [] if step.stated is None else [f"stated in {names.place(step.stated)}"]
    if step.asserted > 0:
        reasons.append("asserted" if step.asserted == 1 else f"asserted {step.asserted} times")
    return ", ".join(reasons)


def _premises(derivation: Derivation, names: Names) -> tuple[_Branch | int, ...]:
    branches: list[_Branch | int] = []
    for premise in derivation.premises:
        match premise:
            case Proved(step):
                branches.append(step)
            case Absent() as absent:
                branches.append(_Branch(f"absent: {names.premise(absent)}"))
            case Condition() as condition:
                branches.append(_Branch(names.premise(condition)))
    return tuple(branches)


def _rule(derivation: Derivation | Attempt, names: Names) -> str:
    return f"{names.place(derivation.rule.span)}: {names.rule(derivation.rule)}"


# Absent facts ------------------------------------------------------------------------------------


def _reason(absence: Absence, names: Names) -> str:
    if absence.beaten_by is not None:
        return f"{names.fact(absence.beaten_by)} is the better candidate"
    parts = []
    if absence.asserted > 0:
        parts.append("it is asserted, but retracted as often by what is derived")
    elif absence.asserted < 0:
        parts.append(f"it is retracted {_count(-absence.asserted, 'time', 'times')} too often")
    elif absence.stated is not None:
        parts.append(
            f"it is stated in {names.place(absence.stated)}, but retracted, or no epoch came yet"
        )
    else:
        parts.append("it is not asserted")
    if absence.attempts:
        parts.append("and no rule makes it present")
    else:
        parts.append("and no rule derives such facts")
    return ", ".join(parts)


def _attempt(attempt: Attempt, names: Names) -> _Branch:
    children = [
        _Branch(
            f"absent: {names.premise(each)}" if isinstance(each, Absent) else names.premise(each)
        )
        for each in attempt.holds
    ]
    failure = attempt.failure
    *values, last = failure.parts or (None,)
    children += [_Branch(names.part(part)) for part in values if part is not None]
    shown = "" if last is None else names.part(last)
    children.append(_Branch(f"✗ {_why(failure, shown, names)}"))
    more = attempt.ways > 1
    notes = (f"the first of {attempt.ways} partial matches that end here",) if more else ()
    return _Branch(_rule(attempt, names), notes, tuple(children))


def _why(failure: Failure, shown: str, names: Names) -> str:  # noqa: PLR0911 - one for each kind
    facts = _listed(failure.facts, names)
    match failure.kind:
        case Kind.MISSING:
            return f"{shown} is missing" + (f"; there is {facts}" if facts else "; there is none")
        case Kind.PRESENT:
            return f"{shown} does not hold: there is {facts}"
        case Kind.FALSE:
            return f"{shown} does not hold"
        case Kind.NO_VALUE:
            return f"{shown} has no value"
        case Kind.OTHER_FACT:
            equation = f"{shown}: " if shown else ""
            return f"{equation}what follows is {facts}"
        case Kind.OTHER_RESULT:
            return f"the group has another value: {facts}" if facts else "the group has no value"
        case Kind.BEATEN:
            return f"it follows, but {facts} is the better candidate"
        case Kind.OWED:
            return "it follows, but was retracted as often or more often"
        case Kind.UNFINISHED:
            return f"{shown}: there are too many partial matches to look at all of them"


def _listed(facts: Sequence[Fact], names: Names) -> str:
    return ", ".join(names.fact(fact) for fact in facts)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
