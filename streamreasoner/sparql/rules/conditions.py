"""Expressions as literals and values. Invariant: an error is neither true nor false.

A condition is a list of conjunctions that hold if it is true, and another list that hold if it is
false (section 17.2); if it has an error, none of either holds. So `!`, `&&` and `||` need no third
value: `a || b` is true if `a` or `b` is, whatever the other one is.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang.ast import (
    Atom,
    BinaryOperation,
    Call,
    Comparison,
    Constant,
    Negation,
    Rule,
    UnaryMinus,
    Variable,
)
from streamreasoner.lang.constants import negative
from streamreasoner.rdf.term_kind import is_iri
from streamreasoner.rdf.terms import parse, to_ntriples
from streamreasoner.rdf.vocabulary import XSD_STRING
from streamreasoner.sparql.algebra import Apply, Exists
from streamreasoner.sparql.functions import CHANGING, CONDITIONS, SEARCHES, VALUES
from streamreasoner.sparql.regex_flags import FLAGS, flagged, flagged_replacement
from streamreasoner.sparql.rules.bodies import Body, names_of
from streamreasoner.sparql.rules.comparisons import decided, is_ordered, tested
from streamreasoner.sparql.rules.rulebook import UnsupportedError, atom, is_erroneous
from streamreasoner.values.functions.term_functions import (
    effective_boolean,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamreasoner.lang.ast import Expression as Value
    from streamreasoner.lang.ast import Literal, Span
    from streamreasoner.sparql.algebra import Expression, Pattern
    from streamreasoner.sparql.rules.rulebook import Rulebook

    Ways: TypeAlias = list[tuple[Literal, ...]]
    Cases: TypeAlias = list[tuple[tuple[Literal, ...], Value]]
    Decides: TypeAlias = Callable[[Rulebook, Value, str, Value, Body], tuple[Literal, ...]]

MOST = 64
"""How many conjunctions a condition may expand to."""

_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_BINARY = frozenset("+-*/")
_ALWAYS: Ways = [()]
_NEVER: Ways = []


class Conditions:
    """Writes the conditions of one query.

    Attributes:
        solution: Where the first expression that extends a solution stands, and the variables that
            it has before: BNODE makes nodes of labels for these.

    Args:
        book: Takes helper rules.
        exists: Returns the conjunctions that hold if a pattern has a solution that is compatible
            with a body, or if it has none.
        base: The IRI that IRI() resolves against; empty: none.
        decides: Excludes terms that rules compare, but SPARQL does not: a function as `decided`.
    """

    def __init__(
        self,
        book: Rulebook,
        exists: Callable[[Body, Pattern, bool], Ways],
        base: str,
        decides: Decides = decided,
    ) -> None:
        self.solution: tuple[int, set[str]] = (0, set())
        self._book = book
        self._base = base
        self._exists = exists
        self._decides = decides

    def truth(  # noqa: PLR0911 - one for each kind of expression
        self, expression: Expression, body: Body, *, wanted: bool = True
    ) -> Ways:
        """The conjunctions that hold where an expression is true, or is false.

        Args:
            expression: An expression; none of its variables is one that may be unbound.
            body: What binds its variables.
            wanted: Whether it has to be true.
        """
        match expression:
            case Apply("!", (inner,)):
                return self.truth(inner, body, wanted=not wanted)
            case Apply("&&" | "||" as operator, (left, right)):
                ways = (
                    self.truth(left, body, wanted=wanted),
                    self.truth(right, body, wanted=wanted),
                )
                both = wanted == (operator == "&&")
                return _both(*ways, expression.span) if both else ways[0] + ways[1]
            case Apply("in", (value, *others)):
                return self._member(value, others, body, expression.span, wanted=wanted)
            case Apply("BOUND", (Variable(name),)):
                return _ALWAYS if (self._book.variable(name) in body.bound) == wanted else _NEVER
            case Exists(pattern):
                return self._exists(body, pattern, wanted)
            case Apply(operator, (left, right)) if operator in _OPPOSITE:
                return self._comparison(
                    left, operator if wanted else _OPPOSITE[operator], right, body
                )
            case Apply(function, arguments) if function in CONDITIONS:
                return self._test(CONDITIONS[function], arguments, body, wanted=wanted)
            case Apply(function, (left, right)) if function in SEARCHES:
                return self._search(SEARCHES[function], left, right, body, wanted=wanted)
            case Apply("REGEX", arguments):
                return self._regex(arguments, body, expression.span, wanted=wanted)
            case _:
                return [
                    (*given, *way)
                    for given, value in self.values(expression, body)
                    for way in self._effective(value, wanted=wanted)
                ]

    def values(  # noqa: C901, PLR0911, PLR0912 - one for each kind of expression
        self, expression: Expression, body: Body
    ) -> Cases:
        """The values of an expression, each with the literals that hold where it has this one."""
        match expression:
            case Constant():
                return [((), expression)]
            case Variable(name):
                name = self._book.variable(name)
                return [((), Variable(name, expression.span))] if name in body.bound else []
            case Apply("IF", (condition, left, right)):
                return [
                    ((*way, *given), value)
                    for branch, wanted in ((left, True), (right, False))
                    for way in self.truth(condition, body, wanted=wanted)
                    for given, value in self.values(branch, body)
                ]
            case Apply("COALESCE", arguments):
                return self._coalesce(arguments, body, expression.span)
            case Apply(operator, (left, right)) if operator in _BINARY:
                return [
                    ((*first, *second), BinaryOperation(operator, x, y, expression.span))
                    for (first, x), (second, y) in product(
                        self.values(left, body), self.values(right, body)
                    )
                ]
            case Apply("negate", (inner,)):
                return [
                    (given, _negated(value, expression.span))
                    for given, value in self.values(inner, body)
                ]
            case Apply("plus", (inner,)):
                return [
                    ((*given, Call("is_number", (value,), expression.span)), value)
                    for given, value in self.values(inner, body)
                ]
            case Apply("BNODE", ()):
                # The same solution has the same node in every epoch.
                label = self._book.label(f"node{expression.span.start}")
                known = map(body.argument, body.names)
                return [((), Call("skolem", (label, *known), expression.span))]
            case Apply("uuid", ()):
                label = self._book.label(f"uuid{expression.span.start}")
                known = map(body.argument, body.names)
                return [((), Call("uuid", (label, *known), expression.span))]
            case Apply("BNODE", (inner,)):
                return [
                    ((*given, *text), self._labelled(value, body))
                    for given, value in self.values(inner, body)
                    for text in _is_string(value)
                ]
            case Apply("CONCAT", ()):
                return [((), Constant(to_ntriples(""), expression.span))]
            case Apply("REPLACE", arguments):
                return self._replace(arguments, body, expression.span)
            case Apply("IRI" | "URI", (inner,)) if self._base:
                base = Constant(f"<{self._base}>", expression.span)
                return [
                    (given, Call("iri", (value, base), expression.span))
                    for given, value in self.values(inner, body)
                ]
            case Apply(function, arguments) if function in VALUES:
                if is_iri(function) and len(arguments) != 1:
                    message = f"{function} takes 1 argument, not {len(arguments)}"
                    raise UnsupportedError(message, expression.span)
                return [
                    (given, Call(VALUES[function], values, expression.span))
                    for given, values in self._all(arguments, body)
                ]
            case _:
                return self._truth_value(expression, body)

    def _labelled(self, value: Value, body: Body) -> Value:
        """The node of a label in a solution, the same wherever the solution names it."""
        start, names = self.solution
        read = [each for each in body.names if each in names or each in self._book.hidden]
        label = self._book.label(f"label{start}")
        return Call("skolem", (label, value, *map(body.argument, read)), value.span)

    def _truth_value(self, expression: Expression, body: Body) -> Cases:
        """The values of an expression that is true, false or an error."""
        if isinstance(expression, Apply) and not _is_condition(expression.function):
            raise _unsupported(expression)
        return [
            (way, Constant(to_ntriples(wanted), expression.span))
            for wanted in (True, False)
            for way in self.truth(expression, body, wanted=wanted)
        ]

    def _all(
        self, arguments: Sequence[Expression], body: Body
    ) -> list[tuple[tuple[Literal, ...], tuple[Value, ...]]]:
        return [
            (tuple(literal for given, _ in cases for literal in given), tuple(v for _, v in cases))
            for cases in product(*(self.values(each, body) for each in arguments))
        ]

    def _coalesce(self, arguments: Sequence[Expression], body: Body, span: Span) -> Cases:
        """The first argument that has a value."""
        cases = [
            [case for case in self.values(argument, body) if not _never_has_value(case[1])]
            for argument in arguments
        ]
        cases = [each for each in cases if each]
        for last, each in enumerate(cases, start=1):
            if len(each) == 1 and not each[0][0] and isinstance(each[0][1], Constant | Variable):
                cases = cases[:last]
                break
        if all(len(each) == 1 and not each[0][0] for each in cases):
            values = tuple(value for [(_, value)] in cases)
            if len(values) > 1:
                return [((), Call("coalesce", values, span))]
            return [((), value) for value in values]
        found: Cases = []
        earlier: tuple[Literal, ...] = ()
        for position, each in enumerate(cases):
            found += [((*earlier, *given), value) for given, value in each]
            if position < len(cases) - 1:
                earlier = (*earlier, Negation(self._has_value(each, body), span))
        return found

    def _has_value(self, cases: Cases, body: Body) -> Atom:
        """An atom of a body's variables that holds where one of some cases is a value."""
        read = {name for given, value in cases for name in names_of((*given, _is(value, value)))}
        columns = tuple(name for name in body.bound if name in read)
        bodies = []
        for given, value in cases:
            test: tuple[Literal, ...] = ()
            if not isinstance(value, Constant | Variable):
                test = (_is(Variable(self._book.fresh("_value"), value.span), value),)
            bodies.append(Body((*body.literals, *given, *test), body.bound, body.maybe))
        return atom(self._book.helper("valued", columns, bodies), columns)

    def _member(
        self,
        value: Expression,
        others: Sequence[Expression],
        body: Body,
        span: Span,
        *,
        wanted: bool,
    ) -> Ways:
        """`?x IN (a, b)` is `?x = a || ?x = b`."""
        ways = _NEVER if wanted else _ALWAYS
        for other in others:
            more = self._comparison(value, "=" if wanted else "!=", other, body)
            ways = ways + more if wanted else _both(ways, more, span)
        return ways

    def _comparison(self, left: Expression, operator: str, right: Expression, body: Body) -> Ways:
        ways = []
        for (given, x), (more, y) in product(self.values(left, body), self.values(right, body)):
            if operator in {"=", "!="} or (is_ordered(x) and is_ordered(y)):
                test = Comparison(x, operator, y, left.span)
                ways.append((*given, *more, test, *self._decides(self._book, x, operator, y, body)))
        return ways

    def _test(
        self, test: str, arguments: Sequence[Expression], body: Body, *, wanted: bool
    ) -> Ways:
        return [
            (*given, tested(test, values, wanted=wanted))
            for given, values in self._all(arguments, body)
        ]

    def _search(
        self, test: str, left: Expression, right: Expression, body: Body, *, wanted: bool
    ) -> Ways:
        """A search; the second string has no language tag, or that of the first (17.4.3.1.2)."""
        ways = []
        for given, (text, part) in self._all((left, right), body):
            found = tested(test, (text, part), wanted=wanted)
            if isinstance(part, Constant) and parse(part.term).datatype == XSD_STRING:
                ways.append((*given, found))
                continue
            tags = [Call("lang", (each,), each.span) for each in (text, part)]
            empty = Constant(to_ntriples(""), part.span)
            ways.append((*given, Comparison(tags[1], "=", empty, part.span), found))
            same = Comparison(tags[0], "=", tags[1], part.span)
            directions = (Call("lang_dir", (each,), each.span) for each in (text, part))
            aligned = Comparison(next(directions), "=", next(directions), part.span)
            tagged = Comparison(tags[1], "!=", empty, part.span)
            ways.append((*given, tagged, same, aligned, found))
        return ways

    def _regex(
        self, arguments: Sequence[Expression], body: Body, span: Span, *, wanted: bool
    ) -> Ways:
        text, pattern, *flags = arguments
        letters = _letters(flags, span)
        return [
            (*given, *plain, tested("matches", (value, _flagged(found, letters)), wanted=wanted))
            for given, (value, found) in self._all((text, pattern), body)
            for plain in _without_language(found)
        ]

    def _replace(self, arguments: Sequence[Expression], body: Body, span: Span) -> Cases:
        text, pattern, inserted, *flags = arguments
        letters = _letters(flags, span)
        return [
            (
                (*given, *plain),
                Call("replace", (value, _flagged(found, letters), _quoted(other, letters)), span),
            )
            for given, (value, found, other) in self._all((text, pattern, inserted), body)
            for plain in _without_language(found)
        ]

    def _effective(self, value: Value, *, wanted: bool) -> Ways:
        """The effective boolean value of a term (section 17.2.2)."""
        if isinstance(value, Constant):
            return _ALWAYS if effective_boolean(value.term) is wanted else _NEVER
        return [(tested("effective_boolean", (value,), wanted=wanted),)]


