"""Safety. Invariant: in a checked program every variable is bound, and every fact is ground.

A variable is bound by a positive atom or by an assignment (`binding`), so every body has finitely
many matches. In an unsafe rule, each unbound variable is reported once. A variable whose equality
needs an unbound variable is unbound itself: following these needs leads either to a variable that
nothing defines, or into a cycle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.binding import bindings, bound_by, bound_by_atoms, definitions
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.normal_form import normal_form
from streamreasoner.lang.printer import print_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


def unsafe(program: ast.Program) -> Iterator[Diagnostic]:
    """Report unbound variables, and wildcards outside the arguments of body atoms."""
    prefixes = program.prefixes
    for rule in program.rules:
        if not rule.body:
            yield from (item for head in rule.heads for item in _not_ground(head))
            continue
        for head in rule.heads:
            yield from _wildcards(head, in_head=True)
        for literal in rule.body:
            yield from _wildcards(literal, in_head=False)
        for part in normal_form(rule):
            yield from _unbound(part, prefixes)


def _not_ground(fact: ast.Atom) -> Iterator[Diagnostic]:
    for node in traversal.walk(fact):
        match node:
            case ast.Variable(name):
                message = f"variable '?{name}' in a fact"
            case ast.Wildcard():
                message = "wildcard `_` in a fact"
            case _:
                continue
        hint = "a fact holds constants only; a rule has a body after `:-`"
        yield Diagnostic("SR205", message, node.span, hint)


def _unbound(rule: ast.Rule, prefixes: Mapping[str, str]) -> Iterator[Diagnostic]:
    parts = bindings(rule)
    bound = bound_by_atoms(rule) | {name for name, _ in parts.assignments}
    occurrences: dict[str, tuple[ast.Variable, ast.Literal]] = {}
    # An unbound variable in an atom is part of an expression: report that first.
    for literal in (*rule.atoms, rule.head, *rule.body):
        for variable in traversal.variables(literal):
            if variable.name not in bound:
                occurrences.setdefault(variable.name, (variable, literal))
    cycles = _Cycles(parts.filters, bound)
    undefined = [name for name in occurrences if name not in cycles.equalities]
    for name in undefined:
        variable, literal = occurrences[name]
        yield _undefined(variable, literal, in_head=literal is rule.head)
    yield from cycles.report(undefined, prefixes)
    if not rule.atoms and not occurrences:
        yield Diagnostic(
            "SR204",
            "no positive atom in this body",
            rule.body[0].span,
            "add an atom that says what is aggregated",
        )


def _undefined(variable: ast.Variable, literal: ast.Literal, *, in_head: bool) -> Diagnostic:
    name = f"?{variable.name}"
    if in_head:
        message = f"variable '{name}' of the head is not bound in the body"
        hint = f"add an atom with {name} to the body, or compute it: `{name} = …`"
        return Diagnostic("SR201", message, variable.span, hint)
    hint = f"add an atom with {name} to the body"
    match literal:
        case ast.Negation(ast.Atom() as atom) if variable.name in bound_by(atom):
            hint += ", or write `_` if any value will do"
        case ast.Atom():
            message = f"variable '{name}' is not bound; an expression in an atom binds nothing"
            hint = (
                f"name the argument and compute from it: `{literal.predicate}(…, ?v), {name} = …`"
            )
            return Diagnostic("SR202", message, variable.span, hint)
        case _:
            pass
    message = f"variable '{name}' is not bound by a positive atom or an assignment"
    return Diagnostic("SR202", message, variable.span, hint)


def _wildcards(literal: ast.Literal, *, in_head: bool) -> Iterator[Diagnostic]:
    atoms = [node for node in traversal.walk(literal) if isinstance(node, ast.Atom)]
    legal = set() if in_head else {id(each) for atom in atoms for each in _matched(atom.arguments)}
    aggregated = {
        id(inner)
        for node in traversal.walk(literal)
        if isinstance(node, ast.Aggregate)
        for inner in traversal.walk(node)
    }
    for node in traversal.walk(literal):
        if isinstance(node, ast.Wildcard) and id(node) not in legal:
            place = "a head" if in_head else "a comparison, function or test"
            hint = "name the variable and bind it in an atom of the body"
            if id(node) in aggregated:
                place = "an aggregate"
                hint = "name a variable of the body: `count(?x)` counts matches for any value of ?x"
            yield Diagnostic("SR203", f"wildcard `_` in {place} has no value", node.span, hint)


def _matched(arguments: Iterable[ast.Expression]) -> Iterator[ast.Expression]:
    """Yield the arguments of an atom, and those in patterns of triple terms."""
    for argument in arguments:
        yield argument
        if isinstance(argument, ast.TripleTerm):
            yield from _matched(argument.parts)


class _Cycles:
    """The equalities of a rule that bind nothing because they need unbound variables.

    Attributes:
        equalities: Unbound variable to its equalities, each with the unbound variables it needs.

    Args:
        filters: Literals of the body that are neither positive atoms nor assignments.
        bound: Bound variables.
    """

    def __init__(self, filters: tuple[ast.Literal, ...], bound: frozenset[str]) -> None:
        self.equalities: dict[str, list[tuple[ast.Literal, list[str]]]] = {}
        for literal in filters:
            for name, expression in definitions(literal, bound):
                needs = [
                    variable.name
                    for variable in traversal.variables(expression)
                    if variable.name not in bound
                ]
                self.equalities.setdefault(name, []).append((literal, needs))

    def report(self, undefined: list[str], prefixes: Mapping[str, str]) -> Iterator[Diagnostic]:
        """Report each cycle once; variables that need an `undefined` one are explained by that."""
        explained = set(undefined)
        for name in self.equalities:
            self._spread(explained)
            if name not in explained:
                members, equalities = self._cycle(name)
                explained.update(members)
                yield _circular(members, equalities, prefixes)

    def _spread(self, explained: set[str]) -> None:
        """Add the variables that need an explained one, transitively."""
        changed = True
        while changed:
            dependent = {
                name
                for name, equalities in self.equalities.items()
                if any(explained.intersection(needs) for _, needs in equalities)
            }
            changed = not dependent <= explained
            explained |= dependent

    def _cycle(self, name: str) -> tuple[list[str], list[ast.Literal]]:
        """Follow the needs of `name` until a variable repeats."""
        path: list[str] = []
        used: list[ast.Literal] = []
        while name not in path:
            path.append(name)
            # `?x = ?y` leads from ?x to ?y and straight back, so prefer another equality.
            others = [pair for pair in self.equalities[name] if pair[0] not in used[-1:]]
            literal, needs = (others or self.equalities[name])[0]
            used.append(literal)
            name = needs[0]
        start = path.index(name)
        return path[start:], used[start:]


def _circular(
    members: list[str], equalities: list[ast.Literal], prefixes: Mapping[str, str]
) -> Diagnostic:
    ordered = sorted(dict.fromkeys(equalities), key=lambda literal: literal.span.start)
    printed = ", ".join(f"`{print_literal(literal, prefixes)}`" for literal in ordered)
    names = sorted(f"?{name}" for name in members)
    value = f"bind one of them in an atom of the body, or give it a value: `{names[0]} = …`"
    if len(ordered) < len(names):
        message = f"neither side of {printed} is bound by anything else"
        return Diagnostic("SR202", message, ordered[0].span, value)
    if len(names) == 1:
        message = f"'{names[0]}' is computed from itself: {printed}"
        hint = f"bind {names[0]} in an atom of the body, and give the result a name of its own"
    else:
        message = f"{' and '.join(names)} are computed from each other: {printed}"
        hint = value
    return Diagnostic("SR207", message, ordered[0].span, hint)
