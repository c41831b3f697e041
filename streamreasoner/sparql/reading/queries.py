"""Queries (sections 18.2.4 and 18.2.5). Invariant: a SELECT names what is in its scope, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.sparql import algebra
from streamreasoner.sparql.algebra import (
    Apply,
    Filter,
    Query,
    Select,
    Window,
    in_scope,
)
from streamreasoner.sparql.reading.expressions import Group
from streamreasoner.sparql.reading.groups import EMPTY, Binding, joined
from streamreasoner.sparql.reading.modifiers import Dataset, ModifierReader, Modifiers, Projection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from streamreasoner.sparql.algebra import Aggregation, Expression, Pattern, TriplePattern
    from streamreasoner.sparql.reading.term_reader import Place
    from streamreasoner.sparql.reading.triples import Triples


class QueryReader(ModifierReader):
    """Reads the queries of one text, and sub-queries."""

    def select_query(self, place: Place, values: list[Any]) -> Query:
        """`SELECT … WHERE { … }`."""
        projection, *datasets, group, modifiers = values
        return self._query("SELECT", self._select(place, projection, group, modifiers), datasets)

    def ask_query(self, place: Place, values: list[Any]) -> Query:
        """`ASK { … }`."""
        *datasets, group, modifiers = values
        return self._query("ASK", self._all(place, "ASK", group, modifiers), datasets)

    def construct_query(self, place: Place, values: list[Any]) -> Query:
        """`CONSTRUCT { … } WHERE { … }`."""
        template, *datasets, group, modifiers = values
        select = self._all(place, "CONSTRUCT", group, modifiers)
        return self._query("CONSTRUCT", select, datasets, template=self._template(template))

    def construct_where(self, place: Place, values: list[Any]) -> Query:
        """`CONSTRUCT WHERE { … }`, whose pattern is the template."""
        *datasets, triples, modifiers = values
        group = Group(self._with_triples(EMPTY, triples), None)
        select = self._all(place, "CONSTRUCT", group, modifiers)
        return self._query("CONSTRUCT", select, datasets, template=self._template(triples))

    def describe_query(self, place: Place, values: list[Any]) -> Query:
        """`DESCRIBE ?x ex:a WHERE { … }`."""
        modifiers = values[-1]
        group = next((each for each in values if isinstance(each, Group)), Group(EMPTY, None))
        names = tuple(each for each in values if isinstance(each, Variable))
        described = tuple(each for each in values if isinstance(each, Constant))
        is_all = any(isinstance(each, str) for each in values)
        span = self._keyword(place, "DESCRIBE")
        select = self._select(
            place, Projection("", None if is_all else names, span), group, modifiers
        )
        return self._query("DESCRIBE", select, values, described=described)

    def sub_select(self, place: Place, values: list[Any]) -> Select:
        """`{ SELECT … }`."""
        projection, group, modifiers = values
        return self._select(place, projection, group, modifiers)

    def template(self, _: Place, values: list[Triples]) -> list[Triples]:
        """`{ triples }`."""
        return values

    def _template(self, blocks: list[Triples]) -> tuple[TriplePattern, ...]:
        return tuple(each for block in blocks for each in self._plain(block, "a template"))

    def _query(
        self,
        form: str,
        select: Select,
        clauses: list[Any],
        *,
        template: tuple[TriplePattern, ...] = (),
        described: tuple[Constant, ...] = (),
    ) -> Query:
        datasets = [each for each in clauses if isinstance(each, Dataset)]
        return Query(
            form,
            select,
            template,
            frozenset(self._blank.values()),
            datasets[0].span if datasets else None,
            tuple(each.graph for each in datasets if not each.is_named),
            tuple(each.graph for each in datasets if each.is_named),
            described,
            self._base,
            tuple(self._prefixes.items()),
            tuple(each for each in clauses if isinstance(each, Window)),
        )

    def _all(self, place: Place, word: str, group: Group, modifiers: Modifiers) -> Select:
        """The solutions of a query that projects all variables."""
        return self._select(
            place, Projection("", None, self._keyword(place, word)), group, modifiers
        )

    def _select(
        self, place: Place, projection: Projection, group: Group, modifiers: Modifiers
    ) -> Select:
        """Grouping, HAVING, VALUES, expressions, in this order."""
        results = [each[1:] for each in self._aggregates if each[0] >= place[0]]
        self._aggregates = self._aggregates[: len(self._aggregates) - len(results)]
        pattern, keys = self._keyed(group.whole, modifiers)
        ordering = modifiers.ordering.conditions if modifiers.ordering else ()
        if results or modifiers.grouping:
            others = [*modifiers.having, *(each.expression for each in ordering)]
            self._check_names({each.name for each in keys}, results, projection, others)
            span = modifiers.grouping.span if modifiers.grouping else results[0][1].span
            pattern = algebra.Group(pattern, tuple(keys), tuple(results), span)
        for condition in modifiers.having:
            pattern = Filter(condition, pattern)
        if modifiers.values is not None:
            pattern = joined(pattern, modifiers.values)
        pattern, variables = self._projected(pattern, projection, modifiers)
        return Select(
            pattern,
            variables,
            projection.modifier,
            ordering,
            modifiers.offset.count if modifiers.offset else 0,
            modifiers.limit.count if modifiers.limit else None,
            projection.span,
            modifiers.order_span(projection.span),
        )

    def _keyed(self, pattern: Pattern, modifiers: Modifiers) -> tuple[Pattern, list[Variable]]:
        """The pattern with the expressions of GROUP BY, and the keys."""
        keys = []
        for key in modifiers.grouping.keys if modifiers.grouping else ():
            if isinstance(key, Variable):
                keys.append(key)
                continue
            named = key if isinstance(key, Binding) else Binding(key, self._new("key", key.span))
            pattern = self._extend(pattern, named)
            keys.append(named.variable)
        return pattern, keys

    def _projected(
        self, pattern: Pattern, projection: Projection, modifiers: Modifiers
    ) -> tuple[Pattern, tuple[Variable, ...]]:
        """The pattern with the expressions of SELECT, and the variables."""
        if projection.items is None:
            if modifiers.grouping is not None:
                span = modifiers.grouping.span
                raise self._refusal("SELECT * has no GROUP BY", span, "name the variables")
            hidden = set(self._blank.values())
            scope = in_scope(pattern)
            return pattern, tuple(each for name, each in scope.items() if name not in hidden)
        found: dict[str, Variable] = {}
        computed = set()
        for item in projection.items:
            variable = item.variable if isinstance(item, Binding) else item
            if isinstance(item, Binding):
                computed.add(variable.name)
            if variable.name in found and variable.name in computed:
                message = f"?{variable.name} is twice in SELECT"
                hint = "give the value of the expression a name of its own"
                raise self._refusal(message, variable.span, hint)
            if isinstance(item, Binding):
                pattern = self._extend(pattern, item)
            found.setdefault(variable.name, variable)
        return pattern, tuple(found.values())

    def _check_names(
        self,
        known: set[str],
        results: Collection[tuple[Variable, Aggregation]],
        projection: Projection,
        others: Collection[Expression],
    ) -> None:
        """A grouped query has no other variables than keys and what its expressions name."""
        known |= {each.name for each, _ in results}
        for item in projection.items or ():
            named = item if isinstance(item, Binding) else Binding(item, item)
            self._check_known(named.expression, known)
            known.add(named.variable.name)
        for expression in others:
            self._check_known(expression, known)

    def _check_known(self, expression: Expression, known: set[str]) -> None:
        # What a pattern of EXISTS names besides the keys is its own.
        found = next((each for each in _variables(expression) if each.name not in known), None)
        if found is None:
            return
        name = found.name
        raise self._refusal(
            f"?{name} is neither grouped nor aggregated",
            found.span,
            f"add `GROUP BY ?{name}`, or aggregate it: `(MIN(?{name}) AS ?least)`",
        )


def _variables(expression: Expression) -> Iterator[Variable]:
    """The variables of an expression, without those of patterns."""
    if isinstance(expression, Variable):
        yield expression
    elif isinstance(expression, Apply):
        for each in expression.arguments:
            yield from _variables(each)
