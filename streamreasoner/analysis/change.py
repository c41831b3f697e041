"""Programs with rules more or less. Invariant: what results is checked as a whole, or refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from streamreasoner.analysis.check import check_all, check_text
from streamreasoner.analysis.whole import whole
from streamreasoner.errors import ProgramError
from streamreasoner.lang.parser import parse, read
from streamreasoner.lang.printer import print_rule

if TYPE_CHECKING:
    from streamreasoner.analysis.check import CheckedProgram
    from streamreasoner.lang.ast import Program, Rule


def with_rules(checked: CheckedProgram, text: str, source: str) -> CheckedProgram:
    """A program with the statements of another text.

    Args:
        checked: The program so far.
        text: Rules, facts and directives, with prefixes of their own.
        source: Name of the text in diagnostics.

    Raises:
        ProgramError: With a diagnostic for every mistake of the text, alone or with the program.
    """
    return check_all(checked.programs, read(text, _unused(source, checked)))


def without_rules(checked: CheckedProgram, text: str, source: str) -> CheckedProgram:
    """A program without the rules and facts of a text, each as it is written in the program.

    Names of variables and spelling of constants count, spaces and prefixes do not.

    Raises:
        ProgramError: The text has mistakes, or a rule that the program has not.
    """
    gone = Counter(parse(text, source).rules)
    programs = tuple(_without(program, gone) for program in checked.programs)
    missing = [rule for rule, count in gone.items() if count > 0]
    if missing:
        rules = "\n".join(f"  {print_rule(rule)}" for rule in missing)
        raise ProgramError(
            f"The program has no such rule:\n{rules}\n"
            "Write a rule as the program does, with the same variables."
        )
    return check_all(programs)


def in_one_text(checked: CheckedProgram, source: str) -> CheckedProgram:
    """The same program, read from its canonical text.

    What it was made of cannot be told from it: changing it has one outcome, wherever it came from.

    Args:
        checked: Any program.
        source: Name of the text in diagnostics.
    """
    return check_text(whole(checked.programs), source)


def _unused(source: str, checked: CheckedProgram) -> str:
    """A name that no text of the program has, so that diagnostics show the right one."""
    names = {program.source for program in checked.programs}
    numbered = (f"{source} ({number})" for number in count(2))
    return next(name for name in chain([source], numbered) if name not in names)


def _without(program: Program, gone: Counter[Rule]) -> Program:
    kept = []
    for rule in program.rules:
        if gone[rule] > 0:
            gone[rule] -= 1
        else:
            kept.append(rule)
    return replace(program, rules=tuple(kept))
