"""The hierarchies of a program as text: what is copied, and which copies are stored if encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.printer import print_rule
from streamreasoner.program.hierarchies import with_hierarchies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.program.checked import CheckedProgram


def hierarchies(
    checked: CheckedProgram, prefixes: Mapping[str, str], weighed: Iterable[str]
) -> Iterator[str]:
    """The copying rules of each hierarchy, and the rules that derive the classes it is read at.

    Then those of hierarchies that cannot be encoded.

    Args:
        checked: The program.
        prefixes: Prefix name to IRI.
        weighed: Lines that say when they are encoded.
    """

    def copying(rules: Iterable[int]) -> Iterator[str]:
        return (f"R{index + 1}  {print_rule(checked.rules[index], prefixes)}" for index in rules)

    encoded = with_hierarchies(checked)
    found = [index for each in encoded.hierarchies for index in each.rules]
    others = [index for each in checked.copied for index in each.rules if index not in found]
    if not found:
        yield "none: all facts are stored"
    for each in encoded.hierarchies:
        yield from copying(each.rules)
        for rule in encoded.rules:
            if rule.head.predicate in {each.wanted, each.exists}:
                yield f"  {print_rule(rule, prefixes)}"
    if found:
        yield from weighed
    if others:
        yield "copied, and always stored:"
        yield from copying(others)
