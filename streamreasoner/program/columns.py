"""Names of the arguments of predicates, as columns of tables. Invariant: no name comes twice."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from streamreasoner.analysis.arity import arities
from streamreasoner.counts import counted
from streamreasoner.lang import ast
from streamreasoner.lang.diagnostic import Diagnostic, line_of, similar
from streamreasoner.lang.directives import directives

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OTHERS: Final = ("iteration", "multiplicity", "ts")
"""Columns of tables that are not arguments."""


def column_names(programs: Sequence[ast.Program], predicate: str, arity: int) -> tuple[str, ...]:
    """The columns of the arguments of a predicate.

    They are those of its @columns. Without it, an argument has the name of its variable in the
    first rule for the predicate; otherwise `a0`, `a1`, and so on, by its position.
    """
    positions = positional(predicate, arity)
    if predicate in ast.COLUMNS:
        return positions
    declared = (each.atom for each in directives(programs, ast.Columns))
    rules = (rule for program in programs for rule in program.rules if rule.body)
    atoms = chain(declared, (head for rule in rules for head in rule.heads))
    for atom in (atom for atom in atoms if atom.predicate == predicate and atom.arity == arity):
        columns = tuple(
            argument.name if isinstance(argument, ast.Variable) else position
            for argument, position in zip(atom.arguments, positions, strict=True)
        )
        return columns if len({*columns, *OTHERS}) == arity + len(OTHERS) else positions
    return positions


def positional(predicate: str, arity: int) -> tuple[str, ...]:
    """The columns of the arguments by their positions, those of triples and quads by their letters.

    They are the columns of the tables of a state, too.
    """
    return ast.COLUMNS.get(predicate, tuple(f"a{position}" for position in range(arity)))


def wrong_columns(programs: Sequence[ast.Program]) -> Iterator[Diagnostic]:
    """Report directives about unknown predicates, for the second time, or with wrong names."""
    known = arities(programs)
    first: dict[str, ast.Columns] = {}
    for each in directives(programs, ast.Columns):
        atom = each.atom
        earlier = first.setdefault(atom.predicate, each)
        if atom.predicate in ast.COLUMNS:
            listed = ", ".join(ast.COLUMNS[atom.predicate])
            text = f"the columns of '{atom.predicate}' are always {listed}"
            yield Diagnostic("SR216", text, atom.span, "omit the directive")
        elif atom.predicate not in known:
            hint = similar(atom.predicate, known)
            yield Diagnostic(
                "SR216",
                f"no rule uses '{atom.predicate}'",
                atom.span,
                f"{hint}declare an unused input with @input {atom.predicate}/{atom.arity} .",
            )
        elif atom.arity != known[atom.predicate]:
            count = counted(known[atom.predicate], "argument")
            text = f"'{atom.predicate}' has {count}, but {counted(atom.arity, 'column')} here"
            yield Diagnostic("SR216", text, atom.span, "name each argument once")
        elif earlier != each:
            place = line_of(earlier.span, each.span)
            text = f"'{atom.predicate}' has other columns in {place}"
            yield Diagnostic("SR216", text, each.span, "name the columns of a predicate once")
        yield from _wrong_names(atom)


def _wrong_names(atom: ast.Atom) -> Iterator[Diagnostic]:
    names: set[str] = set(OTHERS)
    for argument in atom.arguments:
        if not isinstance(argument, ast.Variable):
            text = "a column is named by a variable"
            yield Diagnostic("SR216", text, argument.span, "write a variable for each argument")
        elif argument.name in names:
            text = f"a table would have two columns '{argument.name}'"
            yield Diagnostic("SR216", text, argument.span, "name each argument differently")
        else:
            names.add(argument.name)
