"""Facts that may match atoms. Invariant: combinations are those of the product of the facts.

Of all choices of one fact for each atom they are the ones in which variables have one value; an
index for each atom finds them without trying the others.
"""

from __future__ import annotations

from collections import defaultdict

from oracle.terms import triple
from streamreasoner.lang.ast import Constant, TripleTerm, Variable

ANYTHING = "_"
"""Stands for a wildcard; not a valid term."""


def fits(arguments, pattern):
    """Whether the arguments of a fact match a pattern of terms and `ANYTHING`.

    A tuple in a pattern matches triple terms.
    """
    return all(
        (triple(argument) is not None and fits(triple(argument), part))
        if isinstance(part, tuple)
        else part is ANYTHING or part == argument
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
        bound |= {*named(atom.arguments)}
    return found


def extend(atom, fact, bindings):
    """The bindings extended by matching an atom with a fact; None if they conflict."""
    extended = dict(bindings)
    return extended if _extend(atom.arguments, fact, extended) else None


def _extend(arguments, terms, bindings):
    """Bind variables to terms, those within triple terms too; whether nothing conflicts."""
    for argument, term in zip(arguments, terms, strict=True):
        match argument:
            case Variable(name) if bindings.setdefault(name, term) != term:
                return False
            case TripleTerm():
                parts = triple(term)
                if parts is None or not _extend(argument.parts, parts, bindings):
                    return False
    return True


def named(arguments):
    """The variables that arguments of an atom bind."""
    for argument in arguments:
        if isinstance(argument, Variable):
            yield argument.name
        elif isinstance(argument, TripleTerm):
            yield from named(argument.parts)


def _term(known, bindings):
    return known.term if isinstance(known, Constant) else bindings[known.name]
