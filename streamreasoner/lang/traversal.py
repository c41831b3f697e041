"""What is below a node of an AST. Invariant: nodes come in textual order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from streamreasoner.lang.ast import (
    NEW_NODE,
    Aggregate,
    Atom,
    BinaryOperation,
    BodyAggregate,
    Call,
    Comparison,
    Conditional,
    Constant,
    Disjunction,
    NegatedBody,
    Negation,
    TripleTerm,
    UnaryMinus,
    Variable,
    Wildcard,
)
from streamreasoner.lang.constants import triple_term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from streamreasoner.lang.ast import Expression, Literal, Node, Rule


def children(  # noqa: C901, PLR0911 - one case each
    node: Expression | Literal,
) -> tuple[Expression | Literal, ...]:
    """Return the nodes directly below `node`, in textual order."""
    match node:
        case Constant() | Variable() | Wildcard():
            return ()
        case Atom() | Call() | Aggregate():
            return node.arguments
        case TripleTerm():
            return node.parts
        case BinaryOperation(_, left, right) | Comparison(left, _, right):
            return (left, right)
        case UnaryMinus(operand):
            return (operand,)
        case Conditional(condition, then, otherwise):
            return (*condition, then, otherwise)
        case BodyAggregate(_, arguments, body):
            return (*arguments, *body)
        case Negation(atom):
            return (atom,)
        case NegatedBody(body):
            return body
        case Disjunction(alternatives):
            return tuple(literal for alternative in alternatives for literal in alternative)
        case _:
            assert_never(node)


def changed(node: Node, change: Callable[[Any], Any]) -> Node:  # noqa: PLR0911 - one case each
    """Return a node with other nodes directly below it; one that has none, as it is."""
    match node:
        case TripleTerm():
            return triple_term(map(change, node.parts), node.span)  # type: ignore[return-value]
        case BinaryOperation(_, left, right) | Comparison(left, _, right):
            return replace(node, left=change(left), right=change(right))
        case UnaryMinus(operand):
            return replace(node, operand=change(operand))
        case Call(_, arguments) | Atom(_, arguments) | Aggregate(_, arguments):
            return replace(node, arguments=tuple(map(change, arguments)))
        case BodyAggregate(_, arguments, body):
            below = tuple(map(change, arguments))
            return replace(node, arguments=below, body=tuple(map(change, body)))
        case Conditional(condition, then, otherwise):
            conditions = tuple(map(change, condition))
            return replace(
                node, condition=conditions, then=change(then), otherwise=change(otherwise)
            )
        case Negation(atom):
            return replace(node, atom=change(atom))
        case NegatedBody(body):
            return replace(node, body=tuple(map(change, body)))
        case Disjunction(alternatives):
            parts = tuple(tuple(map(change, literals)) for literals in alternatives)
            return replace(node, alternatives=parts)
        case _:
            return node


def substituted(node: Node, terms: Mapping[str, Expression]) -> Node:
    """A literal or an expression with terms in the place of variables."""
    if isinstance(node, Variable):
        return terms.get(node.name, node)  # type: ignore[return-value]
    return changed(node, lambda each: substituted(each, terms))


def walk(node: Expression | Literal) -> Iterator[Expression | Literal]:
    """Yield `node` and every node below it, in textual order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += children(node)[::-1]


def variables(node: Expression | Literal) -> Iterator[Variable]:
    """Yield every occurrence of a named variable in `node`, in textual order."""
    for item in walk(node):
        if isinstance(item, Variable):
            yield item


def unused_names(names: Iterable[str], rule: Rule) -> Iterator[str]:
    """Yield those of the names that no variable of a rule has."""
    used = {each.name for part in (*rule.heads, *rule.body) for each in variables(part)}
    return (name for name in names if name not in used)


def new_nodes(node: Expression | Literal) -> Iterator[Call]:
    """Yield every new node, `blank("label")`, in `node`, in textual order."""
    for item in walk(node):
        if isinstance(item, Call) and item.function == NEW_NODE:
            yield item


def has_pattern(atom: Atom) -> bool:
    """Return whether an argument of an atom is a triple term that is not constant."""
    return any(isinstance(each, TripleTerm) for each in atom.arguments)


def atom_of(literal: Literal) -> Atom | None:
    """Return the atom of a literal, negated or not; None if it has none."""
    match literal:
        case (Atom() as atom) | Negation(Atom() as atom):
            return atom
        case _:
            return None


def has_new_nodes(rule: Rule) -> bool:
    """Return whether a rule has new nodes, where they belong or not."""
    return any(any(new_nodes(part)) for part in (*rule.heads, *rule.body))


def asserted_atoms(rule: Rule) -> Iterator[Atom]:
    """Yield the atoms of a body that only asserted facts match, in textual order."""
    for literal in rule.body:
        for item in walk(literal):
            if isinstance(item, Atom) and item.asserted:
                yield item
