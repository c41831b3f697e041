"""A program of many files as one text. Invariant: parsing it gives a program with the same hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.analysis.expiry import expiries
from streamreasoner.lang.ast import (
    Annotate,
    Columns,
    Graphs,
    Hidden,
    Input,
    Message,
    Output,
)
from streamreasoner.lang.directives import declared, directives
from streamreasoner.lang.printer import print_directive, print_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.lang.ast import Declaration, Program


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program as one text.

    Attributes:
        hash: SHA-256, in hex, of what determines the state.
        text: Directives, rules and facts in canonical form, without imports.
        predicates: `name/arity` of every predicate, hidden ones too, sorted; `!name/arity` of a
            constraint.
    """

    hash: str
    text: str
    predicates: tuple[str, ...]

    @property
    def arities(self) -> dict[str, int]:
        """Number of arguments of each predicate."""
        split = (predicate.rpartition("/") for predicate in self.predicates)
        return {name.removeprefix("!"): int(arity) for name, _, arity in split}

    @property
    def constraints(self) -> frozenset[str]:
        """The predicates that are constraints."""
        marked = (predicate for predicate in self.predicates if predicate.startswith("!"))
        return frozenset(predicate[1:].rpartition("/")[0] for predicate in marked)


def canonical_text(programs: Sequence[Program]) -> str:
    """Print the statements of all files, imported ones included.

    IRIs are shortened by the prefixes that mean the same in all files that have them.
    """
    prefixes = common_prefixes(programs)
    lines = [f"@prefix {name}: <{iri}> ." for name, iri in prefixes.items()]
    lines += map(print_directive, _declaration(programs, Input))
    lines += map(print_directive, _declaration(programs, Output))
    lines += (print_directive(expiry, prefixes) for expiry in expiries(programs))
    lines += map(print_directive, _declaration(programs, Hidden))
    for kind in (Graphs, Annotate, Message, Columns):
        lines += dict.fromkeys(map(print_directive, directives(programs, kind)))
    lines += [print_rule(rule, prefixes) for program in programs for rule in program.rules]
    return "".join(f"{line}\n" for line in lines)


def declarations(programs: Sequence[Program]) -> frozenset[str]:
    """What a program says beyond what determines the state, each as a statement.

    That is what is published, what violations say, and what columns are called.
    """
    published = (
        print_directive(kind((signature,), signature.span))
        for kind in (Output, Hidden)
        for signature in declared(programs, kind)
    )
    texts = map(print_directive, directives(programs, Message))
    columns = map(print_directive, directives(programs, Columns))
    return frozenset((*published, *texts, *columns))


def common_prefixes(programs: Sequence[Program]) -> dict[str, str]:
    """Return the prefixes that mean the same in all files that have them."""
    meanings: dict[str, set[str]] = {}
    for program in programs:
        for name, iri in program.prefixes.items():
            meanings.setdefault(name, set()).add(iri)
    return {name: iris.pop() for name, iris in meanings.items() if len(iris) == 1}


def _declaration(programs: Sequence[Program], kind: type[Declaration]) -> Iterator[Declaration]:
    """Merge the declarations of one kind into one, if there are any."""
    signatures = tuple(dict.fromkeys(declared(programs, kind)))
    if signatures:
        yield kind(signatures, signatures[0].span)
