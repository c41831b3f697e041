"""rdflib's parse tree to the algebra (sections 18.2.2 to 18.2.5). Invariant: nothing is dropped."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import rdflib
from pyparsing import ParseResults

from streamreasoner.lang.ast import Constant, Span, Variable
from streamreasoner.sparql.algebra import (
    Aggregation,
    Apply,
    BasicGraphPattern,
    Exists,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Order,
    Query,
    Select,
    Service,
    Union,
    Values,
    Window,
    in_scope,
    mentioned,
)
from streamreasoner.sparql.reading.terms import TermReader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from streamreasoner.sparql.algebra import Expression, Pattern
    from streamreasoner.sparql.reading.places import QueryPlaces
    from streamreasoner.sparql.reading.windows import WindowClause

_FORMS = {
    "SelectQuery": "SELECT",
    "ConstructQuery": "CONSTRUCT",
    "AskQuery": "ASK",
    "DescribeQuery": "DESCRIBE",
}
_EMPTY = BasicGraphPattern(())
_ARGUMENTS = (
    "arg",
    "arg1",
    "arg2",
    "arg3",
    "text",
    "start",
    "length",
    "pattern",
    "replacement",
    "flags",
)


class TreeReader(TermReader):
    """Reads the parse tree of one query.

    Args:
        places: Finds its words.
    """

    def __init__(self, places: QueryPlaces) -> None:
        super().__init__(places)
        self._streams: dict[str, Constant] = {}
        self._aggregations: list[tuple[Variable, Aggregation]] | None = None

    def query(
        self,
        prologue: Iterable[Any],
        body: Any,
        clauses: Iterable[WindowClause] = (),
        uses: Iterable[tuple[str, Span]] = (),
    ) -> Query:
        """Read a query; raises a ProgramError for what cannot be read."""
        self._declare(prologue)
        windows = [
            Window(self._named(each.stream, each.span), each.after, each.every, each.span)
            for each in clauses
        ]
        names = [self._named(each.name, each.span).term for each in clauses]
        self._streams = dict(zip(names, (each.stream for each in windows), strict=True))
        for name, span in uses:
            if self._named(name, span).term not in self._streams:
                hint = "write `FROM NAMED WINDOW <w> ON <stream> [RANGE PT10M STEP PT1M]` before"
                raise self._places.refusal("SR260", f"the window {name} is unknown", span, hint)
        form = _FORMS[body.name]
        select = self._select(body, form)
        template = self._triples(body.template or ())
        if form == "CONSTRUCT" and body.template is None and body.where is not None:
            template = self._triples(part for block in body.where.part for part in block.triples)
        self._blank_nodes(select, set())
        dataset = self._places.first("FROM") if body.datasetClause else None
        graphs = body.datasetClause or ()
        named = [node for node in (body.var or ()) if not isinstance(node, rdflib.Variable)]
        return Query(
            form,
            select,
            tuple(template),
            frozenset(self._blank.values()),
            dataset,
            tuple(self._constant(each.default) for each in graphs if each.default is not None),
            tuple(self._constant(each.named) for each in graphs if each.named is not None),
            tuple(self._constant(node) for node in named if form == "DESCRIBE"),
            self._base,
            tuple(self._prefixes.items()),
            tuple(windows),
        )

    def _blank_nodes(self, node: object, seen: set[str]) -> None:
        """Refuse a label in two basic graph patterns (section 4.1.4)."""
        if isinstance(node, BasicGraphPattern):
            names = {each for each in in_scope(node) if each in self._blank.values()}
            for label, name in self._blank.items():
                if name in seen & names:
                    message = f"the blank node _:{label} is in two graph patterns"
                    hint = "write a variable instead"
                    raise self._places.refusal("SR260", message, self._places.at(0), hint)
            seen |= names
        elif isinstance(node, tuple):
            for each in node:
                self._blank_nodes(each, seen)
        elif is_dataclass(node) and not isinstance(node, Span):
            for each in fields(node):
                self._blank_nodes(getattr(node, each.name), seen)

    def _select(self, node: Any, form: str = "SELECT") -> Select:
        """A query or sub-query: grouping, HAVING, VALUES, expressions, in this order."""
        span = self._places.next(form)
        outer, results = self._aggregations, list[tuple[Variable, Aggregation]]()
        self._aggregations = results
        projection = [
            (
                self._variable(each.var or each.evar),
                self._expression(each.expr) if each.evar else None,
            )
            for each in node.projection or ()
        ]
        self._aggregations = None
        where = self._group(node.where) if node.where is not None else _EMPTY
        keys: list[Variable] = []
        for condition in node.groupby.condition if node.groupby else ():
            where, key = self._key(where, condition)
            keys.append(key)
        self._aggregations = results
        having = [self._expression(each) for each in (node.having.condition if node.having else ())]
        conditions = [
            Order(self._expression(each.expr), str(each.order or "").upper() == "DESC")
            for each in (node.orderby.condition if node.orderby else ())
        ]
        self._aggregations = outer
        pattern: Pattern = where
        if results or node.groupby:
            place = self._places.next("GROUP") if node.groupby else results[0][1].span
            self._only_keys(
                keys, results, projection, [*having, *(each.expression for each in conditions)]
            )
            pattern = Group(where, tuple(keys), tuple(results), place)
        for condition in having:
            pattern = Filter(condition, pattern)
        if node.valuesClause is not None:
            pattern = self._join(pattern, self._values(node.valuesClause))
        for variable, expression in projection:
            if expression is not None:
                pattern = self._extend(pattern, variable, expression)
        variables = (
            [variable for variable, _ in projection] if projection else self._star(node, pattern)
        )
        limits = node.limitoffset
        offset = 0 if limits is None or limits.offset is None else int(limits.offset)
        limit = None if limits is None or limits.limit is None else int(limits.limit)
        return Select(
            pattern,
            tuple({each.name: each for each in variables}.values()),
            str(node.modifier or "").upper(),
            tuple(conditions),
            offset,
            limit,
            span,
            self._places.first("ORDER" if node.orderby else "OFFSET" if limit is None else "LIMIT"),
        )

    def _star(self, node: Any, pattern: Pattern) -> list[Variable]:
        if node.groupby is not None:
            raise self._places.refusal(
                "SR260",
                "SELECT * has no GROUP BY",
                self._places.first("GROUP"),
                "name the variables",
            )
        return [
            each
            for name, each in in_scope(pattern).items()
            if name not in set(self._blank.values())
        ]

    def _key(self, where: Pattern, condition: Any) -> tuple[Pattern, Variable]:
        if isinstance(condition, rdflib.Variable):
            return where, self._variable(condition)
        named = getattr(condition, "name", "") == "GroupAs"
        expression = self._expression(condition.expr if named else condition)
        if named and condition.var is not None:
            variable = self._variable(condition.var)
        elif isinstance(expression, Variable):
            return where, expression
        else:
            variable = self._new("key", expression.span)
        return Extend(where, variable, expression), variable

    def _only_keys(
        self,
        keys: Collection[Variable],
        results: Collection[tuple[Variable, Aggregation]],
        projection: Iterable[tuple[Variable, Expression | None]],
        others: Iterable[Expression],
    ) -> None:
        """A grouped query has no other variables than keys and what its expressions name."""
        known = {each.name for each in keys} | {each.name for each, _ in results}
        for variable, expression in projection:
            self._known(variable if expression is None else expression, known)
            known.add(variable.name)
        for expression in others:
            self._known(expression, known)

    def _known(self, expression: Expression, known: set[str]) -> None:
        for name in sorted(mentioned(expression) - known):
            raise self._places.refusal(
                "SR260",
                f"?{name} is neither grouped nor aggregated",
                self._places.first(f"?{name}"),
                f"add `GROUP BY ?{name}`, or aggregate it: `(MIN(?{name}) AS ?least)`",
            )

    def _group(self, node: Any) -> Pattern:
        """A group graph pattern (section 18.2.2.6): its filters are about all of it."""
        pattern, condition = self._parts(node)
        return pattern if condition is None else Filter(condition, pattern)

    def _parts(self, node: Any) -> tuple[Pattern, Expression | None]:
        """A group graph pattern without its filters, and their conjunction."""
        if node.name == "SubSelect":
            return self._select(node), None
        pattern: Pattern = _EMPTY
        condition: Expression | None = None
        for part in node.part or ():
            if part.name == "Filter":
                other = self._expression(part.expr)
                condition = (
                    other if condition is None else Apply("&&", (condition, other), _span(other))
                )
            else:
                pattern = self._with_part(pattern, part)
        return pattern, condition

    def _with_part(self, pattern: Pattern, part: Any) -> Pattern:  # noqa: PLR0911 - one for each
        """A group with one more part, which is no filter."""
        match part.name:
            case "TriplesBlock":
                block = BasicGraphPattern(tuple(self._triples(part.triples)))
                return self._join(pattern, block)
            case "OptionalGraphPattern":
                span = self._places.next("OPTIONAL")
                right, condition = self._parts(part.graph)
                return LeftJoin(pattern, right, condition, span)
            case "MinusGraphPattern":
                span = self._places.next("MINUS")
                return Minus(pattern, self._group(part.graph), span)
            case "GroupOrUnionGraphPattern":
                return self._join(pattern, reduce(Union, map(self._group, part.graph)))
            case "GraphGraphPattern":
                span = self._places.next("GRAPH")
                name = self._term(part.term)
                if isinstance(name, Constant):
                    name = self._streams.get(name.term, name)
                return self._join(pattern, Graph(name, self._group(part.graph), span))
            case "InlineData":
                return self._join(pattern, self._values(part))
            case "Bind":
                expression = self._expression(part.expr)
                return self._extend(pattern, self._variable(part.var), expression)
            case _:
                service = Service(self._term(part.term), self._places.next("SERVICE"))
                return self._join(pattern, service)

    def _extend(self, pattern: Pattern, variable: Variable, expression: Expression) -> Extend:
        if variable.name in in_scope(pattern):
            message = f"?{variable.name} is bound already"
            hint = "give the value of the expression a name of its own"
            raise self._places.refusal("SR260", message, variable.span, hint)
        return Extend(pattern, variable, expression)

    def _join(self, left: Pattern, right: Pattern) -> Pattern:
        """A join; adjacent triple patterns are one basic graph pattern."""
        match left, right:
            case BasicGraphPattern(first), BasicGraphPattern(second):
                return BasicGraphPattern(first + second)
            case BasicGraphPattern(()), _:
                return right
            case Join(before, BasicGraphPattern(first)), BasicGraphPattern(second):
                return Join(before, BasicGraphPattern(first + second))
            case _:
                return Join(left, right)

    def _values(self, node: Any) -> Values:
        span = self._places.next("VALUES")
        variables = tuple(self._variable(each) for each in node.var or ())
        rows = []
        for value in node.value or ():
            row = _listed(value) if variables else []
            if len(row) != len(variables):
                message = f"a row of VALUES has {len(row)} values for {len(variables)} variables"
                raise self._places.refusal("SR260", message, span)
            rows.append(tuple(None if _is_word(each) else self._constant(each) for each in row))
        return Values(variables, tuple(rows), span)

    def _expression(self, node: Any) -> Expression:  # noqa: C901, PLR0911 - one for each
        name = getattr(node, "name", None)
        match name:
            case "ConditionalOrExpression" | "ConditionalAndExpression":
                operator = "||" if name == "ConditionalOrExpression" else "&&"
                value = self._expression(node.expr)
                for other in node.other or ():
                    right = self._expression(other)
                    value = Apply(operator, (value, right), _span(value))
                return value
            case "RelationalExpression":
                return self._relation(node)
            case "AdditiveExpression" | "MultiplicativeExpression":
                value = self._expression(node.expr)
                for operator, other in zip(node.op or (), node.other or (), strict=True):
                    value = Apply(str(operator), (value, self._expression(other)), _span(value))
                return value
            case "UnaryNot" | "UnaryMinus" | "UnaryPlus":
                value = self._expression(node.expr)
                operator = {"UnaryNot": "!", "UnaryMinus": "negate", "UnaryPlus": "plus"}[name]
                return Apply(operator, (value,), _span(value))
            case "Builtin_EXISTS" | "Builtin_NOTEXISTS":
                span = self._places.next("EXISTS")
                exists = Exists(self._group(node.graph), span)
                return exists if name == "Builtin_EXISTS" else Apply("!", (exists,), span)
            case "Function":
                return self._function(node)
            case str() if name.startswith("Aggregate_"):
                return self._aggregate(node)
            case str() if name.startswith("Builtin_"):
                function = name.removeprefix("Builtin_").upper()
                span = self._places.next(function)
                arguments = [
                    argument for key in _ARGUMENTS if key in node for argument in _listed(node[key])
                ]
                return Apply(function, tuple(map(self._expression, arguments)), span)
            case _:
                return self._term(node)

    def _relation(self, node: Any) -> Expression:
        value = self._expression(node.expr)
        if node.op is None:
            return value
        operator = " ".join(str(node.op).upper().split())
        if operator not in {"IN", "NOT IN"}:
            return Apply(operator, (value, self._expression(node.other)), _span(value))
        span = self._places.next("IN")
        listed = tuple(self._expression(each) for each in _listed(node.other))
        found = Apply("in", (value, *listed), span)
        return found if operator == "IN" else Apply("!", (found,), span)

    def _function(self, node: Any) -> Expression:
        iri = self._constant(node.iri)
        arguments = tuple(self._expression(each) for each in node.expr or ())
        if node.distinct:
            span = self._places.first("DISTINCT")
            raise self._places.refusal("SR260", "a function has no DISTINCT", span)
        return Apply(iri.term, arguments, iri.span)

    def _aggregate(self, node: Any) -> Variable:
        name = node.name.removeprefix("Aggregate_").upper()
        function = "GROUP_CONCAT" if name == "GROUPCONCAT" else name
        span = self._places.next(function)
        if self._aggregations is None:
            raise self._places.refusal(
                "SR260", f"{function} is allowed in SELECT and HAVING only", span
            )
        kept, self._aggregations = self._aggregations, None
        expression = None if _is_word(node.vars) else self._expression(node.vars)
        self._aggregations = kept
        separator = " " if node.separator is None else str(node.separator)
        aggregation = Aggregation(function, expression, bool(node.distinct), separator, span)
        variable = self._new(function.lower(), span)
        kept.append((variable, aggregation))
        return variable


def _is_word(value: Any) -> bool:
    """Whether it is a word of the syntax, UNDEF or *; terms of rdflib are texts as well."""
    return isinstance(value, str) and not isinstance(value, rdflib.term.Identifier)


def _listed(value: Any) -> list[Any]:
    """The members of an expression list; one expression as itself."""
    if isinstance(value, ParseResults | list):
        return list(value)
    return [] if value == rdflib.RDF.nil else [value]


def _span(expression: Expression) -> Span:
    return expression.span
