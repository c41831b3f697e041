"""Programs with rules added or removed. Invariant: the result is checked as a whole, or refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from streamreasoner.errors import ProgramError
from streamreasoner.lang.ast import Hidden, Message
from streamreasoner.lang.parser import parse, read
from streamreasoner.lang.printer import print_rule
from streamreasoner.program.checked import check_all, check_query, check_text
from streamreasoner.program.imports import is_of_query
from streamreasoner.program.sources import read_query
from streamreasoner.program.text import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamreasoner.lang.ast import Directive, Program, Rule
    from streamreasoner.program.checked import CheckedProgram


def with_rules(checked: CheckedProgram, text: str, source: str) -> CheckedProgram:
    """Return a program extended by the statements of another text.

    Args:
        checked: The current program.
        text: Rules, facts and directives, with their own prefixes.
        source: Name of the text in diagnostics.

    Raises:
        ProgramError: With a diagnostic for every mistake in the text, or in the combined program.
    """
    return check_all(checked.programs, read(text, _unused(source, checked)))


def with_query(checked: CheckedProgram, name: str, text: str, source: str) -> CheckedProgram:
    """Return a program extended by a query, whose answers are facts of a predicate.

    Args:
        checked: The current program, which does not have the predicate.
        name: The predicate.
        text: The query, in SPARQL.
        source: Name of the text in diagnostics.

    Raises:
        ProgramError: With a diagnostic for every mistake in the query, or in the combined program.
    """
    if (why := why_taken(checked, name)) is not None:
        raise ProgramError(why)
    return check_all(checked.programs, read_query(text, _unused(source, checked), name))


def without_query(checked: CheckedProgram, name: str, text: str, source: str) -> CheckedProgram:
    """Return a program without the rules of a query.

    Raises:
        ProgramError: The query has mistakes, or the program does not have its rules.
    """
    return _without_rules(checked, check_query(text, source, name).program.rules)


def why_taken(checked: CheckedProgram, name: str) -> str | None:
    """Why a query cannot have a name; None if no predicate of the program has it."""
    for predicate in checked.arities:
        if is_of_query(predicate, name):
            return (
                f"The program has the predicate '{predicate}' already, so the query cannot be "
                f"named '{name}'. To change a query, first remove the one that has the name, by "
                "the text that it was added with; or give the new one another name."
            )
    return None


def without_rules(checked: CheckedProgram, text: str, source: str) -> CheckedProgram:
    """Return a program without the rules and facts of a text.

    A rule matches if it is written alike: variable names and the spelling of constants count, white
    space and prefixes do not. With the last rule of a predicate its message and its @hidden go.

    Raises:
        ProgramError: The text has mistakes, or holds a rule that the program does not.
    """
    return _without_rules(checked, parse(text, source).rules)


def _without_rules(checked: CheckedProgram, rules: Iterable[Rule]) -> CheckedProgram:
    removed = Counter(rules)
    remaining = tuple(_without(program, removed) for program in checked.programs)
    programs = _without_declarations(remaining, _heads(checked.programs) - _heads(remaining))
    missing = [rule for rule, count in removed.items() if count > 0]
    if missing:
        printed = "\n".join(f"  {print_rule(rule)}" for rule in missing)
        raise ProgramError(
            f"The program has no such rule:\n{printed}\n"
            "Write each rule as it stands in the program, with the same variables. A query is "
            "removed by the text that it was added with."
        )
    return check_all(programs)


def canonical_program(checked: CheckedProgram, source: str) -> CheckedProgram:
    """Return the same program, parsed from its canonical text.

    The result does not depend on how the program was split into files, so later changes to it are
    deterministic.

    Args:
        checked: Any program.
        source: Name of the text in diagnostics.
    """
    return check_text(canonical_text(checked.programs), source)


def _unused(source: str, checked: CheckedProgram) -> str:
    """Return a name that no text of the program has, so that diagnostics quote the right text."""
    names = {program.source for program in checked.programs}
    numbered = (f"{source} ({number})" for number in count(2))
    return next(name for name in chain([source], numbered) if name not in names)


def _heads(programs: Sequence[Program]) -> set[str]:
    return {head.predicate for program in programs for rule in program.rules for head in rule.heads}


def _without_declarations(programs: Sequence[Program], gone: set[str]) -> tuple[Program, ...]:
    """Omit what declares predicates that have lost their last rule: @message and @hidden."""
    return tuple(
        replace(
            program,
            directives=tuple(
                kept
                for directive in program.directives
                if (kept := _without_predicates(directive, gone)) is not None
            ),
        )
        for program in programs
    )


def _without_predicates(directive: Directive, gone: set[str]) -> Directive | None:
    match directive:
        case Message(atom) if atom.predicate in gone:
            return None
        case Hidden(signatures):
            kept = tuple(each for each in signatures if each.predicate not in gone)
            return replace(directive, signatures=kept) if kept else None
        case _:
            return directive


def _without(program: Program, removed: Counter[Rule]) -> Program:
    rules = []
    for rule in program.rules:
        if removed[rule] > 0:
            removed[rule] -= 1
        else:
            rules.append(rule)
    return replace(program, rules=tuple(rules))
