"""How many facts an atom may have. Invariant: an estimate depends on nothing but what is given.

Sizes are told by the name of a predicate, `edge`, or by an atom with constants and `_` elsewhere,
`triple(_, <http://example.org/knows>, _)`, for the facts that have the constants. Where `open` of
its `n` positions are neither bound nor constant, an atom is estimated to match

    size ** (open / n)

facts: columns are taken to be independent and to have equally many values. If the size is that of
the facts with the constants, `n` does not count those. An atom without open positions has one fact,
and what has no known size counts as large as the largest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.load import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from streamreasoner.plan.algebra import Pattern, ProgramPlan


def estimate(pattern: Pattern, bound: frozenset[str], sizes: Mapping[str, int]) -> float:
    """How many facts match a pattern of which some columns are bound."""
    arity, constants = len(pattern.arguments), len(pattern.constants)
    loose = arity - constants - len(pattern.bound_positions(bound))
    if not loose:
        return 1.0
    if key(pattern) in sizes:
        return math.pow(max(sizes[key(pattern)], 1), loose / (arity - constants))
    largest = max(sizes.values(), default=1)
    return math.pow(max(sizes.get(pattern.predicate, largest), 1), loose / arity)


def key(pattern: Pattern) -> str:
    """The name under which the size of a pattern's facts is told: `edge`, `edge(_, "1")`."""
    if not pattern.constants:
        return pattern.predicate
    terms = dict(pattern.constants)
    arguments = (terms.get(position, "_") for position in range(len(pattern.arguments)))
    return f"{pattern.predicate}({', '.join(arguments)})"


def measured(plan: ProgramPlan, paths: Iterable[Path]) -> dict[str, int]:
    """Count the facts in files that the atoms of a program ask for.

    Args:
        plan: The program, with any order of joins.
        paths: Files of facts; `rdf.load` says in which formats.

    Raises:
        DataError: A file cannot be read.
    """
    dictionary = Dictionary()
    patterns = {
        key(pattern): pattern
        for stratum in plan.strata
        for rule in stratum.rules
        for pattern in (*rule.body.patterns, *rule.body.negated)
    }
    sizes = dict.fromkeys(patterns, 0)
    for path in paths:
        for facts in load(path, dictionary):
            for name, pattern in patterns.items():
                if (facts.predicate, facts.args.shape[1]) == (
                    pattern.predicate,
                    len(pattern.arguments),
                ):
                    chosen = np.ones(len(facts.args), bool)
                    for position, term in pattern.constants:
                        chosen &= facts.args[:, position] == dictionary.intern(term)
                    sizes[name] += int(chosen.sum())
    # A predicate without facts is derived, and nothing is known of how many it will have.
    return {name: size for name, size in sizes.items() if size}
