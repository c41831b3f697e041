"""What the core leaves open, for this language. Invariant: nothing here knows of iterations."""

from __future__ import annotations

from oracle import expressions, groups


class Meaning:
    """The worth of terms, conditions and groups of facts.

    Attributes:
        term: (expression, bindings) -> its term; None if it has no value.
        assigned: (rule, bindings) -> bindings with those of equations; None without a value.
        condition: (comparison or test, bindings) -> whether it holds.
        reduction: head -> what its matches are aggregated with; None if each derives a fact.
        results: (reduction, rows of operands) -> the aggregated facts.
        lattices: Those of the rules.

    Args:
        rules: All rules of a program.
    """

    term = staticmethod(expressions.term)
    assigned = staticmethod(expressions.assigned)
    condition = staticmethod(expressions.condition)
    reduction = staticmethod(groups.reduction)
    results = staticmethod(groups.results)

    def __init__(self, rules):
        self.lattices = {
            groups.lattice(each.head) for each in rules if groups.is_lattice(each.head)
        }

    def best(self, facts):
        """The facts that win their group in a lattice, and those of no lattice."""
        return groups.best(facts, self.lattices)
