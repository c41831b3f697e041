"""The number of matches of rule bodies that our engine finds, counted by the engine itself.
Invariant: the counting program derives the same facts as the counted one.

Every rule is split in two: its body derives a fact with all its variables, which derives the head.
Such a fact represents one match and has multiplicity 1 at one iteration, so the differences of its
trace are the matches that an epoch added, removed, or moved to another iteration.
"""  # noqa: D205

from __future__ import annotations

import dataclasses
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.lang.ast import Variable, Wildcard
from streamreasoner.lang.printer import print_literal
from streamreasoner.program.load import load_program

if TYPE_CHECKING:
    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.lang.ast import Atom, Rule

PREFIX = "matchOfRule"


def split(rules: str) -> str:
    """The counting program for a positive program without expressions."""
    program = load_program(rules)
    if program.facts:
        raise ValueError("Facts of a program have no body to match.")
    return "\n".join(_split(rule, number) for number, rule in enumerate(program.rules))


def matched(result: EpochResult) -> int:
    """The number of matches that an epoch of the counting program found."""
    return sum(
        int(np.abs(rows.multiplicity).sum())
        for rows in result.trace
        if rows.predicate.startswith(PREFIX)
    )


def _split(rule: Rule, number: int) -> str:
    fresh = count()

    def named(atom: Atom) -> Atom:
        # Facts that differ only at a wildcard are different matches.
        arguments = tuple(
            Variable(f"any{next(fresh)}", a.span) if isinstance(a, Wildcard) else a
            for a in atom.arguments
        )
        return dataclasses.replace(atom, arguments=arguments)

    body = [named(atom) for atom in rule.atoms]
    names = {a.name: a for atom in body for a in atom.arguments if isinstance(a, Variable)}
    match = f"{PREFIX}{number}({', '.join(f'?{name}' for name in names)})"
    atoms = ", ".join(print_literal(atom) for atom in body)
    return f"{match} :- {atoms} .\n{print_literal(rule.head)} :- {match} ."
