"""Rule sets in a program (SPARQL 1.2 RL, Stratification Condition). Invariant: by rules alone.

A program keeps rules, not the rule sets that they are of. So a rule set that is added is checked
with all rules: a rule that runs once, as it assigns a variable or makes terms, is in no cycle with
a rule of the set. Negation in a cycle is refused as in any program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.components import components
from streamreasoner.analysis.strata.dependency import Heads
from streamreasoner.analysis.strata.unification import have_an_instance
from streamreasoner.lang.ast import TRIPLE, Call, Comparison, TripleTerm, Variable
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.normal_form import normal_form
from streamreasoner.lang.printer import print_rule
from streamreasoner.lang.traversal import variables, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from streamreasoner.lang.ast import Expression, Rule


def cycles_of_added(rules: Sequence[Rule], added: Collection[str]) -> Iterator[Diagnostic]:
    """Report each rule that runs once and is in a cycle with a rule that is added.

    Args:
        rules: The rules of the program as they are written.
        added: Names of the texts of rule sets that are added to it.
    """
    split = [(part, _runs_once(rule)) for rule in rules for part in normal_form(rule)]
    rules = [part for part, _ in split]
    heads = Heads.of(rules)
    graph = [
        [
            on
            for atom in rule.atoms
            if not atom.asserted
            for on in heads.unifying(atom)
            if have_an_instance(atom, rules[on].head)
        ]
        for rule in rules
    ]
    for component in components(graph):
        inside = [rules[index] for index in component]
        new = [rule for rule in inside if rule.span.source in added]
        once = [
            rules[each] for each in component if split[each][1] and {*graph[each]} & {*component}
        ]
        if new and once:
            yield Diagnostic(
                "SR304",
                "with the rules of the program, this rule is in a cycle of the dependency graph"
                " with one that runs once, as it assigns a variable or makes terms",
                new[0].span,
                "break the cycle, or add the rules in the rule language, where they may recurse:"
                f" `streamreasoner convert FILE --to dl`. The rule that runs once: "
                f"{print_rule(once[0])}",
            )


def _runs_once(rule: Rule) -> bool:
    """Whether a rule assigns a variable, or makes nodes or triple terms in its head."""
    others = (each for each in rule.body if not isinstance(each, Comparison))
    matched = {each.name for literal in others for each in variables(literal)}
    heads = [head for head in rule.heads if head.predicate == TRIPLE]
    return bool(heads) and (
        any(_is_made(argument) for head in heads for argument in head.arguments)
        or any(
            isinstance(side, Variable) and side.name not in matched
            for literal in rule.body
            if isinstance(literal, Comparison)
            for side in (literal.left, literal.right)
        )
    )


def _is_made(argument: Expression) -> bool:
    return any(isinstance(part, Call) for part in walk(argument)) or (
        isinstance(argument, TripleTerm) and any(variables(argument))
    )
