"""Whether mappings fit a program. Invariant: no row of an accepted mapping fails for its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.config.rows import Column, Constant
from streamreasoner.counts import counted
from streamreasoner.errors import ConfigError
from streamreasoner.lang.ast import ARITIES
from streamreasoner.program.unknown import unknown_predicate
from streamreasoner.rdf.term_kind import TermKind, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.config.rows import Argument, MappedFact, RowMapping

_ALLOWED = (TermKind.IRI, TermKind.BLANK_NODE)
_PARTS = {0: "subject", 1: "predicate", 3: "graph"}


def check_mappings(
    mappings: Iterable[RowMapping],
    arities: Mapping[str, int],
    *,
    may_change: bool,
    hidden: frozenset[str] = frozenset(),
) -> None:
    """Check mappings before the first row of them is read.

    Args:
        mappings: Those of the configuration.
        arities: The predicates of the program, and their arities.
        may_change: Whether the program may get further predicates.
        hidden: Predicates that no message lists.

    Raises:
        ConfigError: Lists every fact that each row would be rejected for.
    """
    problems = [
        f"  input.map.{mapping.name}.facts[{at}]: {problem}"
        for mapping in mappings
        for at, fact in enumerate(mapping.facts)
        for problem in _problems(fact, arities, hidden, may_change=may_change)
    ]
    if problems:
        raise ConfigError("\n".join(["The mappings do not fit the program:", *problems]))


def _problems(
    fact: MappedFact, arities: Mapping[str, int], hidden: frozenset[str], *, may_change: bool
) -> Iterator[str]:
    arity = {**arities, **ARITIES}.get(fact.predicate)
    if fact.predicate not in arities and not may_change:
        visible = {name: number for name, number in arities.items() if name not in hidden}
        yield "; ".join(unknown_predicate(fact.predicate, visible))
    elif arity is not None and len(fact.args) != arity:
        yield f"{fact.predicate} has {counted(arity, 'argument')}; found {len(fact.args)}"
    elif fact.predicate in ARITIES:
        for position, part in _PARTS.items():
            if position < len(fact.args):
                kind = _kind(fact.args[position])
                if kind not in _ALLOWED or (part == "predicate" and kind is not TermKind.IRI):
                    allowed = "an IRI" if part == "predicate" else "an IRI or a blank node"
                    yield f"args[{position}], the {part} of a {fact.predicate}, must be {allowed}"


def _kind(argument: Argument) -> TermKind | None:
    """Which kind of term an argument is in all rows."""
    if isinstance(argument, Column):
        return TermKind.LITERAL
    return kind_of(argument.term if isinstance(argument, Constant) else argument.texts[0])
