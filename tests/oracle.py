"""The reference evaluation: naive, over plain sets and dicts. Invariant: small enough to believe.

A fact is (predicate, arguments as canonical terms); a trace is fact -> {iteration: multiplicity}.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from fractions import Fraction

from streamreasoner.lang.ast import Constant, Variable, Wildcard

XSD = "http://www.w3.org/2001/XMLSchema#"
INTEGERS = re.compile(r"integer|long|int|short|byte|unsigned\w+|(non)?([Pp]osi|[Nn]ega)tiveInteger")


def evaluate(checked, facts):
    """The trace of `checked` over `facts`, a dict from fact to multiplicity (any sign)."""
    trace = {fact: {0: multiplicity} for fact, multiplicity in facts.items() if multiplicity}
    for stratum in checked.strata:
        rules = [checked.rules[index] for index in stratum]
        first = {fact: 0 for fact, counts in trace.items() if sum(counts.values()) > 0}
        iteration, fresh = 0, True
        # Iteration i + 1 gets one for each combination of body facts whose latest came at i.
        while fresh:
            heads = [head for rule in rules for head in derivations(rule, first, iteration)]
            iteration += 1
            for head in heads:
                counts = trace.setdefault(head, {})
                counts[iteration] = counts.get(iteration, 0) + 1
            present = {head for head in heads if sum(trace[head].values()) > 0}
            fresh = present - first.keys()
            first |= dict.fromkeys(fresh, iteration)
    return trace


def closure(trace):
    """The facts that are present in the end."""
    return {fact for fact, counts in trace.items() if sum(counts.values()) > 0}


def derived(trace):
    """The facts that are present and not asserted."""
    return {fact for fact in closure(trace) if trace[fact].get(0, 0) <= 0}


def derivations(rule, first, latest):
    """The head for each combination of body facts that is complete at iteration `latest`."""
    combinations = [({}, 0)]
    for atom in rule.atoms:
        candidates = [fact for fact in first if match(atom, fact, {}) is not None]
        combinations = [
            (extended, max(iteration, first[fact]))
            for bindings, iteration in combinations
            for fact in candidates
            if (extended := match(atom, fact, bindings)) is not None
        ]
    for bindings, iteration in combinations:
        if iteration == latest and all(holds(each, bindings) for each in rule.comparisons):
            yield rule.head.predicate, tuple(term(each, bindings) for each in rule.head.arguments)


def match(atom, fact, bindings):
    """The bindings extended so that `atom` is `fact`, or None."""
    if fact[0] != atom.predicate or len(fact[1]) != len(atom.arguments):
        return None
    extended = dict(bindings)
    for pattern, value in zip(atom.arguments, fact[1], strict=True):
        if isinstance(pattern, Variable):
            if extended.setdefault(pattern.name, value) != value:
                return None
        elif not isinstance(pattern, Wildcard) and pattern.term != value:
            return None
    return extended


def term(expression, bindings):
    """The term of a constant or a bound variable."""
    return expression.term if isinstance(expression, Constant) else bindings[expression.name]


def holds(comparison, bindings):
    """Whether the values of both sides compare as the operator says."""
    one, other = (term(side, bindings) for side in (comparison.left, comparison.right))
    (kind, left), (other_kind, right) = value(one), value(other)
    if one == other:
        return comparison.operator in ("=", "<=", ">=")
    if kind is None or kind != other_kind:
        return comparison.operator == "!="
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return {"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right,
            ">": left > right, ">=": left >= right}[comparison.operator]  # fmt: skip


def value(text):  # noqa: PLR0911
    """(kind, comparable Python value) of a canonical term; kind None if it compares to nothing."""
    literal = re.fullmatch(r'"(.*)"(?:\^\^<(.*)>)?', text, re.DOTALL)
    if literal is None:
        return None, None
    lexical, datatype = literal[1], (literal[2] or XSD + "string").removeprefix(XSD)
    if datatype == "string":
        return "string", json.loads(f'"{lexical}"')
    try:
        if datatype == "decimal" or INTEGERS.fullmatch(datatype):
            number = Fraction(lexical)
            exact = -(2**63) <= number < 2**63 and (number * 10**18).denominator == 1
            return "number", number if exact else float(number)
        if datatype == "double":
            return "number", float(lexical)
        if datatype == "boolean":
            return "boolean", {"true": True, "1": True, "false": False, "0": False}[lexical]
        if datatype in ("date", "dateTime"):
            instant = datetime.fromisoformat(lexical)
            return "time", instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    except (ValueError, ArithmeticError, KeyError):
        pass
    return None, None
