"""What has braces in a body, as heads of helpers. Invariant: an empty group counts 0.

`?n = count(?y) { edge(?x, ?y) }` alongside `node(?x)` becomes

    ?n = ?count.1, (count#1f(?x, ?count.1) | not some#1f(?x), ?count.1 = 0)
    count#1f(?x, count(?y)) :- edge(?x, ?y) .
    some#1f(?x) :- edge(?x, ?y) .

`not { edge(?x, ?y), ?y > ?z }` becomes `not some#2b(?x, ?z)`, and a single atom `not edge(?x, _)`.

The *outer* variables are those that the rule has elsewhere too; they are the group. One that the
braces do not bind is bound by the literals outside that do, in a helper of its own, `outer#1f`. So
nothing new is evaluated: strata, plans, backends and explanations see rules as there are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.constants import UNREADABLE
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.printer import digest, print_rule
from streamreasoner.program.bodies.scope import Scope, bound_by_atoms, has_atom
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.values.sums import CHOOSING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from streamreasoner.program.bodies.ranges import Ranges

_EMPTY = frozenset({"count", "sum"})
"""Aggregates that are 0 of nothing; the others have no value."""

_BRACES = ast.BodyAggregate | ast.NegatedBody


class Nested:
    """Replaces the aggregates and negated conjunctions in the body of one rule.

    Attributes:
        helpers: The rules of helpers.
        diagnostics: What is wrong with them.

    Args:
        ranges: Replaces the ranges in braces.
    """

    def __init__(self, ranges: Ranges) -> None:
        self.helpers: list[ast.Rule] = []
        self.diagnostics: list[Diagnostic] = []
        self._ranges = ranges
        self._count = 0

    def rule(self, rule: ast.Rule) -> ast.Rule:
        """The rule without braces in its body."""
        if not any(map(_has_braces, (*rule.heads, *rule.body))):
            return rule
        outside = {name for node in (*rule.heads, *rule.body) for name in _outside(node)}
        scope = Scope(frozenset(outside), ())
        body = self._conjunction(rule.body, scope)
        added: list[ast.Literal] = []
        scope = scope.within(body)
        heads = tuple(self._replaced(head, scope, added) for head in rule.heads)
        return replace(rule, heads=heads, body=(*body, *added))

    def _conjunction(
        self, literals: tuple[ast.Literal, ...], scope: Scope
    ) -> tuple[ast.Literal, ...]:
        """Literals without braces, each after those that it reads the results of."""
        scope = scope.within(literal for literal in literals if not _has_braces(literal))
        done: list[ast.Literal] = []
        for literal in literals:
            if not _has_braces(literal):
                done.append(literal)
                continue
            made: list[ast.Literal] = []
            if isinstance(literal, ast.Disjunction):
                alternatives = (self._conjunction(each, scope) for each in literal.alternatives)
                made.append(replace(literal, alternatives=tuple(alternatives)))
            elif isinstance(literal, ast.NegatedBody):
                made.append(self._absent(literal, scope))
            else:
                replaced = self._replaced(literal, scope, made)
                made.append(replaced)
            scope = scope.within(made)
            done += made
        return tuple(done)

    def _replaced(self, node: ast.Node, scope: Scope, added: list[ast.Literal]) -> ast.Node:
        """A node with a variable for each aggregate, and the literals that bind it."""
        if isinstance(node, ast.BodyAggregate):
            return self._variable(node, scope, added)  # type: ignore[return-value]
        if _is_lazy(node) and _has_braces(node):
            message = "an aggregate over a body in an expression that may not need it"
            hint = "name it in a literal of its own, `?n = count(?y) { … }`, and use the name"
            self.diagnostics.append(Diagnostic("SR236", message, node.span, hint))
            return ast.Constant(UNREADABLE, node.span)  # type: ignore[return-value]

        def change(child: Any) -> Any:
            return self._replaced(child, scope, added)

        return traversal.changed(node, change)

    def _variable(
        self, node: ast.BodyAggregate, scope: Scope, added: list[ast.Literal]
    ) -> ast.Variable | ast.Constant:
        """Derive an aggregate into a helper, and bind a new variable to its result."""
        if node.function in CHOOSING:
            message = f"'{node.function}' has several results, and an expression has one"
            hint = f"derive them into a predicate of its own: `best({node.function}(?x, 3)) :- …`"
            self.diagnostics.append(Diagnostic("SR237", message, node.span, hint))
            return ast.Constant(UNREADABLE, node.span)
        scope = scope.within(added)
        group, body, unbound = self._inner(node, scope)
        self._check(node, body, group, unbound, scope)
        body = self._bound(body, group, unbound, scope)
        arguments = node.arguments or (ast.Constant(to_ntriples(1), node.span),)
        aggregate = ast.Aggregate(node.function, arguments, node.span, node.distinct)
        result = self._helper(node.function, (*group, aggregate), body, node.span)
        self._count += 1
        variable = ast.Variable(f"{node.function}.{self._count}", node.span)
        found = replace(result, arguments=(*group, variable))
        if node.function not in _EMPTY:
            added.append(found)
            return variable
        present = replace(result, arguments=(*group, ast.Wildcard(node.span)))
        if node.function != "count":
            # A sum that does not fit has no value; it is not the sum of nothing.
            present = self._helper("some", group, body, node.span)
        zero = ast.Constant(to_ntriples(0), node.span)
        nothing = (
            ast.Negation(present, node.span),
            ast.Comparison(variable, "=", zero, node.span),
        )
        added.append(ast.Disjunction(((found,), nothing), node.span))
        return variable

    def _absent(self, node: ast.NegatedBody, scope: Scope) -> ast.Negation:
        """Derive the matches of a negated conjunction into a helper, and negate it."""
        group, body, unbound = self._inner(node, scope)
        for each in group:
            if scope.binders({each.name}) is None:
                message = f"variable '?{each.name}' of a negation is not bound outside its braces"
                hint = (
                    f"add an atom with ?{each.name} to the body;"
                    " a variable of the braces alone has a name of its own"
                )
                self.diagnostics.append(Diagnostic("SR202", message, each.span, hint))
        match body:
            case (ast.Atom() as atom,) if (single := _with_wildcards(atom, group)) is not None:
                return ast.Negation(single, node.span)
            case _:
                body = self._bound(body, group, unbound, scope)
                return ast.Negation(self._helper("some", group, body, node.span), node.span)

    def _inner(
        self, node: ast.BodyAggregate | ast.NegatedBody, scope: Scope
    ) -> tuple[tuple[ast.Variable, ...], tuple[ast.Literal, ...], set[str]]:
        """The outer variables of braces, their body, and the names that its atoms do not bind."""
        outer = _unique(each for each in traversal.variables(node) if each.name in scope.outside)
        body = self._ranges.conjunction(node.body)
        return outer, body, {each.name for each in outer} - bound_by_atoms(body)

    def _bound(
        self,
        body: tuple[ast.Literal, ...],
        group: Sequence[ast.Variable],
        unbound: Collection[str],
        scope: Scope,
    ) -> tuple[ast.Literal, ...]:
        """The body of braces, with an atom for the outer variables that its own do not bind."""
        binders = scope.binders(unbound) if unbound else None
        if not binders:
            return body
        read = tuple(each for each in group if each.name in unbound)
        return (self._helper("outer", read, binders, read[0].span), *body)

    def _helper(
        self,
        name: str,
        arguments: tuple[ast.Expression, ...],
        body: tuple[ast.Literal, ...],
        span: ast.Span,
    ) -> ast.Atom:
        """Add the rule of a helper, which its own text names; return its head."""
        text = print_rule(ast.Rule((ast.Atom(name, arguments, span),), body, span))
        head = ast.Atom(f"{name}#{digest(text)}", arguments, span)
        inner = Nested(self._ranges)
        self.helpers.append(inner.rule(ast.Rule((head,), body, span)))
        self.helpers += inner.helpers
        self.diagnostics += inner.diagnostics
        return head

    def _check(
        self,
        node: ast.BodyAggregate,
        body: tuple[ast.Literal, ...],
        group: Sequence[ast.Variable],
        unbound: Collection[str],
        scope: Scope,
    ) -> None:
        if not has_atom(body):
            message = "no positive atom in the braces of an aggregate"
            hint = "add an atom that says what is aggregated"
            self.diagnostics.append(Diagnostic("SR204", message, node.span, hint))
        for each in group:
            if scope.binders({each.name}) is not None:
                continue
            if each.name in unbound or node.function in _EMPTY:
                message = f"variable '?{each.name}' of an aggregate is not bound outside its braces"
                hint = (
                    f"add an atom with ?{each.name} to the body: it says which groups there are,"
                    " empty ones too; a variable of the braces alone has a name of its own"
                )
                self.diagnostics.append(Diagnostic("SR202", message, each.span, hint))


def _outside(node: ast.Expression | ast.Literal) -> Iterator[str]:
    """The variables of a node that are not in braces."""
    if isinstance(node, ast.Variable):
        yield node.name
    if not isinstance(node, _BRACES):
        for child in traversal.children(node):
            yield from _outside(child)


def _has_braces(node: ast.Expression | ast.Literal) -> bool:
    return any(isinstance(each, _BRACES) for each in traversal.walk(node))


def _with_wildcards(atom: ast.Atom, group: Collection[ast.Variable]) -> ast.Atom | None:
    """An atom with `_` for its local variables; None if it has one twice, or an expression."""
    local = [
        each
        for each in atom.arguments
        if not isinstance(each, ast.Constant | ast.Wildcard) and each not in group
    ]
    if len(set(local)) < len(local) or not all(isinstance(each, ast.Variable) for each in local):
        return None
    arguments = (ast.Wildcard(each.span) if each in local else each for each in atom.arguments)
    return replace(atom, arguments=tuple(arguments))


def _is_lazy(node: ast.Expression | ast.Literal) -> bool:
    """Whether parts of an expression may not be needed."""
    return isinstance(node, ast.Conditional) or (
        isinstance(node, ast.Call) and node.function == "coalesce"
    )


def _unique(variables: Iterable[ast.Variable]) -> tuple[ast.Variable, ...]:
    """The first occurrence of each variable."""
    return tuple(dict.fromkeys(variables))
