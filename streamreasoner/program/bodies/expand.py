"""Rules of the text to rules with plain bodies. Invariant: they derive the same facts.

What a plain body does not have is derived into *helpers*, predicates that no text can name:

- an aggregate in a body is an aggregate in the head of a helper, and a negated conjunction the
  negation of one (`nested`);
- a range is a helper of facts (`ranges`);
- a new node in a head is a function of the variables of the body (`new_nodes`);
- a body without an atom gets one, `true#()`, whose one fact is always present, so it has one match.

A fact with an expression is such a rule. Helpers with equal rules are one helper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.normal_form import aggregates_matches, is_lattice
from streamreasoner.program.bodies.nested import Nested
from streamreasoner.program.bodies.new_nodes import misplaced_nodes, with_nodes
from streamreasoner.program.bodies.ranges import Ranges
from streamreasoner.program.bodies.scope import has_atom

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streamreasoner.lang.diagnostic import Diagnostic

TRUE = "true#"
"""The predicate of the fact that is always present."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A program whose bodies are plain.

    Attributes:
        programs: The files with their rules, and the rules and facts of helpers; rules with a
            mistake are left out, as what they were meant to be is not known.
        arities: Number of arguments of each helper.
        diagnostics: What is wrong with an aggregate in a body or a range.
    """

    programs: tuple[ast.Program, ...]
    arities: Mapping[str, int]
    diagnostics: tuple[Diagnostic, ...]


@dataclass(slots=True)
class _Made:
    """The rules and facts of helpers so far."""

    rules: dict[ast.Rule, None] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def expand(programs: Sequence[ast.Program]) -> Expanded:
    """Give all files of a program plain bodies."""
    made = _Made()
    expanded = tuple(
        replace(program, rules=tuple(_expanded(program.rules, made))) for program in programs
    )
    helpers = {rule.head.predicate: rule.head.arity for rule in made.rules}
    return Expanded(expanded, helpers, tuple(made.diagnostics))


def _expanded(rules: Iterable[ast.Rule], made: _Made) -> Iterable[ast.Rule]:
    for rule in rules:
        ranges = Ranges()
        nested = Nested(ranges)
        plain = nested.rule(ranges.rule(rule))
        nodes = misplaced_nodes(rule)
        if mistakes := (*ranges.diagnostics, *nested.diagnostics, *nodes):
            made.diagnostics += mistakes
            continue
        facts = [_fact(each) for each in ranges.facts]
        own = [plain, *nested.helpers]
        if any(map(_lacks_an_atom, own)):
            true = ast.Atom(TRUE, (), rule.span)
            facts.append(_fact(true))
            own = [
                replace(each, body=(true, *each.body)) if _lacks_an_atom(each) else each
                for each in own
            ]
        yield from with_nodes(rule, own[0]) if traversal.has_new_nodes(rule) else own[:1]
        for helper in (*own[1:], *facts):
            if helper not in made.rules:
                made.rules[helper] = None
                yield helper


def _fact(atom: ast.Atom) -> ast.Rule:
    return ast.Rule((atom,), (), atom.span)


def _lacks_an_atom(rule: ast.Rule) -> bool:
    """Whether a body has an alternative without an atom; a fact of constants lacks nothing.

    A rule whose head aggregates needs an atom of its own, which says what is aggregated.
    """
    computed = any(_is_computed(argument) for head in rule.heads for argument in head.arguments)
    if not (rule.body or computed) or any(
        aggregates_matches(head) or is_lattice(head) for head in rule.heads
    ):
        return False
    return not has_atom(rule.body)


def _is_computed(argument: ast.Expression) -> bool:
    """Whether an argument of a fact is an expression without variables."""
    return not isinstance(argument, ast.Constant) and not any(
        isinstance(node, ast.Variable | ast.Wildcard) for node in traversal.walk(argument)
    )
