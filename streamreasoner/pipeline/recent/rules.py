"""What the rules of a program did, for people. Invariant: a rule is shown as it was written.

One rule of a text may be several in normal form, with helpers: all of them count for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from streamreasoner.lang.printer import print_rule
from streamreasoner.program.text import common_prefixes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.lang.ast import Rule, Span
    from streamreasoner.program.checked import CheckedProgram

MOST_RULES: Final = 100
"""Rules of an epoch that are remembered by themselves."""
LONGEST_TEXT: Final = 300


class WrittenRules:
    """The rules of a program as they were written, numbered.

    Attributes:
        program: The program.
        numbers: The number of each rule in normal form, int64 of shape (n,).
    """

    def __init__(self, program: CheckedProgram) -> None:
        self.program = program
        self._rules: list[Rule] = []
        written: dict[Span, list[Rule]] = defaultdict(list)
        places: dict[str, list[tuple[int, Span]]] = defaultdict(list)
        for each in program.programs:
            for rule in each.rules:
                written[rule.span].append(rule)
                places[rule.span.source].append((rule.span.start, rule.span))
        for spans in places.values():
            spans.sort(key=lambda item: item[0])
        known: dict[Span | int, int] = {}
        numbers = []
        for index, rule in enumerate(program.rules):
            span = rule.span
            if span not in written:
                span = _enclosing(span, places.get(span.source, ()))
            # Rules that stand for a query have its place, all of them.
            alone = len(written.get(span, ())) == 1
            number = known.setdefault(span if alone else index, len(known))
            if number == len(self._rules):
                self._rules.append(written[span][0] if alone else rule)
            numbers.append(number)
        self.numbers = np.array(numbers, np.int64)

    def described(self, number: int) -> dict[str, str | None]:
        """Where a rule is, its name, and the beginning of its text."""
        rule = self._rules[number]
        text = print_rule(rule, self._prefixes)
        if len(text) > LONGEST_TEXT:
            text = f"{text[:LONGEST_TEXT]}…"
        return {"rule": rule.span.place, "name": rule.name, "text": text}

    @cached_property
    def _prefixes(self) -> Mapping[str, str]:
        return common_prefixes(self.program.programs)


@dataclass(frozen=True, slots=True)
class Share:
    """What one rule did.

    Attributes:
        rules: The rules it is of.
        number: Its number.
        firings: Heads that it added or subtracted.
        nanoseconds: The time of it.
    """

    rules: WrittenRules
    number: int
    firings: int
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Others:
    """What further rules did, together."""

    rules: int = 0
    firings: int = 0
    nanoseconds: int = 0


def dearest(
    parts: Sequence[tuple[WrittenRules, NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[tuple[Share, ...], Others]:
    """The rules that took most time, those first, and the sum of the others.

    Args:
        parts: Rules, with firings and nanoseconds by index in normal form.
    """
    sums: dict[int, tuple[WrittenRules, NDArray[np.int64]]] = {}
    for rules, firings, nanoseconds in parts:
        size = int(rules.numbers.max(initial=-1)) + 1
        _, total = sums.setdefault(id(rules), (rules, np.zeros((size, 2), np.int64)))
        numbers = rules.numbers[: len(firings)]
        np.add.at(total, numbers, np.column_stack([firings, nanoseconds]))
    shares = [
        Share(rules, int(number), *total[number].tolist())
        for rules, total in sums.values()
        for number in np.flatnonzero(total.any(axis=1))
    ]
    shares.sort(key=lambda share: (-share.nanoseconds, -share.firings))
    rest = shares[MOST_RULES:]
    return tuple(shares[:MOST_RULES]), Others(
        len(rest),
        sum(share.firings for share in rest),
        sum(share.nanoseconds for share in rest),
    )


def _enclosing(span: Span, spans: Sequence[tuple[int, Span]]) -> Span:
    """The span of the rule that a part of it is in; the same if there is none."""
    at = bisect_right(spans, span.start, key=lambda item: item[0])
    return spans[at - 1][1] if at and span.end <= spans[at - 1][1].end else span
