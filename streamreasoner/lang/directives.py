"""The directives of programs, by kind. Invariant: they are in textual order."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import UnionType

    from streamreasoner.lang import ast

AnyDirective = TypeVar("AnyDirective", bound="ast.Directive")


def declared(
    programs: Iterable[ast.Program], kinds: type[ast.Declaration] | UnionType
) -> Iterator[ast.PredicateIndicator]:
    """Yield what the directives of these kinds declare, in textual order."""
    for program in programs:
        for directive in program.directives:
            if isinstance(directive, kinds):
                yield from directive.signatures


def directives(programs: Iterable[ast.Program], kind: type[AnyDirective]) -> Iterator[AnyDirective]:
    """Yield the directives of one kind, in textual order."""
    for program in programs:
        yield from (item for item in program.directives if isinstance(item, kind))
