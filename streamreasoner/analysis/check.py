"""Program to CheckedProgram. Invariant: a CheckedProgram can be lowered and evaluated as it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from streamreasoner.analysis.arity import arities, arity_clashes, unknown_signatures
from streamreasoner.analysis.dependency import dependencies
from streamreasoner.analysis.functions import misused_builtins
from streamreasoner.analysis.normal_form import normal_form, too_large
from streamreasoner.analysis.safety import unsafe
from streamreasoner.analysis.stratify import strata, unstratifiable
from streamreasoner.analysis.support import unsupported
from streamreasoner.analysis.types import type_errors
from streamreasoner.analysis.warnings import (
    cartesian_products,
    duplicates,
    misspelt,
    single_use,
)
from streamreasoner.lang.ast import Input, Output
from streamreasoner.lang.diagnostic import in_order, refuse
from streamreasoner.lang.parser import Reading, read
from streamreasoner.lang.printer import print_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from streamreasoner.lang.ast import Program, Rule
    from streamreasoner.lang.diagnostic import Diagnostic

    Check: TypeAlias = Callable[[Program], Iterator[Diagnostic]]

CHECKS: tuple[Check, ...] = (arity_clashes, unsafe, misused_builtins, type_errors, unsupported)
"""What each statement must satisfy; these run even if other statements cannot be read."""

WARNINGS: tuple[Check, ...] = (single_use, misspelt, cartesian_products, duplicates)
"""What is reported about a program that is accepted."""


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program without mistakes.

    Attributes:
        program: The program as written.
        rules: Rules in normal form: one head; a body of Atom and Comparison literals with at least
            one Atom; arguments of atoms are Constant, Variable or Wildcard (no wildcards in heads),
            operands of comparisons Constant or Variable; atoms bind every variable.
        arities: Number of arguments of every predicate; `triple` is always there.
        strata: Indexes into `rules`: strongly connected components in dependency order. Rules
            whose heads can be the same fact are in one stratum.
        inputs: Predicates declared with @input, in the order of the text.
        outputs: Predicates declared with @output, in the order of the text; empty means all.
        warnings: What is legal and probably a mistake, in the order of the text.
    """

    program: Program
    rules: tuple[Rule, ...]
    arities: Mapping[str, int]
    strata: tuple[tuple[int, ...], ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    warnings: tuple[Diagnostic, ...]

    @property
    def hash(self) -> str:
        """SHA-256, in hex, of the canonical text of what decides the state.

        Comments, prefixes, the order of rules and @output do not.
        """
        lines = sorted(print_rule(rule) for rule in self.rules)
        lines += sorted(f"{predicate}/{arity}" for predicate, arity in self.arities.items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check(program: Program) -> CheckedProgram:
    """Check a program that was parsed without mistakes.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    return _check(Reading(program, (), complete=True))


def check_text(text: str, source: str = "<rules>") -> CheckedProgram:
    """Read and check a rule text; mistakes of syntax and of meaning are reported together.

    Args:
        text: The rules.
        source: Name of the text in diagnostics, such as its file name.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    return _check(read(text, source))


def _check(reading: Reading) -> CheckedProgram:
    program = reading.program
    errors = [*reading.diagnostics, *too_large(program)]
    if any(error.code == "SR206" for error in errors):
        raise refuse(errors, program.text)
    for find in CHECKS:
        errors += find(program)
    rules = tuple(part for rule in program.rules for part in normal_form(rule))
    graph = dependencies(rules)
    # A constant that could not be read would unify with others of its kind.
    if not reading.diagnostics:
        errors += unstratifiable(rules, graph, program.prefixes)
    if reading.complete:
        errors += unknown_signatures(program)
    if errors:
        raise refuse(errors, program.text)
    return CheckedProgram(
        program=program,
        rules=rules,
        arities=MappingProxyType(arities(program)),
        strata=strata(graph),
        inputs=_declared(program, Input),
        outputs=_declared(program, Output),
        warnings=in_order(warning for find in WARNINGS for warning in find(program)),
    )


def _declared(program: Program, kind: type[Input | Output]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            signature.predicate
            for directive in program.directives
            if isinstance(directive, kind)
            for signature in directive.signatures
        )
    )
