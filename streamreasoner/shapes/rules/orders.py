"""Orders of rules of shapes. Invariant: an order that is accepted does not change what is derived.

All rules derive until there is nothing new, and a rule that negates or counts comes after those
that derive what it reads. An order says more only where a rule that comes first reads what a later
one derives: by negation or in numbers; or at all, if it is done before the later one begins.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.dependency import Through, dependencies
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.normal_form import normal_form

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.analysis.strata.dependency import Dependency
    from streamreasoner.lang.ast import Rule
    from streamreasoner.shapes.inference import ShapeRule

_NEGATIVE = frozenset({Through.NEGATION, Through.AGGREGATE})
_HINT = "omit the order, or let no rule read what comes after it"


def wrong_orders(rules: Sequence[Rule], inferred: Mapping[Rule, ShapeRule]) -> Iterator[Diagnostic]:
    """Report rules that come before what they read.

    Args:
        rules: All rules of the shapes.
        inferred: The rules of shapes, by those that derive their triples.
    """
    if len({_place(each) for each in inferred.values()}) < 2 and not any(  # noqa: PLR2004 - two of them
        each.once for each in inferred.values()
    ):
        return
    parts = [(rule, part) for rule in rules for part in normal_form(rule) if part.body]
    graph = dependencies([part for _, part in parts])
    owners = {index: inferred[rule] for index, (rule, _) in enumerate(parts) if rule in inferred}
    of: dict[str, list[int]] = defaultdict(list)
    for index, owner in owners.items():
        of[owner.name].append(index)
    for first in dict.fromkeys(owners.values()):
        told = set()
        for index, negative in _read(graph, of[first.name]):
            later = owners.get(index)
            if later is None or later.name in told or not _is_wrong(first, later, negative):
                continue
            told.add(later.name)
            yield _diagnostic(first, later, negative=negative)


def _place(rule: ShapeRule) -> tuple[object, ...]:
    return rule.layer, not rule.once, rule.order


def _is_wrong(first: ShapeRule, later: ShapeRule, negative: bool) -> bool:  # noqa: FBT001 - of a pair
    if first.once and first == later:
        return True
    if _place(first) >= _place(later):
        return False
    return negative or first.layer < later.layer or first.once


def _read(
    graph: Sequence[Sequence[Dependency]], starts: Sequence[int]
) -> Iterator[tuple[int, bool]]:
    """The rules whose facts some rules read, and whether by negation or in numbers."""
    seen: set[tuple[int, bool]] = set()
    ahead = [(start, False) for start in starts]
    while ahead:
        index, negative = ahead.pop()
        for edge in graph[index]:
            if edge.through is Through.SAME_HEAD:
                continue
            following = edge.on, negative or edge.through in _NEGATIVE
            for each in (following, *((same, following[1]) for same in _same(graph, edge.on))):
                if each not in seen:
                    seen.add(each)
                    ahead.append(each)
                    yield each


def _same(graph: Sequence[Sequence[Dependency]], index: int) -> Iterator[int]:
    """The rules with an equal head."""
    return (each.on for each in graph[index] if each.through is Through.SAME_HEAD)


def _diagnostic(first: ShapeRule, later: ShapeRule, *, negative: bool) -> Diagnostic:
    if first == later:
        message = f"the rule {first.name} is to run once, but reads what it derives"
        return Diagnostic("SR223", message, first.span, "omit sh:runOnce")
    how = "asks for the absence or the number of" if negative else "reads"
    message = (
        f"the rule {first.name} comes before {later.name} ({later.span.source}, line "
        f"{later.span.line}), but {how} what that derives"
    )
    return Diagnostic("SR223", message, first.span, _HINT)
