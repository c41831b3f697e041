"""Program to CheckedProgram. Invariant: a CheckedProgram can be lowered and evaluated as it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from streamreasoner.analysis.arity import arities, arity_clashes, unknown_signatures
from streamreasoner.analysis.contradictions import contradictions
from streamreasoner.analysis.dependency import dependencies
from streamreasoner.analysis.functions import misused_builtins
from streamreasoner.analysis.imports import with_imports
from streamreasoner.analysis.lattices import lattice_clashes
from streamreasoner.analysis.normal_form import normal_form, too_large
from streamreasoner.analysis.patterns import invalid_patterns
from streamreasoner.analysis.safety import unsafe
from streamreasoner.analysis.sizes import beyond_limits
from streamreasoner.analysis.stratify import strata, unstratifiable
from streamreasoner.analysis.types import type_errors
from streamreasoner.analysis.warnings import (
    cartesian_products,
    duplicates,
    misspelt,
    single_use,
    unused,
)
from streamreasoner.analysis.whole import common_prefixes
from streamreasoner.lang.ast import Input, Output
from streamreasoner.lang.diagnostic import in_order, refuse
from streamreasoner.lang.memory import without_collections
from streamreasoner.lang.parser import Reading, read
from streamreasoner.lang.printer import print_literal, print_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from streamreasoner.lang.ast import Atom, Program, Rule
    from streamreasoner.lang.diagnostic import Diagnostic

    Check: TypeAlias = Callable[[Program], Iterator[Diagnostic]]
    CheckAll: TypeAlias = Callable[[Sequence[Program]], Iterator[Diagnostic]]

CHECKS: tuple[Check, ...] = (unsafe, misused_builtins, type_errors, invalid_patterns)
"""What each statement must satisfy; these run even if other statements cannot be read."""

SIZES: tuple[Check, ...] = (too_large, beyond_limits)
"""What bounds the work of the other checks, so that they run only on programs that satisfy it."""

WARNINGS: tuple[Check, ...] = (single_use, cartesian_products, contradictions)
"""What is reported about each statement of a program that is accepted."""

WARNINGS_OF_ALL: tuple[CheckAll, ...] = (misspelt, unused, duplicates)
"""What is reported about the files of a program together."""


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program without mistakes.

    Attributes:
        programs: The program as written, then the files it imports, one Program each.
        rules: Rules of all files in normal form: one head; a body of Atom, Negation, Comparison and
            Call literals with at least one Atom. Arguments of a head are Constant, Variable,
            an expression, or an Aggregate on its own; those of body atoms also Wildcard.
            `bindings` tells how every variable gets its value.
        facts: Facts of all files, each once: atoms that hold constants only.
        arities: Number of arguments of every predicate; `triple` is always there.
        strata: Indexes into `rules`: strongly connected components in dependency order. Rules
            whose heads can be the same fact are in one stratum.
        inputs: Predicates declared with @input, in the order of the text.
        outputs: Predicates declared with @output, in the order of the text; empty means all.
        warnings: What is legal and probably a mistake, in the order of the text.
    """

    programs: tuple[Program, ...]
    rules: tuple[Rule, ...]
    facts: tuple[Atom, ...]
    arities: Mapping[str, int]
    strata: tuple[tuple[int, ...], ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    warnings: tuple[Diagnostic, ...]

    @property
    def program(self) -> Program:
        """The program as written, without what it imports."""
        return self.programs[0]

    @property
    def texts(self) -> Mapping[str, str]:
        """Name of each file, as spans and diagnostics have it, to its text."""
        return _texts(self.programs)

    @property
    def hash(self) -> str:
        """SHA-256, in hex, of the canonical text of what decides the state.

        Comments, prefixes, the order of statements, their files and @output do not.
        """
        lines = sorted(print_rule(rule) for rule in self.rules)
        lines += sorted(print_literal(fact) for fact in self.facts)
        lines += sorted(f"{predicate}/{arity}" for predicate, arity in self.arities.items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check(program: Program) -> CheckedProgram:
    """Check a program that was parsed without mistakes, with the files it imports.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    return _check(Reading(program, (), complete=True))


def check_text(text: str, source: str = "<rules>") -> CheckedProgram:
    """Read and check a rule text; mistakes of syntax and of meaning are reported together.

    Args:
        text: The rules.
        source: Name of the text in diagnostics, such as the path of its file. What it imports is
            looked for in the folder of this path.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    return _check(read(text, source))


def check_all(programs: Sequence[Program], added: Reading | None = None) -> CheckedProgram:
    """Check files that were read already, and one more with what it imports.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    readings = [Reading(program, (), complete=True) for program in programs]
    known = {program.source for program in programs}
    if added is not None:
        readings += (one for one in with_imports(added) if one.program.source not in known)
    return _check_readings(readings)


def _check(main: Reading) -> CheckedProgram:
    return _check_readings(with_imports(main))


@without_collections
def _check_readings(readings: Sequence[Reading]) -> CheckedProgram:
    programs = tuple(reading.program for reading in readings)
    texts = _texts(programs)
    unread = [item for reading in readings for item in reading.diagnostics]
    large = [item for find in SIZES for program in programs for item in find(program)]
    errors = [*unread, *large]
    if large:
        raise refuse(errors, texts)
    errors += (item for find in CHECKS for program in programs for item in find(program))
    errors += arity_clashes(programs)
    parts = [part for program in programs for rule in program.rules for part in normal_form(rule)]
    rules = tuple(part for part in parts if part.body)
    graph = dependencies(rules)
    # A constant that could not be read would unify with others of its kind.
    if not unread:
        prefixes = common_prefixes(programs)
        errors += unstratifiable(rules, graph, prefixes)
        errors += lattice_clashes(rules, prefixes)
    if all(reading.complete for reading in readings):
        errors += unknown_signatures(programs)
    if errors:
        raise refuse(errors, texts)
    warnings = [item for find in WARNINGS for program in programs for item in find(program)]
    warnings += (item for find in WARNINGS_OF_ALL for item in find(programs))
    return CheckedProgram(
        programs=programs,
        rules=rules,
        facts=tuple(dict.fromkeys(part.head for part in parts if not part.body)),
        arities=MappingProxyType(arities(programs)),
        strata=strata(graph),
        inputs=_declared(programs, Input),
        outputs=_declared(programs, Output),
        warnings=in_order(warnings, texts),
    )


def _texts(programs: Sequence[Program]) -> dict[str, str]:
    return {program.source: program.text for program in programs}


def _declared(programs: Sequence[Program], kind: type[Input | Output]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            signature.predicate
            for program in programs
            for directive in program.directives
            if isinstance(directive, kind)
            for signature in directive.signatures
        )
    )