def _letters(flags: Sequence[Expression], span: Span) -> str:
    """The flags of a regular expression, which are a constant."""
    if not flags:
        return ""
    (only,) = flags
    if not isinstance(only, Constant):
        message = "the flags of a regular expression are not constant"
        raise UnsupportedError(message, span, 'write them as a string: `REGEX(?x, ?pattern, "i")`')
    letters = parse(only.term).value
    if unknown := "".join(sorted(set(letters) - FLAGS)):
        message = f"regular expressions have no flag `{unknown}`"
        raise UnsupportedError(message, span, "the flags are i, m, q, s and x")
    return letters


def _is_string(value: Value) -> Ways:
    """That a value is a text without a language."""
    if isinstance(value, Constant):
        return _ALWAYS if parse(value.term).datatype == XSD_STRING else _NEVER
    wanted = Constant(f"<{XSD_STRING}>", value.span)
    return [(Comparison(Call("datatype", (value,), value.span), "=", wanted, value.span),)]


def _without_language(pattern: Value) -> Ways:
    """That a pattern has no language; one with a language is an error (section 17.4.3.14)."""
    if isinstance(pattern, Constant):
        return _NEVER if parse(pattern.term).language else _ALWAYS
    empty = Constant(to_ntriples(""), pattern.span)
    return [(Comparison(Call("lang", (pattern,), pattern.span), "=", empty, pattern.span),)]


