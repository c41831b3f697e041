"""Patterns of a query as SQL (SPARQL 1.1, section 18.6).

Invariant: a pattern is evaluated for all solutions at once. Joins run in SQL on ids; an expression
is evaluated once for each different row of the terms that it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never
from uuid import uuid4

import numpy as np

from streamreasoner.errors import QueryError
from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.query.sparql.computing.expressions import (
    FALSE,
    SOLUTION,
    TRUE,
    is_fresh,
    patterns_in,
    truth,
    variables_of,
)
from streamreasoner.query.sparql.query_terms import UNBOUND
from streamreasoner.query.sparql.solving.aggregates import aggregated
from streamreasoner.query.sparql.solving.dataset import Given
from streamreasoner.query.sparql.solving.look_up import looked_up
from streamreasoner.query.sparql.solving.paths import Ends, PathTables
from streamreasoner.query.sparql.solving.rows import Rows
from streamreasoner.query.sparql.solving.solutions_query import SolutionsQuery
from streamreasoner.sparql.algebra import (
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
    Select,
    Service,
    TripleTerm,
    Union,
    Values,
)
from streamreasoner.sparql.correlation import is_join, seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from streamreasoner.query.sparql.computing.expressions import Expressions
    from streamreasoner.query.sparql.solving.dataset import Dataset, Scope
    from streamreasoner.query.sparql.solving.memory import Memory
    from streamreasoner.query.sparql.solving.solutions_query import SolutionsAlgebra
    from streamreasoner.sparql.algebra import Expression, Node, Path, Pattern, Term

_CHECKED_ROWS = 1000


class Patterns:
    """Evaluates the patterns of one query.

    Args:
        dataset: Its graphs.
        memory: Its steps in memory.
        algebra: Combines what its parts give.
        expressions: Makes functions of its expressions.
        triple_terms: Table of the triple terms `t` and their parts `s`, `p` and `o`; None if its
            patterns have none.
    """

    def __init__(
        self,
        dataset: Dataset,
        memory: Memory,
        algebra: SolutionsAlgebra,
        expressions: Expressions,
        triple_terms: str | None,
    ) -> None:
        self._triple_terms = triple_terms
        self._dataset = dataset
        self._memory = memory
        self._terms = memory.terms
        self._algebra = algebra
        self._expressions = expressions
        self._names = 0

    def solutions(self, select: Select) -> SolutionsQuery:
        """The solutions of a query in its default graph."""
        return self._select(select, self._dataset.default)

    def _evaluate(  # noqa: C901, PLR0911, PLR0912  (one per operator)
        self, pattern: Pattern, scope: Scope
    ) -> SolutionsQuery:
        """The solutions of a pattern, in the graphs and for the solutions of a scope."""
        algebra = self._algebra
        match pattern:
            case BasicGraphPattern():
                return self._triples(pattern, scope)
            case Join(left, right):
                found = self._evaluate(left, scope)
                return algebra.join(found, self._evaluate(right, scope))
            case LeftJoin():
                return self._left_join(pattern, scope)
            case Union(left, right):
                found = self._evaluate(left, scope)
                return algebra.union(found, self._evaluate(right, scope))
            case Minus(left, right):
                found = self._evaluate(left, scope)
                beside = frozenset(scope.apart)
                return algebra.minus(found, self._evaluate(right, scope), beside)
            case Filter(condition, inner):
                return self._filter(condition, self._evaluate(inner, scope), scope)
            case Extend():
                return self._extended(pattern, scope)
            case Graph():
                return self._graph(pattern, scope)
            case Values():
                return algebra.join(self._values_block(pattern), self._unit(scope))
            case Group():
                return self._group(pattern, scope)
            case Select():
                return algebra.unordered(self._select(pattern, scope))
            case Service():
                raise QueryError(
                    "SERVICE is not supported: a query reads the facts of this reasoner only. Ask "
                    "the other endpoint by itself."
                )
            case _:
                assert_never(pattern)

    def _triples(self, pattern: BasicGraphPattern, scope: Scope) -> SolutionsQuery:
        """The matches of triple patterns; those of blank nodes are variables as well."""
        if not pattern.triples:
            return self._unit(scope)
        rows = None
        if scope.index is not None:
            rows = looked_up(pattern, scope.index, self._terms.find)
        found = self._joined(pattern, scope) if rows is None else self._memory.solutions(rows)
        if scope.given is None:
            return found
        return self._algebra.join(found, scope.given.solutions)

    def _joined(self, pattern: BasicGraphPattern, scope: Scope) -> SolutionsQuery:
        """The matches as a join of tables."""
        places: dict[str, str] = {}
        conditions = ["true"]
        tables = []
        for number, triple in enumerate(pattern.triples):
            alias = f"t{number}"
            ends: list[tuple[Node, str]] = [
                (triple.subject, f"{alias}.s"),
                (triple.object, f"{alias}.o"),
            ]
            if isinstance(triple.predicate, Constant | Variable):
                tables.append(f"{scope.source} {alias}")
                ends.append((triple.predicate, f"{alias}.p"))
            else:
                path = self._path(triple.predicate, triple.subject, triple.object, scope)
                tables.append(f"({path}) {alias}")
            for term, place in self._taken_apart(ends, tables, conditions):
                if isinstance(term, Constant):
                    conditions.append(f"{place} = {self._terms.find(term.term)}")
                elif (known := places.setdefault(term.name, place)) != place:
                    conditions.append(f"{place} = {known}")
            if scope.variable is not None:
                known = places.setdefault(scope.variable, f"{alias}.g")
                conditions.append(f"{alias}.g = {known}")
        rest = f"from {', '.join(tables)} where {' and '.join(conditions)}"
        return SolutionsQuery(self._algebra.select(places, rest), tuple(places))

    def _taken_apart(
        self, ends: list[tuple[Node, str]], tables: list[str], conditions: list[str]
    ) -> Iterator[tuple[Term, str]]:
        """Terms and their places, where triple terms are joined with the table of their parts."""
        for term, place in ends:
            if not isinstance(term, TripleTerm):
                yield term, place
                continue
            parts = f"k{len(tables)}"
            tables.append(f"{self._triple_terms} {parts}")
            conditions.append(f"{place} = {parts}.t")
            inner = zip(term.parts, "spo", strict=True)
            ends += [(part, f"{parts}.{column}") for part, column in inner]

    def _unit(self, scope: Scope) -> SolutionsQuery:
        """One solution without variables, for each of what is given and in each graph."""
        unit = self._algebra.unit()
        found = unit if scope.variable is None else self._names_of(scope.variable)
        return found if scope.given is None else self._algebra.join(found, scope.given.solutions)

    def _path(self, path: Path, subject: Node, value: Node, scope: Scope) -> str:
        ends = Ends(
            *(
                self._terms.find(term.term) if isinstance(term, Constant) else None
                for term in (subject, value)
            )
        )
        tables = PathTables(scope.source, self._terms.find, scope.variable is not None)
        return tables.table(path, ends)

    def _names_of(self, variable: str) -> SolutionsQuery:
        sql = self._algebra.select({variable: "g"}, f"from ({self._dataset.names})")
        return SolutionsQuery(sql, (variable,))

    def _graph(self, graph: Graph, scope: Scope) -> SolutionsQuery:
        algebra, dataset = self._algebra, self._dataset
        if isinstance(graph.name, Constant):
            name = self._terms.find(graph.name.term)
            found = self._evaluate(graph.pattern, dataset.named(name).of(scope.given))
            return algebra.where(found, dataset.has(name))
        # Apart from a variable of the pattern with this name, which may be unbound or another term.
        within = self._new("graph")
        found = self._evaluate(graph.pattern, dataset.each_named(within).of(scope.given))
        named = algebra.renamed(self._names_of(within), within, graph.name.name)
        joined = algebra.join(found, named)
        return algebra.project(joined, [v for v in joined.variables if v != within])

    def _left_join(self, pattern: LeftJoin, scope: Scope) -> SolutionsQuery:
        algebra = self._algebra
        left = self._evaluate(pattern.left, scope)
        right = self._evaluate(pattern.right, scope)
        if pattern.condition is None:
            return algebra.left_join(left, right)
        number = self._new("row")
        rows = self._memory.rows(left)
        numbered = self._memory.solutions(
            rows.having(number, np.arange(rows.count, dtype=np.int32))
        )
        joined = algebra.join(numbered, right)
        matched = self._memory.rows(self._filter(pattern.condition, joined, scope))
        is_unmatched = np.ones(rows.count, np.bool_)
        is_unmatched[matched.columns[number]] = False
        rest = self._memory.solutions(rows.where(is_unmatched))
        both = algebra.union(self._memory.solutions(matched), rest)
        return algebra.project(both, [v for v in both.variables if v != number])

    def _filter(
        self, condition: Expression, solutions: SolutionsQuery, scope: Scope
    ) -> SolutionsQuery:
        for each in _conjuncts(condition):
            solutions = self._filtered(each, solutions, scope)
        return solutions

    def _filtered(
        self, condition: Expression, solutions: SolutionsQuery, scope: Scope
    ) -> SolutionsQuery:
        match condition:
            case Exists(pattern):
                return self._matching(pattern, solutions, scope, is_wanted=True)
            case Apply("!", (Exists(pattern),)):
                return self._matching(pattern, solutions, scope, is_wanted=False)
            case _:
                rows = self._memory.rows(solutions)
                values = self._values(condition, rows, scope, lambda term: int(truth(term) is True))
                return self._memory.solutions(rows.where(values == 1))

    def _matching(
        self, pattern: Pattern, solutions: SolutionsQuery, scope: Scope, *, is_wanted: bool
    ) -> SolutionsQuery:
        """The solutions for which a pattern has a solution, or has none (section 18.6)."""
        algebra = self._algebra
        names = seen(pattern).intersection(solutions.variables)
        if is_join(pattern, names):
            found = self._evaluate(pattern, scope.of(None))
            return algebra.matching(solutions, found, is_wanted=is_wanted)
        rows, number = self._memory.rows(solutions), self._new("given")
        graph = () if scope.variable is None else (scope.variable,)
        each, positions = rows.distinct([*names, *graph])
        numbers = np.arange(each.count, dtype=np.int32)
        given = Given(self._memory.solutions(each.having(number, numbers)), (number, *graph))
        numbered = self._memory.solutions(rows.having(number, positions.astype(np.int32)))
        found = self._evaluate(pattern, scope.of(given))
        matching = algebra.matching(numbered, found, is_wanted=is_wanted)
        return algebra.project(matching, solutions.variables)

    def _extended(self, pattern: Extend, scope: Scope) -> SolutionsQuery:
        """Solutions with what BIND and SELECT compute, one after the other for each solution."""
        steps = [pattern]
        while isinstance(inner := steps[-1].pattern, Extend):
            steps.append(inner)
        solutions = self._evaluate(inner, scope)
        kept = [*solutions.variables, *(step.variable.name for step in reversed(steps))]
        has_labels = any(SOLUTION in variables_of(step.expression) for step in steps)
        if has_labels:
            solutions = self._memory.solutions(self._apart(self._memory.rows(solutions)))
        for step in reversed(steps):
            solutions = self._extend(step, solutions, scope)
        return self._algebra.project(solutions, kept) if has_labels else solutions

    def _apart(self, rows: Rows) -> Rows:
        """The rows with another node in each."""
        nodes = [self._terms.find(f"_:b{uuid4().hex}") for _ in range(rows.count)]
        return rows.having(SOLUTION, np.array(nodes, np.int32))

    def _extend(self, pattern: Extend, solutions: SolutionsQuery, scope: Scope) -> SolutionsQuery:
        name, expression = pattern.variable.name, pattern.expression
        if isinstance(expression, Variable) and expression.name in solutions.variables:
            return self._algebra.renamed(solutions, expression.name, name)
        rows = self._memory.rows(solutions)
        return self._memory.solutions(
            rows.having(name, self._values(expression, rows, scope, self._found))
        )

    def _found(self, term: str | None) -> int:
        return UNBOUND if term is None else self._terms.find(term)

    def _values(
        self,
        expression: Expression,
        rows: Rows,
        scope: Scope,
        convert: Callable[[str | None], int],
    ) -> NDArray[np.int32]:
        """What an expression is worth in each row, int32 of shape (n,)."""
        rows = self._with_exists(expression, rows, scope)
        wanted = variables_of(expression)
        if SOLUTION in wanted and SOLUTION not in rows.columns:
            rows = self._apart(rows)
        wanted |= {self._expressions.exists[id(each)] for each in patterns_in(expression)}
        read = [v for v in rows.columns if v in wanted]
        if is_fresh(expression):
            distinct, positions = rows, np.arange(rows.count, dtype=np.int64)
        else:
            distinct, positions = rows.distinct(read)
        value = self._expressions.value(expression)
        texts = self._memory.texts(distinct.columns[v] for v in read)
        found = np.empty(distinct.count, np.int32)
        for number, ids in enumerate(distinct.of(read)):
            if number % _CHECKED_ROWS == 0:
                self._memory.running.check_time()
            row = {v: texts[each] for v, each in zip(read, ids, strict=True) if each != UNBOUND}
            found[number] = convert(value(row))
        return found[positions]

    def _with_exists(self, expression: Expression, rows: Rows, scope: Scope) -> Rows:
        """The rows with the truth of each EXISTS of an expression."""
        for exists in patterns_in(expression):
            number, variable = self._new("row"), self._new("exists")
            self._expressions.exists[id(exists)] = variable
            numbers = np.arange(rows.count, dtype=np.int32)
            numbered = self._memory.solutions(rows.having(number, numbers))
            matching = self._matching(exists.pattern, numbered, scope, is_wanted=True)
            found = self._memory.rows(self._algebra.project(matching, [number])).columns[number]
            truths = [self._terms.find(each) for each in (FALSE, TRUE)]
            ids = np.array(truths, np.int32)[np.isin(numbers, found).astype(np.intp)]
            rows = rows.having(variable, ids)
        return rows

    def _values_block(self, values: Values) -> SolutionsQuery:
        columns = {
            variable.name: np.array(
                [
                    UNBOUND if (term := row[position]) is None else self._terms.find(term.term)
                    for row in values.rows
                ],
                np.int32,
            )
            for position, variable in enumerate(values.variables)
        }
        return self._memory.solutions(Rows(columns, len(values.rows)))

    def _group(self, pattern: Group, scope: Scope) -> SolutionsQuery:
        solutions = self._evaluate(pattern.pattern, scope)
        keys = [key.name for key in pattern.keys if key.name in solutions.variables]
        is_whole = not pattern.keys
        keys += scope.apart
        rows = self._memory.rows(solutions)
        aggregates = [
            (
                variable.name,
                aggregation,
                None
                if aggregation.expression is None
                else self._values(aggregation.expression, rows, scope, self._found),
            )
            for variable, aggregation in pattern.results
        ]
        found = aggregated(rows, keys, aggregates, self._terms, is_whole=is_whole)
        if scope.apart and is_whole:
            found = self._of_nothing(found, scope, pattern)
        return self._memory.solutions(found)

    def _of_nothing(self, found: Rows, scope: Scope, pattern: Group) -> Rows:
        """The rows of groups, with one for each graph and given solution that has none."""
        algebra = self._algebra
        units = algebra.project(self._unit(scope), scope.apart)
        rest = algebra.matching(units, self._memory.solutions(found), is_wanted=False)
        missing = self._memory.rows(rest)
        nothing = [(name.name, each, np.empty(0, np.int32)) for name, each in pattern.results]
        empty = aggregated(Rows({}, 0), (), nothing, self._terms, is_whole=True)
        added = {name: np.repeat(ids, missing.count) for name, ids in empty.columns.items()}
        added |= missing.columns
        columns = {name: np.concatenate([ids, added[name]]) for name, ids in found.columns.items()}
        return Rows(columns, found.count + missing.count)

    def _select(self, select: Select, scope: Scope) -> SolutionsQuery:
        """The solutions of a query or sub-query, in order if it says so."""
        algebra = self._algebra
        names = [variable.name for variable in select.variables]
        if scope.given is not None:
            # A variable that is not selected is another one than that of outside.
            kept = [*scope.given.apart, *names]
            outer = scope.given.solutions
            solutions = algebra.project(outer, [v for v in outer.variables if v in kept])
            scope = scope.of(Given(solutions, scope.given.apart))
        found = self._evaluate(select.pattern, scope)
        if select.order:
            found = self._ordered(select, found, scope)
        found = algebra.project(found, [*names, *scope.apart])
        if select.modifier:
            found = algebra.distinct(found)
        if select.offset or select.limit is not None:
            found = algebra.slice(found, select.offset, select.limit, scope.apart)
        return found

    def _ordered(self, select: Select, solutions: SolutionsQuery, scope: Scope) -> SolutionsQuery:
        rows = self._memory.rows(solutions)
        keys = []
        for order in select.order:
            ranks = self._memory.ranks(self._values(order.expression, rows, scope, self._found))
            keys.append(-ranks if order.descending else ranks)
        places = np.lexsort(keys[::-1])
        ordered = Rows({v: ids[places] for v, ids in rows.columns.items()}, rows.count)
        return self._memory.solutions(ordered, is_ordered=True)

    def _new(self, kind: str) -> str:
        """The name of a variable that no query has."""
        self._names += 1
        return f"{kind}:{self._names}"


def _conjuncts(condition: Expression) -> list[Expression]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Apply) and condition.function == "&&":
        return [each for argument in condition.arguments for each in _conjuncts(argument)]
    return [condition]
