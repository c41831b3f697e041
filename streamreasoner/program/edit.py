"""Programs with rules added or removed. Invariant: the result is checked as a whole, or refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from streamreasoner.errors import ProgramError
from streamreasoner.lang.ast import Message
from streamreasoner.lang.parser import parse, read
from streamreasoner.lang.printer import print_rule
from streamreasoner.program.checked import check_all, check_text
from streamreasoner.program.constraint_checks import constraint_heads
from streamreasoner.program.text import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streamreasoner.lang.ast import Program, Rule
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


def without_rules(checked: CheckedProgram, text: str, source: str) -> CheckedProgram:
    """Return a program without the rules and facts of a text.

    A rule matches if it is written alike: variable names and the spelling of constants count, white
    space and prefixes do not. The message of a constraint goes with its last rule.

    Raises:
        ProgramError: The text has mistakes, or holds a rule that the program does not.
    """
    removed = Counter(parse(text, source).rules)
    remaining = tuple(_without(program, removed) for program in checked.programs)
    programs = _without_messages(remaining, checked.constraints)
    missing = [rule for rule, count in removed.items() if count > 0]
    if missing:
        rules = "\n".join(f"  {print_rule(rule)}" for rule in missing)
        raise ProgramError(
            f"The program has no such rule:\n{rules}\n"
            "Write each rule as it stands in the program, with the same variables."
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


def _without_messages(programs: Sequence[Program], before: Iterable[str]) -> tuple[Program, ...]:
    """Omit the messages of constraints that have lost their last rule."""
    gone = set(before) - constraint_heads(programs).keys()
    return tuple(
        replace(
            program,
            directives=tuple(
                directive
                for directive in program.directives
                if not (isinstance(directive, Message) and directive.atom.predicate in gone)
            ),
        )
        for program in programs
    )


def _without(program: Program, removed: Counter[Rule]) -> Program:
    rules = []
    for rule in program.rules:
        if removed[rule] > 0:
            removed[rule] -= 1
        else:
            rules.append(rule)
    return replace(program, rules=tuple(rules))