def _flagged(pattern: Value, flags: str) -> Value:
    """A pattern with its flags in it."""
    if not flags:
        return pattern
    if isinstance(pattern, Constant):
        text = flagged(parse(pattern.term).value, flags)
        assert text is not None  # noqa: S101 - the flags are known
        return Constant(to_ntriples(text), pattern.span)
    if set(flags) & {"q", "x"}:
        message = f"the flag `{min(set(flags) & set('qx'))}` needs a constant pattern"
        raise UnsupportedError(
            message, pattern.span, "write the pattern as a string, or omit the flag"
        )
    start = Constant(to_ntriples(flagged("", flags)), pattern.span)
    return Call("concat", (start, pattern), pattern.span)


def _quoted(replacement: Value, flags: str) -> Value:
    """A replacement, in which no character has a meaning with the flag `q`."""
    if "q" not in flags:
        return replacement
    if not isinstance(replacement, Constant):
        message = "the flag `q` needs a constant replacement"
        raise UnsupportedError(message, replacement.span, "write the replacement as a string")
    text = flagged_replacement(parse(replacement.term).value, flags)
    return Constant(to_ntriples(text), replacement.span)


def _is_condition(function: str) -> bool:
    known = {"!", "&&", "||", "in", "BOUND", "REGEX", *_OPPOSITE, *CONDITIONS, *SEARCHES}
    return function in known


def _unsupported(expression: Apply) -> UnsupportedError:
    name = expression.function
    if name in CHANGING:
        return UnsupportedError(
            f"{name}() has another value each time, so answers could not be taken back",
            expression.span,
            "let the input bring the value as a triple",
        )
    return UnsupportedError(
        f"the function {name} is not supported",
        expression.span,
        "write the expression that it computes in place of the call",
    )


def _both(left: Ways, right: Ways, span: Span) -> Ways:
    if len(left) * len(right) > MOST:
        raise UnsupportedError(
            f"the condition expands to more than {MOST} conjunctions",
            span,
            "put parts of it into sub-queries, or bind them: `BIND (?a || ?b AS ?part)`",
        )
    return [first + second for first, second in product(left, right)]


def _never_has_value(value: Value) -> bool:
    """Whether a value is an error whatever its variables are."""
    known = Variable("value", value.span)
    return is_erroneous(
        Rule((Atom("value", (known,), value.span),), (_is(known, value),), value.span)
    )


def _is(left: Value, right: Value) -> Comparison:
    return Comparison(left, "=", right, right.span)


def _negated(value: Value, span: Span) -> Value:
    folded = negative(value, span) if isinstance(value, Constant) else None
    return folded or UnaryMinus(value, span)
