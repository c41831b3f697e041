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

    Args:
        checked: The program.
        prefixes: Prefix name to IRI.
        weighed: Lines that say when they are encoded.
    """
    encoded = with_hierarchies(checked)
    if not encoded.hierarchies:
        yield "none: all facts are stored"
        return
    for each in encoded.hierarchies:
        for index in each.rules:
            yield f"R{index + 1}  {print_rule(checked.rules[index], prefixes)}"
        for rule in encoded.rules:
            if rule.head.predicate in {each.wanted, each.exists}:
                yield f"  {print_rule(rule, prefixes)}"
    yield from weighed
