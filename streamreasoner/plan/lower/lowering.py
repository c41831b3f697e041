"""Rules in normal form to plans. Invariant: names and constants of the program stay as written.

A rule becomes a tree of relational algebra (`steps`), which is rewritten (`rewrite`) and
differentiated (`delta`); the trees of its deltas are ordered (`order`). Projections of negated
atoms, the matches of aggregates (`aggregation`) and the parts of triple terms (`triple_patterns`)
are derived into hidden predicates, each complete before the stratum that reads it, or part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.normal_form import aggregates_matches, is_lattice
from streamreasoner.plan.algebra import Antijoin, PlanError, Project, walk
from streamreasoner.plan.delta.differentiate import differentiate
from streamreasoner.plan.lower.aggregation import SourcedTree, express, lattice, reductions
from streamreasoner.plan.lower.steps import STEPS, incomplete_expression
from streamreasoner.plan.lower.triple_patterns import TriplePatterns
from streamreasoner.plan.operands import Pattern, Value
from streamreasoner.plan.order.expected import Expected, Heads, expected
from streamreasoner.plan.order.left_deep import left_deep
from streamreasoner.plan.order.small import small_predicates
from streamreasoner.plan.program_plan import (
    SEGMENT,
    DeltaPlan,
    Expiry,
    Lattice,
    ProgramPlan,
    RulePlan,
    Stated,
    StratumPlan,
)
from streamreasoner.plan.rewrite import REWRITES
from streamreasoner.program.text import common_prefixes
from streamreasoner.system.garbage import without_collections

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.analysis.strata.guards import Guarded
    from streamreasoner.plan.algebra import PlanTree
    from streamreasoner.plan.program_plan import Reduction
    from streamreasoner.program.checked import CheckedProgram


@dataclass(frozen=True, slots=True)
class LoweringStep:
    """An intermediate tree of a rule, and the name of the step that produced it."""

    step: str
    tree: PlanTree


@without_collections
def lower(checked: CheckedProgram) -> ProgramPlan:
    """Plan every rule of *checked*, stratum by stratum."""
    lattices: list[Lattice] = []
    hidden: dict[str, int] = dict(checked.helpers)
    strata: list[StratumPlan] = []
    bodies = _Bodies(small_predicates(checked.rules))
    patterns = TriplePatterns()
    stated: list[Stated] = []
    for stratum, decided in zip(checked.strata, checked.guarded, strict=True):
        rules = {index: checked.rules[index] for index in stratum}
        if decided is not None:
            rules = {index: decided.waits(rule) for index, rule in rules.items()}
        opened: list[SourcedTree] = []
        for index, rule in rules.items():
            rules[index] = patterns.plain(rule)
            opened += (SourcedTree(lowered(e), index, added=True) for e in patterns.helpers)
        trees = {index: lowered(rule) for index, rule in rules.items()}
        heads = {index: checked.rules[index].head for index in stratum}
        aggregated = [i for i in stratum if aggregates_matches(heads[i])]
        plain = [SourcedTree(trees[i], i) for i in stratum if i not in aggregated]
        projections = [
            each for each in _projections(trees) if each.tree.head.predicate not in hidden
        ]
        beside = [*_recursive(opened, trees.values())]
        if decided is not None:
            beside += (each for each in projections if _reads_heads(each.tree, trees.values()))
        projections = [each for each in (*opened, *projections) if each not in beside]
        if decided is not None:
            beside += (
                SourcedTree(lowered(each), decided.sources.get(each, min(stratum)), added=True)
                for each in (*decided.rules, decided.waiting)
            )
            stated += _stated(decided)
            hidden |= {each.predicate: len(each.terms) for each in stated}
        made = express(
            reductions((heads[i], trees[i]) for i in aggregated),
            {id(trees[i]): i for i in aggregated},
        )
        added = (*projections, *beside)
        hidden |= {each.tree.head.predicate: len(each.tree.head.arguments) for each in added}
        hidden |= made.arities
        lattices += [lattice(heads[i], trees[i].head) for i in stratum if is_lattice(heads[i])]
        lattices += made.lattices
        strata += [
            _stratum(projections, (), bodies),
            _stratum(made.matches, (), bodies),
            _stratum((), made.results, bodies),
            _stratum((*plain, *made.heads, *beside), made.final, bodies, decided),
        ]
    read = (atom for rule in checked.rules for atom in traversal.asserted_atoms(rule))
    given = tuple(dict.fromkeys(map(_selection, read)))
    hidden |= {f"{ast.GIVEN}{each.predicate}": len(each.arguments) for each in given}
    expiries = tuple(map(_expiry, checked.expiries))
    for expiry in expiries:
        arity = len(expiry.pattern.arguments)
        hidden |= {expiry.asserted: arity, expiry.retracted: arity}
    return ProgramPlan(
        arities={**checked.arities, **hidden},
        strata=tuple(stratum for stratum in strata if stratum.rules or stratum.reductions),
        lattices=tuple(dict.fromkeys(lattices)),
        hidden=frozenset(hidden),
        expiries=expiries,
        given=given,
        stated=tuple(stated),
        hierarchies=checked.hierarchies,
        rules=checked.rules,
        prefixes=common_prefixes(checked.programs),
    )


def lowered(rule: ast.Rule) -> Project:
    """The final tree of a rule in normal form."""
    *_, last = stages(rule)
    if not isinstance(last.tree, Project):
        raise PlanError(f"The final tree derives no facts: {last.tree}.")
    return last.tree


def stages(rule: ast.Rule) -> Iterator[LoweringStep]:
    """All trees of a rule in normal form, step by step; the last one is the result."""
    tree = incomplete_expression(rule)
    yield LoweringStep("incomplete expression", tree)
    for name, step in {**STEPS, **REWRITES}.items():
        tree = step(tree)
        yield LoweringStep(name, tree)


def _projections(trees: Mapping[int, PlanTree]) -> Iterator[SourcedTree]:
    """The distinct projections of negated atoms, each for the first rule that has it."""
    projections: dict[str, SourcedTree] = {}
    for source, tree in trees.items():
        for node in walk(tree):
            if isinstance(node, Antijoin) and isinstance(node.negated, Project):
                predicate = node.negated.head.predicate
                projections.setdefault(predicate, SourcedTree(node.negated, source, added=True))
    yield from projections.values()


def _recursive(added: Iterable[SourcedTree], rules: Iterable[Project]) -> Iterator[SourcedTree]:
    """The added trees that read, by way of others or not, what rules may derive."""
    within = list(rules)
    for each in added:
        if _reads_heads(each.tree, within):
            within.append(each.tree)
            yield each


def _reads_heads(projection: Project, rules: Iterable[Project]) -> bool:
    """Whether rules may derive what a projection reads."""
    heads = [rule.head for rule in rules]
    return any(
        pattern.fits(head.predicate, head.constants)
        for pattern in projection.patterns
        for head in heads
    )


def _expiry(declared: ast.Expires) -> Expiry:
    return Expiry(_selection(declared.pattern), declared.after, declared.every)


def _selection(atom: ast.Atom) -> Pattern:
    """The facts that have the constants of an atom."""
    arguments = (
        Value(item.term) if isinstance(item, ast.Constant) else None for item in atom.arguments
    )
    return Pattern(atom.predicate, tuple(arguments))


def _stratum(
    rules: Iterable[SourcedTree],
    reduced: Iterable[Reduction],
    bodies: _Bodies,
    decided: Guarded | None = None,
) -> StratumPlan:
    made, results = tuple(rules), tuple(reduced)
    heads = Heads((*(each.tree.head for each in made), *(each.head for each in results)))
    planned = tuple(
        RulePlan(tree, bodies.plans(tree, heads), source, added) for tree, source, added in made
    )
    return StratumPlan(planned, results, decided)


def _stated(decided: Guarded) -> Iterator[Stated]:
    """The facts of hidden predicates that rules about kinds of facts begin with."""
    segments = {atom: SEGMENT * number for number, atom in enumerate(decided.barriers, start=1)}
    for atom in (*decided.facts, *segments):
        terms = (each.term for each in atom.arguments if isinstance(each, ast.Constant))
        yield Stated(atom.predicate, tuple(terms), segments.get(atom, 0))


class _Bodies:
    """The delta plans of bodies: the rules that a rule with several heads stands for share them."""

    def __init__(self, small: frozenset[str]) -> None:
        self._small = small
        self._plans: dict[tuple[object, tuple[Expected, ...]], list[DeltaPlan]] = {}

    def plans(self, tree: Project, heads: Heads) -> tuple[DeltaPlan, ...]:
        """The delta plans of a rule in a stratum with these heads."""
        facts = {each: expected(each, self._small, heads) for each in tree.patterns}
        key = tree.body, tuple(facts.values())
        if key not in self._plans:
            self._plans[key] = [left_deep(delta, facts) for delta in differentiate(tree)]
        return tuple(
            plan if plan.head == tree.head else DeltaPlan(Project(plan.tree.input, tree.head))
            for plan in self._plans[key]
        )
