"""Program to CheckedProgram. Invariant: a CheckedProgram can be lowered and evaluated as it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from streamreasoner.analysis.arity import arities, arity_clashes, unknown_signatures
from streamreasoner.analysis.contradictions import contradictions
from streamreasoner.analysis.expiry import expiries, invalid_expiries
from streamreasoner.analysis.functions import misused_builtins
from streamreasoner.analysis.hierarchies.found import hierarchies_of
from streamreasoner.analysis.lattices import lattice_clashes
from streamreasoner.analysis.patterns import invalid_patterns
from streamreasoner.analysis.safety import unsafe
from streamreasoner.analysis.sizes import beyond_limits
from streamreasoner.analysis.strata.told_apart import APART, stratified
from streamreasoner.analysis.types import type_errors
from streamreasoner.analysis.warnings import (
    cartesian_products,
    duplicates,
    misspelt,
    quotients_in_atoms,
    single_use,
    unused,
)
from streamreasoner.lang.ast import QUAD, Hidden, Input, Output
from streamreasoner.lang.diagnostic import in_order, refuse
from streamreasoner.lang.directives import declared
from streamreasoner.lang.normal_form import normal_form, too_large
from streamreasoner.lang.parser import ParsedText, read
from streamreasoner.lang.printer import print_directive, print_literal, print_rule
from streamreasoner.program.bodies.expand import expand
from streamreasoner.program.columns import column_names, wrong_columns
from streamreasoner.program.constraint_checks import (
    asserted_violations,
    inconsistent_marks,
    violations_read_as_asserted,
    wrong_messages,
)
from streamreasoner.program.constraints import Constraint, constraints, within_graphs
from streamreasoner.program.endless import endless_rules
from streamreasoner.program.graphs.annotations import annotated, with_annotations
from streamreasoner.program.graphs.modes import WITHIN, graph_mode, with_graphs
from streamreasoner.program.imports import with_imports
from streamreasoner.program.sources import read_query, read_shapes, read_source
from streamreasoner.program.text import common_prefixes
from streamreasoner.system.garbage import without_collections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from streamreasoner.analysis.hierarchies.hierarchy import Copied, Hierarchy
    from streamreasoner.analysis.strata.guards import Guarded
    from streamreasoner.lang.ast import Annotate, Atom, Declaration, Expires, Program, Rule
    from streamreasoner.lang.diagnostic import Diagnostic

    Check: TypeAlias = Callable[[Program], Iterator[Diagnostic]]
    CheckAll: TypeAlias = Callable[[Sequence[Program]], Iterator[Diagnostic]]

CHECKS: tuple[Check, ...] = (unsafe, misused_builtins, type_errors, invalid_patterns)
"""Checks of single statements; they run even if other statements cannot be read."""

SIZES: tuple[Check, ...] = (too_large, beyond_limits)
"""Size limits, which bound the work of the other checks and therefore run first."""

CHECKS_OF_ALL: tuple[CheckAll, ...] = (
    arity_clashes,
    inconsistent_marks,
    asserted_violations,
    violations_read_as_asserted,
)
"""Checks that need all files of a program; they run even if statements cannot be read."""

WARNINGS: tuple[Check, ...] = (
    single_use,
    cartesian_products,
    quotients_in_atoms,
    contradictions,
)
"""Warnings about single statements of an accepted program."""

WARNINGS_OF_ALL: tuple[CheckAll, ...] = (misspelt, unused, duplicates)
"""Warnings that need all files of a program."""


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program without mistakes.

    Attributes:
        programs: The program as written, then one Program for each file it imports.
        rules: Rules of all files in normal form: one head; a body of Atom, Negation, Comparison and
            Call literals with at least one Atom. Arguments of a head are Constant, Variable,
            an expression, or an Aggregate on its own; those of body atoms also Wildcard.
            `bindings` gives the source of every variable's value.
        facts: Distinct facts of all files: atoms that hold constants only.
        arities: Number of arguments of every predicate; `triple` is always included.
        helpers: Number of arguments of every predicate that `bodies` adds; rules derive them, or
            `facts` has their facts.
        strata: Indexes into `rules`: strongly connected components in dependency order. Rules
            whose heads can be the same fact are in one stratum.
        guarded: How the schema decides the negation inside each stratum; None if it need not.
        inputs: Predicates declared with @input, in textual order.
        outputs: Predicates declared with @output, in textual order, and that of annotations; empty
            means all that are neither hidden nor constraints.
        hidden: Predicates declared with @hidden, in textual order.
        constraints: Predicates whose facts are violations, in textual order.
        warnings: Constructs that are legal but probably mistakes, in textual order.
        expiries: The facts that leave by themselves; a fact matches at most one of them.
        copied: The hierarchies that rules copy facts along.
        hierarchies: Those whose copies are not stored, see `with_hierarchies`.
    """

    programs: tuple[Program, ...]
    rules: tuple[Rule, ...]
    facts: tuple[Atom, ...]
    arities: Mapping[str, int]
    helpers: Mapping[str, int]
    strata: tuple[tuple[int, ...], ...]
    guarded: tuple[Guarded | None, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    hidden: tuple[str, ...]
    constraints: Mapping[str, Constraint]
    warnings: tuple[Diagnostic, ...]
    expiries: tuple[Expires, ...]
    copied: Copied = ()
    hierarchies: tuple[Hierarchy, ...] = ()

    @property
    def program(self) -> Program:
        """The program as written, without its imports."""
        return self.programs[0]

    @property
    def unlisted(self) -> frozenset[str]:
        """Predicates that people see only if they ask: declared with @hidden, not with @output."""
        return frozenset(self.hidden).difference(self.outputs)

    @property
    def left_out(self) -> frozenset[str]:
        """Predicates whose facts explanations leave out: the unlisted ones, in graphs too."""
        added = (name for name in self.helpers if name.endswith((WITHIN, APART)))
        return self.unlisted.union(added)

    @property
    def visible(self) -> dict[str, int]:
        """Number of arguments of every other predicate."""
        unlisted = self.unlisted
        return {name: arity for name, arity in self.arities.items() if name not in unlisted}

    def columns(self, predicate: str) -> tuple[str, ...]:
        """The columns of the arguments of a predicate, in tables; see `program.columns`."""
        return column_names(self.programs, predicate, self.arities[predicate])

    @property
    def published(self) -> frozenset[str]:
        """Predicates whose changes are published, other than violations."""
        return frozenset(self.outputs or self.visible.keys() - self.constraints.keys())

    @property
    def texts(self) -> Mapping[str, str]:
        """Maps the name of each file, as used in spans and diagnostics, to its text."""
        return _texts(self.programs)

    @property
    def hash(self) -> str:
        """SHA-256, in hex, of the canonical text of everything that determines the state.

        Comments, prefixes, @output, @hidden, @message, @columns, and the order and files of
        statements do not matter.
        """
        lines = sorted(print_rule(rule) for rule in self.rules)
        lines += sorted(print_literal(fact) for fact in self.facts)
        lines += sorted(print_directive(expiry) for expiry in self.expiries)
        lines += sorted(f"{predicate}/{arity}" for predicate, arity in self.arities.items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check(program: Program) -> CheckedProgram:
    """Check a program that parsed without mistakes, and the files it imports.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    return _check(ParsedText(program, (), complete=True))


def check_text(text: str, source: str = "<rules>") -> CheckedProgram:
    """Read and check a rule text; syntax errors and semantic errors are reported together.

    Args:
        text: The rules.
        source: Name of the text in diagnostics, such as the path of its file. Imports are resolved
            against the folder of this path.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    return _check(read(text, source))


def check_source(text: str, source: str, suffix: str | None = None) -> CheckedProgram:
    """Check the text of a file: shapes, a query or rules, as its name ends; see `check_text`.

    Args:
        text: The text.
        source: Its name.
        suffix: What its name would end in, if it does not tell.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    return _check(read_source(text, source, suffix))


def check_shapes(texts: Mapping[str, str]) -> CheckedProgram:
    """Check texts of shapes, by their names, as one program; see `check_text`.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    return _check_readings(read_shapes(texts))


def check_query(text: str, source: str, name: str) -> CheckedProgram:
    """Check a query in SPARQL, whose answers are facts of the predicate *name*.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    return _check(read_query(text, source, name))


def check_all(programs: Sequence[Program], added: Sequence[ParsedText] = ()) -> CheckedProgram:
    """Check files that were already read, and further texts.

    Raises:
        ProgramError: With a diagnostic for every mistake.
    """
    readings = [ParsedText(program, (), complete=True) for program in programs]
    return _check_readings([*readings, *added])


def _check(main: ParsedText) -> CheckedProgram:
    return _check_readings(with_imports(main))


@without_collections
def _check_readings(readings: Sequence[ParsedText]) -> CheckedProgram:
    written = tuple(reading.program for reading in readings)
    texts = _texts(written)
    expanded = expand(written)
    programs = expanded.programs
    unread = [item for reading in readings for item in reading.diagnostics]
    large = [item for find in SIZES for program in programs for item in find(program)]
    errors = [*unread, *large, *expanded.diagnostics]
    if large:
        raise refuse(errors, texts)
    errors += (item for find in CHECKS for program in programs for item in find(program))
    errors += (item for find in CHECKS_OF_ALL for item in find(programs))
    said, contradictory = graph_mode(written)
    errors += contradictory
    annotate, misplaced = annotated(written)
    errors += misplaced
    growing: list[Diagnostic] = []
    within = with_graphs(
        said,
        [part for program in programs for rule in program.rules for part in normal_form(rule)],
        {*_declared(programs, Hidden), *expanded.arities},
    )
    parts = within.rules
    if annotate is not None:
        parts = (*parts, *with_annotations(annotate, parts))
    rules = tuple(part for part in parts if part.body)
    facts = tuple(dict.fromkeys(part.head for part in parts if not part.body))
    hidden = {**expanded.arities, **within.hidden}
    components: Mapping[tuple[int, ...], Guarded | None] = {}
    # The placeholders of unreadable constants would unify with each other.
    if not unread:
        prefixes = common_prefixes(programs)
        found = stratified(rules, facts, prefixes)
        errors += found.diagnostics
        components = found.strata
        hidden |= found.hidden
        errors += lattice_clashes(rules, prefixes)
        errors += invalid_expiries(programs, prefixes)
        growing += endless_rules(rules, prefixes)
        errors += (item for item in growing if item.code == "SR303")
        rules = found.rules
    if all(reading.complete for reading in readings) and not expanded.diagnostics:
        errors += unknown_signatures(programs)
        errors += wrong_messages(programs)
        errors += wrong_columns(programs)
    if errors:
        # A literal that a helper has too is wrong in both.
        raise refuse(dict.fromkeys(errors), texts)
    warnings = [item for reading in readings for item in reading.warnings]
    warnings += (item for find in WARNINGS for program in written for item in find(program))
    warnings += (item for find in WARNINGS_OF_ALL for item in find(programs))
    warnings += growing
    violated = constraints(programs)
    inside = {of: within_graphs(violated[name], of) for name, of in within.constraints.items()}
    used = arities(programs, *([QUAD] if said is not None or annotate is not None else ()))
    used |= {of: used[name] + 1 for name, of in within.constraints.items()}
    checked = CheckedProgram(
        programs=written,
        rules=rules,
        facts=facts,
        arities=MappingProxyType(
            {name: arity for name, arity in used.items() if name not in expanded.arities}
        ),
        helpers=MappingProxyType(hidden),
        strata=tuple(components),
        guarded=tuple(components.values()),
        inputs=_declared(programs, Input),
        outputs=_outputs(programs, annotate),
        hidden=_declared(programs, Hidden),
        constraints=MappingProxyType({**violated, **inside}),
        warnings=in_order(warnings, texts),
        expiries=expiries(programs),
    )
    return replace(checked, copied=tuple(hierarchies_of(checked.rules, checked.visible)))


def _outputs(programs: Sequence[Program], annotate: Annotate | None) -> tuple[str, ...]:
    outputs = _declared(programs, Output)
    return (*outputs, QUAD) if outputs and annotate is not None else outputs


def _texts(programs: Sequence[Program]) -> dict[str, str]:
    return {program.source: program.text for program in programs}


def _declared(programs: Sequence[Program], kind: type[Declaration]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.predicate for item in declared(programs, kind)))
