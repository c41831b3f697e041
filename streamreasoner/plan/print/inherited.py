"""The hierarchies of a program as text: what is copied, and which copies are stored if encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.hierarchies.reading import read_everywhere
from streamreasoner.lang.printer import print_rule
from streamreasoner.program.hierarchies import with_hierarchies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.program.checked import CheckedProgram


def hierarchies(
    checked: CheckedProgram, prefixes: Mapping[str, str], weighed: Iterable[str]
) -> Iterator[str]:
    """The copying rules of each hierarchy, and the rules that derive the classes it is read at.

    Then those of hierarchies that cannot be encoded, and why.

    Args:
        checked: The program.
        prefixes: Prefix name to IRI.
        weighed: Lines that say when they are encoded.
    """

    def copying(rules: Iterable[int]) -> Iterator[str]:
        return (f"R{index + 1}  {print_rule(checked.rules[index], prefixes)}" for index in rules)

    encoded = with_hierarchies(checked)
    found = {index for each in encoded.hierarchies for index in each.rules}
    others = [each for each in checked.copied if found.isdisjoint(each.rules)]
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
    for each in others:
        yield from copying(each.rules)
        readers = read_everywhere(each, checked.rules, checked.guarded)
        yield f"  read at all classes by {', '.join(f'R{index + 1}' for index in readers)}"
