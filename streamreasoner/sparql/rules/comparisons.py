"""Comparisons in rules that SPARQL has too. Invariant: where SPARQL has an error, none holds.

Rules compare more terms than SPARQL: a time without a zone is in UTC there, a date is its first
instant, and two terms of which nothing is known are different.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import UNDECIDED, Call, Comparison, Constant, Negation, Variable
from streamreasoner.rdf.term_kind import TermKind, is_literal
from streamreasoner.rdf.terms import parse, to_ntriples
from streamreasoner.rdf.vocabulary import XSD_STRING
from streamreasoner.sparql.rules.bodies import Body, names_of
from streamreasoner.sparql.rules.rulebook import atom
from streamreasoner.values.builtins import FUNCTIONS
from streamreasoner.values.functions.term_functions import is_boolean, is_instant, is_number
from streamreasoner.values.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.lang.ast import Expression as Value
    from streamreasoner.lang.ast import Literal
    from streamreasoner.sparql.rules.rulebook import Rulebook

_KNOWN = ("is_string", "is_number", "is_boolean", "is_instant")


def decided(book: Rulebook, x: Value, operator: str, y: Value, body: Body) -> tuple[Literal, ...]:
    """Literals that exclude values which rules compare, but SPARQL does not."""
    if operator != "!=" and any(map(_is_time, (x, y))):
        return (Call("comparable_times", (x, y), x.span),)
    columns = tuple(
        name for name in names_of((Comparison(x, "=", y, x.span),)) if name in body.bound
    )
    undecided = [*_of_times(book, x, operator, y, body, columns)]
    if operator == "!=":
        undecided += _unknown(x, y, body)
    if not undecided:
        return ()
    predicate = book.helper(UNDECIDED, columns, undecided)
    return (Negation(atom(predicate, columns), x.span),)


def decided_by_test(
    book: Rulebook,  # noqa: ARG001 - as `decided`
    x: Value,
    operator: str,
    y: Value,
    body: Body,  # noqa: ARG001
) -> tuple[Literal, ...]:
    """Literals as those of `decided`, without a helper, which a recursive rule could not negate."""
    if operator == "!=":
        known = any(map(_is_no_literal, (x, y)))
        return () if known else (Call("distinguishable", (x, y), x.span),)
    if _may_be_instant(x) and _may_be_instant(y):
        return (Call("comparable", (x, y), x.span),)
    return ()


def _of_times(  # noqa: PLR0917 - the arguments of a comparison
    book: Rulebook, x: Value, operator: str, y: Value, body: Body, columns: tuple[str, ...]
) -> Iterator[Body]:
    """Pairs of times of which one has no zone, and of a date and a time, which are not equal.

    Most times are in UTC: what Python has to compare has a helper of its own.
    """
    if not (_may_be_instant(x) and _may_be_instant(y)):
        return
    span = x.span
    are_times = tuple(Call("is_instant", (each,), span) for each in (x, y))
    texts = tuple(Call("to_string", (each,), span) for each in (x, y))
    utc, hours = (Constant(to_ntriples(text), span) for text in "ZT")
    local = [
        Body((*body.literals, *are_times, Negation(in_utc, span)), body.bound, body.maybe)
        for in_utc in (Call("ends_with", (text, utc), span) for text in texts)
    ]
    pair = atom(book.helper("local", columns, local), columns)
    incomparable = Negation(Call("comparable_times", (x, y), span), span)
    for wanted in (True, False) if operator == "!=" else ():
        of_kind = (tested("contains", (each, hours), wanted=wanted) for each in texts)
        yield Body((pair, *of_kind, incomparable), columns, ())
    for wanted in (True, False) if operator != "!=" else ():
        mixed = (
            tested("contains", (texts[0], hours), wanted=wanted),
            tested("contains", (texts[1], hours), wanted=not wanted),
        )
        yield Body((*body.literals, *are_times, *mixed), body.bound, body.maybe)
    if operator != "!=":
        yield Body((pair, incomparable), columns, ())


def _unknown(x: Value, y: Value, body: Body) -> Iterator[Body]:
    """Literals of datatypes without a meaning.

    They may be equal to others without a language, so `"a"^^ex:type != "b"` is an error.
    """
    if any(map(_is_no_literal, (x, y))):
        return
    if any(isinstance(each, Constant) and parse(each.term).language for each in (x, y)):
        return
    no_language = Constant(to_ntriples(""), x.span)
    for unknown in filter(_may_be_unknown, (x, y)):
        languages = (
            Comparison(Call("lang", (each,), each.span), "=", no_language, x.span)
            for each in (x, y)
            if isinstance(each, Variable)
        )
        tests = (Negation(Call(test, (unknown,), unknown.span), unknown.span) for test in _KNOWN)
        yield Body((*body.literals, *languages, *tests), body.bound, body.maybe)


def tested(test: str, values: Iterable[Value], *, wanted: bool) -> Literal:
    """A test of values, or its negation."""
    arguments = tuple(values)
    call = Call(test, arguments, arguments[0].span)
    return call if wanted else Negation(call, call.span)


def _is_time(value: Value) -> bool:
    return isinstance(value, Constant) and is_instant(value.term)


def _may_be_instant(value: Value) -> bool:
    match value:
        case Constant():
            return _is_time(value)
        case Call(function):
            return Kind.INSTANT in FUNCTIONS[function].returns
        case _:
            return isinstance(value, Variable)


def is_ordered(value: Value) -> bool:
    """Whether a value may be less or greater than another one."""
    if not isinstance(value, Constant):
        return True
    term = value.term
    plain = is_literal(term) and parse(term).datatype == XSD_STRING
    return plain or is_number(term) or is_boolean(term) or is_instant(term)


def _may_be_unknown(value: Value) -> bool:
    """Whether a value may be a literal of which nothing is known."""
    if isinstance(value, Constant):
        term = parse(value.term)
        known = term.kind is not TermKind.LITERAL or term.language is not None
        return not known and not is_ordered(value)
    return isinstance(value, Variable)


def _is_no_literal(value: Value) -> bool:
    match value:
        case Constant(term):
            return not is_literal(term)
        case Call(function):
            return function in {"datatype", "iri"}
        case _:
            return False
