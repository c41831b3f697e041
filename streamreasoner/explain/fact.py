"""A fact as a user writes it, with the prefixes of a program. Invariant: one of the program's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import DataError
from streamreasoner.lang.ast import NOWHERE, Prefix
from streamreasoner.lang.statements import is_blank
from streamreasoner.query import syntax

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.facts import Fact, FactPattern
    from streamreasoner.program.checked import CheckedProgram


def read_fact(
    text: str, program: CheckedProgram, extra_prefixes: Mapping[str, str] | None = None
) -> Fact:
    """Read one fact in the rule language, such as `path(ex:a, 5)` or `[ex:a, a, ex:B]`.

    Args:
        text: The fact; the dot is optional.
        program: Defines the prefixes and the predicates.
        extra_prefixes: Further prefixes, name to IRI; those of the program take precedence.

    Raises:
        ProgramError: The text is not one fact of the program; the message shows where.
        DataError: The text is empty.
    """
    if is_blank(text):
        raise DataError("There is no fact to explain; write one as in a rule, `edge(ex:a, ex:b)`.")
    scope = _scope(program, program.arities, extra_prefixes)
    return syntax.read_fact(text, 0, scope)


def read_goal(text: str, program: CheckedProgram, extra_prefixes: Mapping[str, str]) -> FactPattern:
    """Read a goal in the rule language: a predicate, or an atom such as `[?x, a, ex:B]`.

    Args:
        text: The goal; the dot is optional.
        program: Defines the prefixes and the predicates.
        extra_prefixes: As in `read_fact`.

    Raises:
        ProgramError: The text is not one atom of the program; the message shows where.
        DataError: The text is empty.
    """
    if is_blank(text):
        raise DataError("There is no goal; write an atom as in a rule, `edge(ex:a, ?x)`.")
    scope = _scope(program, program.arities, extra_prefixes)
    return syntax.read_pattern(text, 0, scope, triple_terms=True)


def read_term(text: str, program: CheckedProgram) -> str:
    """Read one term in the rule language, such as `ex:a`; canonical.

    Raises:
        ProgramError: The text is not one term.
    """
    [term] = syntax.read_fact(f"term({text})", 0, _scope(program, {"term": 1})).arguments
    return term


def _scope(
    program: CheckedProgram,
    arities: Mapping[str, int],
    extra_prefixes: Mapping[str, str] | None = None,
) -> syntax.Scope:
    names = {**(extra_prefixes or {}), **prefixes(program)}
    declared = tuple(Prefix(name, iri, NOWHERE) for name, iri in names.items())
    return syntax.Scope(declared, arities, program.unlisted)


def prefixes(program: CheckedProgram) -> dict[str, str]:
    """Prefixes of all files; earlier files take precedence."""
    merged: dict[str, str] = {}
    for source in program.programs:
        merged = {**source.prefixes, **merged}
    return merged
