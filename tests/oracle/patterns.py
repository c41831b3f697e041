"""Facts that may match atoms. Invariant: combinations are those of the product of the facts.

Of all choices of one fact for each atom they are the ones in which variables have one value; an
index for each atom finds them without trying the others.
"""

from __future__ import annotations

from collections import defaultdict

from streamreasoner.lang.ast import Constant, Variable

ANYTHING = "_"
"""Stands for a wildcard; not a valid term."""


def fits(arguments, pattern):
    """Whether the arguments of a fact match a pattern of terms and `ANYTHING`."""
    return all(
        part is ANYTHING or part == argument
        for part, argument in zip(pattern, arguments, strict=True)
    )


def combinations(atoms, facts):
    """(bindings, one fact for each atom) wherever variables and constants agree.

    Args:
        atoms: Positive atoms; their expressions are not compared.
        facts: Arguments of facts by predicate.
    """
    found, bound = [({}, ())], set()
    for atom in atoms:
        known = {
            at: each
            for at, each in enumerate(atom.arguments)
            if isinstance(each, Constant) or (isinstance(each, Variable) and each.name in bound)
        }
        index = defaultdict(list)
        for fact in facts[atom.reads]:
            index[tuple(fact[at] for at in known)].append(fact)
        found = [
            (extended, (*chosen, fact))
            for bindings, chosen in found
            for fact in index[tuple(_term(each, bindings) for each in known.values())]
            if (extended := extend(atom, fact, bindings)) is not None
        ]
        bound |= {each.name for each in atom.arguments if isinstance(each, Variable)}
    return found


def extend(atom, fact, bindings):
    """The bindings extended by matching an atom with a fact; None if they conflict."""
    extended = dict(bindings)
    for argument, value in zip(atom.arguments, fact, strict=True):
        if isinstance(argument, Variable) and extended.setdefault(argument.name, value) != value:
            return None
    return extended


def _term(known, bindings):
    return known.term if isinstance(known, Constant) else bindings[known.name]
