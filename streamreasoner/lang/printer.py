"""AST to text. Invariant: parse(print_program(p)) == p.

The text is canonical: each node has one spelling, with IRIs shortened by the given prefixes.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, assert_never

from streamreasoner import durations
from streamreasoner.lang import ast
from streamreasoner.lang.constants import RDF_TYPE, bare
from streamreasoner.rdf.term_kind import is_iri, is_triple_term
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.triple_terms import nested_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PREFIX_NAME = re.compile(r"(?:[^\W\d_](?:[\w.\-]*[\w\-])?)?")
"""Names of prefixes in the rule language; the grammar has the same, with a colon."""

_DIGITS = 8
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
_ADDITION, _MULTIPLICATION, _SIGN, _POWER, _OPERAND = range(5)
_PARTS = ast.Constant | ast.Variable | ast.Wildcard | ast.TripleTerm | ast.Call
"""What can stand in a triple term as it is."""
_STRENGTH = {
    "+": _ADDITION,
    "-": _ADDITION,
    "*": _MULTIPLICATION,
    "/": _MULTIPLICATION,
    "%": _MULTIPLICATION,
    "**": _POWER,
}


def print_program(program: ast.Program) -> str:
    """Print the directives, then the rules, one statement per line."""
    lines = [print_directive(directive) for directive in program.directives]
    lines += [print_rule(rule, program.prefixes) for rule in program.rules]
    return "".join(f"{line}\n" for line in lines)


def print_directive(  # noqa: C901, PLR0911 - one for each directive
    directive: ast.Directive, prefixes: Mapping[str, str] | None = None
) -> str:
    """Print a directive, with its dot; without prefixes, IRIs are printed in full."""
    match directive:
        case ast.Prefix(name, iri):
            return f"@prefix {name}: <{iri}> ."
        case ast.Base(iri):
            return f"@base <{iri}> ."
        case ast.Input(signatures) | ast.Output(signatures) | ast.Hidden(signatures):
            return f"@{type(directive).__name__.lower()} {_signatures(signatures)} ."
        case ast.Graphs(mode):
            return f"@graphs {mode} ."
        case ast.Annotate(graph):
            return f"@annotate {print_expression(graph, prefixes)} ."
        case ast.Import(name):
            return f"@import {to_ntriples(name)} ."
        case ast.Query(predicate, file):
            return f"@query {predicate} {to_ntriples(file)} ."
        case ast.Expires(pattern, after, every):
            rounded = f' every "{durations.text(every)}"' if every > 1 else ""
            return (
                f'@expires {print_literal(pattern, prefixes)} after "{durations.text(after)}"'
                f"{rounded} ."
            )
        case ast.Message(atom, text):
            return f"@message {print_call(atom)} {to_ntriples(text)} ."
        case ast.Columns(atom):
            return f"@columns {print_call(atom)} ."
        case _:
            assert_never(directive)


def print_rule(rule: ast.Rule, prefixes: Mapping[str, str] | None = None) -> str:
    """Print a rule or fact, with its dot; without prefixes, IRIs are printed in full."""
    name = "" if rule.name is None else f"@rule {to_ntriples(rule.name)} "
    heads = ", ".join(print_literal(head, prefixes) for head in rule.heads)
    body = f" :- {_conjunction(rule.body, prefixes)}" if rule.body else ""
    return f"{name}{heads}{body} ."


def print_literal(  # noqa: PLR0911 - one case each
    literal: ast.Literal, prefixes: Mapping[str, str] | None = None
) -> str:
    """Print a literal of a body, or a head."""
    match literal:
        case ast.Atom():
            if literal.violation:
                return f"!{print_call(literal, prefixes)}"
            mark = "asserted " if literal.asserted else ""
            return f"{mark}{_atom(literal, prefixes)}"
        case ast.Call():
            return print_call(literal, prefixes)
        case ast.Negation(atom):
            return f"not {print_literal(atom, prefixes)}"
        case ast.NegatedBody(body):
            return f"not {{ {_conjunction(body, prefixes)} }}"
        case ast.Comparison(left, operator, right):
            return (
                f"{print_expression(left, prefixes)} {operator} {print_expression(right, prefixes)}"
            )
        case ast.Disjunction(alternatives):
            return f"({' | '.join(_conjunction(literals, prefixes) for literals in alternatives)})"
        case _:
            assert_never(literal)


def _atom(atom: ast.Atom, prefixes: Mapping[str, str] | None) -> str:
    if not atom.arguments or atom.predicate != ast.bracketed(atom.arity):
        return print_call(atom, prefixes)
    printed = [print_expression(argument, prefixes) for argument in atom.arguments]
    match atom.arguments:
        case (_, ast.Constant(term), *_) if term == RDF_TYPE:
            printed[1] = "a"
    return f"[{', '.join(printed)}]"


def print_call(call: ast.Atom | ast.Call, prefixes: Mapping[str, str] | None = None) -> str:
    """Print a name and its arguments, those of a triple or quad too."""
    name = call.predicate if isinstance(call, ast.Atom) else call.function
    return f"{name}({_arguments(call.arguments, prefixes)})"


def print_expression(  # noqa: C901, PLR0911 - one case each
    expression: ast.Expression,
    prefixes: Mapping[str, str] | None = None,
    strength: int = _ADDITION,
) -> str:
    """Print an expression, in parentheses if it binds more weakly than `strength`."""
    match expression:
        case ast.Constant(term):
            text = _constant(term, prefixes or {})
            own = _SIGN if text.startswith("-") else _OPERAND
        case ast.Variable(name):
            return f"?{name}"
        case ast.Wildcard():
            return "_"
        case ast.TripleTerm():
            return _triple_term(expression, prefixes)
        case ast.BinaryOperation(operator, left, right):
            own = _STRENGTH[operator]
            # `**` is right associative, and its right side may have a sign.
            sides = (_OPERAND, _SIGN) if own == _POWER else (own, own + 1)
            text = (
                f"{print_expression(left, prefixes, sides[0])} {operator} "
                f"{print_expression(right, prefixes, sides[1])}"
            )
        case ast.UnaryMinus(operand):
            own = _SIGN
            text = f"-{print_expression(operand, prefixes, _SIGN)}"
        case ast.Call():
            return print_call(expression, prefixes)
        case ast.BodyAggregate(name, arguments, body, distinct=distinct):
            listed = f"{'distinct ' if distinct else ''}{_arguments(arguments, prefixes)}"
            return f"{name}({listed}) {{ {_conjunction(body, prefixes)} }}"
        case ast.Conditional(condition, then, otherwise):
            tested = _conjunction(condition, prefixes)
            tested = f"({tested})" if len(condition) > 1 else tested
            return f"if({tested}, {_arguments((then, otherwise), prefixes)})"
        case ast.Aggregate(name, arguments, distinct=distinct):
            return f"{name}({'distinct ' if distinct else ''}{_arguments(arguments, prefixes)})"
        case _:
            assert_never(expression)
    return f"({text})" if own < strength else text


def _conjunction(literals: Iterable[ast.Literal], prefixes: Mapping[str, str] | None) -> str:
    return ", ".join(print_literal(literal, prefixes) for literal in literals)


def _arguments(arguments: Iterable[ast.Expression], prefixes: Mapping[str, str] | None) -> str:
    return ", ".join(print_expression(argument, prefixes) for argument in arguments)


def _signatures(signatures: Iterable[ast.PredicateIndicator]) -> str:
    return ", ".join(
        item.predicate if item.arity is None else f"{item.predicate}/{item.arity}"
        for item in signatures
    )


def _triple_term(term: ast.TripleTerm, prefixes: Mapping[str, str] | None) -> str:
    """Its parts one after the other; a function of parts that cannot be written so."""
    if not all(isinstance(part, _PARTS) for part in term.parts):
        return f"triple({_arguments(term.parts, prefixes)})"
    subject, predicate, value = (print_expression(part, prefixes) for part in term.parts)
    match term.predicate:
        case ast.Constant(verb) if verb == RDF_TYPE:
            predicate = "a"
        case _:
            pass
    return f"<<( {subject} {predicate} {value} )>>"


def _constant(term: str, prefixes: Mapping[str, str]) -> str:
    if is_triple_term(term):
        heads, last = nested_parts(term)
        text = _constant(last, prefixes)
        for subject, predicate in reversed(heads):
            verb = "a" if predicate == RDF_TYPE else _constant(predicate, prefixes)
            text = f"<<( {_constant(subject, prefixes)} {verb} {text} )>>"
        return text
    if not is_iri(term):
        return bare(term) or term
    iri = term[1:-1]
    short = [
        f"{name}:{iri[len(namespace) :]}"
        for name, namespace in prefixes.items()
        if iri.startswith(namespace) and _LOCAL.fullmatch(iri, len(namespace))
    ]
    return min(short, key=lambda text: (len(text), text), default=term)


def digest(text: str) -> str:
    """Return what names a helper by a text of it: the first 32 bits of SHA-256, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
