"""Patterns as bodies of rules. Invariant: the matches of the bodies are the solutions.

Where solutions are counted, as in SPARQL's multisets, a body has all variables that tell two of
them apart, also those that a blank node, a path or a sub-query hides; elsewhere only sets matter.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang.ast import (
    NOWHERE,
    Atom,
    Comparison,
    Constant,
    Negation,
    Variable,
    Wildcard,
    variables,
)
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.sparql.algebra import (
    Apply,
    BasicGraphPattern,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Select,
    Service,
    Union,
    Values,
    in_scope,
    mentioned,
)
from streamreasoner.sparql.correlation import is_join, seen
from streamreasoner.sparql.rules.bodies import (
    NOTHING_GIVEN,
    Body,
    bound_by_atoms,
    names_of,
    substituted,
)
from streamreasoner.sparql.rules.conditions import Conditions
from streamreasoner.sparql.rules.groups import Groups
from streamreasoner.sparql.rules.paths import Paths
from streamreasoner.sparql.rules.rulebook import UnsupportedError, atom, number
from streamreasoner.sparql.rules.slices import Slice, sliced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from streamreasoner.lang.ast import Literal
    from streamreasoner.sparql.algebra import Expression, Pattern, Term, TriplePattern
    from streamreasoner.sparql.rules.dataset import Dataset
    from streamreasoner.sparql.rules.rulebook import Rulebook

MOST_BODIES = 16
"""More of them become a predicate of their own."""


class Patterns:
    """Writes the patterns of one query.

    Args:
        book: Takes helper rules.
        dataset: The graphs of the query.
        given: Binds variables that have their values in every part of the query, as if these stood
            in its text; it has atoms only, and its variables are names in rules. Parts that do not
            mention these variables are not joined with it.

    Attributes:
        warnings: Parts of the query that are probably mistakes.
    """

    def __init__(self, book: Rulebook, dataset: Dataset, given: Body = NOTHING_GIVEN) -> None:
        self.warnings: list[Diagnostic] = []
        self._book = book
        self._dataset = dataset
        self._give(given)
        self._paths = Paths(book, dataset, given)
        self._groups = Groups(book)
        self._graph: Term | None = None
        self._counted = False

    def solutions(self, select: Select) -> list[Body]:
        """The solutions of a SELECT, with all variables of its pattern."""
        if select.offset or select.limit is not None:
            return self._sliced(select)
        if select.order:
            message = "ORDER BY without LIMIT or OFFSET has no effect: answers are a set"
            hint = "omit it, and order what you read"
            self.warnings.append(Diagnostic("SR508", message, select.order_span, hint))
        return self.bodies(select.pattern)

    def bodies(self, pattern: Pattern) -> list[Body]:  # noqa: C901, PLR0911, PLR0912 - one for each
        """The solutions of a pattern, in the graph that is looked at."""
        match pattern:
            case BasicGraphPattern(triples):
                return self._triples(triples)
            case Join(left, right):
                return self._fewer(self._join(self.bodies(left), self.bodies(right)))
            case LeftJoin(left, right, condition):
                return self._fewer(
                    self._left_join(self.bodies(left), self.bodies(right), condition)
                )
            case Union(left, right):
                return self._fewer([*self.bodies(left), *self.bodies(right)])
            case Minus(left, right):
                return self._minus(self.bodies(left), self.bodies(right))
            case Filter(condition, inner):
                return self.filtered(self.bodies(inner), condition)
            case Extend(inner, variable, expression):
                name = self._book.variable(variable.name)
                bodies, first = self.bodies(inner), expression
                while isinstance(inner, Extend):
                    first = inner.expression
                    inner = inner.pattern
                self._conditions.solution = first.span.start, self._names(in_scope(inner))
                return self._extended(bodies, name, expression)
            case Graph(name, inner):
                return self._in_graph(self._term(name), inner)
            case Values():
                return self._values(pattern)
            case Select():
                return self._sub_select(pattern)
            case Group():
                return self._group(pattern)
            case Service(_, span):
                raise UnsupportedError(
                    "SERVICE asks another server, whose changes are unknown", span
                )
            case _:
                assert_never(pattern)

    def _names(self, names: Iterable[str]) -> set[str]:
        return {self._book.variable(name) for name in names}

    def _term(self, term: Term) -> Term:
        if isinstance(term, Constant):
            return term
        return Variable(self._book.variable(term.name), term.span)

    def _empty(self) -> Body:
        """One empty solution, in a graph that exists."""
        if self._graph is None:
            return Body()
        exists = self._paths.exists(self._graph)
        return Body((exists,), tuple(sorted(bound_by_atoms((exists,)))))

    def with_given(self, bodies: Iterable[Body], names: Iterable[str] | None = None) -> list[Body]:
        """Bodies that bind the given variables, if these are among some names."""
        given = self._given
        if names is not None and set(given.bound).isdisjoint(names):
            return list(bodies)
        return [
            body if set(given.literals).issubset(body.literals) else self._joined(body, given)
            for body in bodies
        ]

    def _triples(self, triples: Sequence[TriplePattern]) -> list[Body]:
        if not triples:
            return [self._empty()]
        ways: list[tuple[Literal, ...]] = [()]
        for each in triples:
            ends = self._term(each.subject), self._term(each.object)
            more: list[tuple[Literal, ...]]
            if isinstance(each.predicate, Variable):
                predicate = self._term(each.predicate)
                more = [(self._dataset.atom(ends[0], predicate, ends[1], self._graph),)]
            else:
                more = self._paths.ways(
                    ends[0], each.predicate, ends[1], self._graph, counted=self._counted
                )
            ways = [(*way, *other) for way in ways for other in more]
            if len(ways) > MOST_BODIES * MOST_BODIES:
                raise UnsupportedError("the paths have too many alternatives", each.subject.span)
        bodies = [Body(way, tuple(names_of(way))) for way in ways]
        return self._fewer(
            [each for body in bodies for each in self.with_given([body], body.names)]
        )

    def _fewer(self, bodies: list[Body]) -> list[Body]:
        """The same solutions, as a predicate if there are many bodies."""
        if len(bodies) <= MOST_BODIES:
            return bodies
        if self._counted:
            return [self._book.tagged("part", bodies)]
        return [self._book.materialised("part", bodies, self._kept(bodies))]

    def _kept(self, bodies: Iterable[Body]) -> list[str]:
        """The variables that are seen from outside, and the graph that is looked at."""
        graph = self._graph.name if isinstance(self._graph, Variable) else None
        names = dict.fromkeys(name for body in bodies for name in body.names)
        return [name for name in names if name not in self._book.hidden or name == graph]

    def _anchored(self, body: Body) -> Body:
        """The body as one atom, so that its values join as terms."""
        return self._book.materialised("value", [body], body.names)

    def _join(self, lefts: Iterable[Body], rights: Sequence[Body]) -> list[Body]:
        return [
            self._joined(one, other)
            for left in lefts
            for right in rights
            for one in left.split(right.names)
            for other in right.split(one.names)
        ]

    def _joined(self, left: Body, right: Body) -> Body:
        """The join of bodies that bind what they share; equal means the same term."""
        if left.computed.intersection(right.names):
            left = self._anchored(left)
        if right.computed.intersection(left.names):
            right = self._anchored(right)
        maybe = tuple(name for name in right.maybe if name not in left.names)
        given = set(self._given.literals).intersection(left.literals)
        joined = left.having((each for each in right.literals if each not in given), right.bound)
        return Body(joined.literals, joined.bound, (*joined.maybe, *maybe))

    def filtered(self, bodies: Iterable[Body], condition: Expression) -> list[Body]:
        """The solutions for which a condition is true."""
        names = self._names(mentioned(condition))
        found = []
        for body in self.with_given(bodies, names):
            for part in body.split(names):
                ways = [part.having(way) for way in self._conditions.truth(condition, part)]
                if len(ways) > 1 and (self._counted or len(ways) > MOST_BODIES):
                    # A solution counts once, however many of the conjunctions hold.
                    found.append(self._book.materialised("filter", ways, part.names))
                else:
                    found += ways
        return self._fewer(found)

    def _left_join(
        self, lefts: Iterable[Body], rights: Sequence[Body], condition: Expression | None
    ) -> list[Body]:
        needed = set() if condition is None else self._names(mentioned(condition))
        needed.update(name for right in rights for name in right.names)
        found = []
        for left in self.with_given(lefts, needed):
            for part in left.split(needed):
                matched = self._join([part], rights)
                found += matched if condition is None else self.filtered(matched, condition)
                found.append(part.having(self._none(part, rights, condition, "optional")))
        return found

    def _minus(self, lefts: Iterable[Body], rights: Sequence[Body]) -> list[Body]:
        shared = {name for right in rights for name in right.names} - self._book.hidden
        found = []
        for left in self.with_given(lefts, shared):
            for part in left.split(shared):
                others = [
                    other
                    for right in rights
                    for other in right.split(part.bound)
                    if shared.intersection(part.bound, other.bound)
                ]
                found.append(part.having(self._none(part, others, None, "minus")))
        return found

    def _exists(
        self,
        body: Body,
        pattern: Pattern,
        wanted: bool,  # noqa: FBT001 - a truth value
    ) -> list[tuple[Literal, ...]]:
        """Whether a pattern has a solution that is compatible with a body (section 18.6)."""
        condition, whole = None, pattern
        while isinstance(pattern, Filter):
            # Filters of the group see the variables of the body.
            condition, pattern = _both(pattern.condition, condition), pattern.pattern
        apart = set(body.bound).difference(self._given.bound)
        names = frozenset(each for each in seen(pattern) if self._book.variable(each) in apart)
        counted, self._counted = self._counted, False
        if is_join(pattern, names):
            rights = self.bodies(pattern)
        else:
            condition, rights = None, self._bodies_for(body, whole)
        self._counted = counted
        if not wanted:
            return [self._none(body, rights, condition, "exists")]
        once = self._counted
        return [(each,) for each in self._some(body, rights, condition, "exists", once=once)]

    def _bodies_for(self, body: Body, pattern: Pattern) -> list[Body]:
        """The solutions of a pattern with values of a body in place of its variables."""
        read = self._names(seen(pattern))
        if isinstance(self._graph, Variable):
            read.add(self._graph.name)
        columns = [name for name in body.bound if name in read]
        inner = self._having(self._book.materialised("outer", [body], columns))
        return inner.bodies(pattern)

    def _having(self, given: Body) -> Patterns:
        """The same, with other values that are given."""
        other = copy(self)
        other._give(given)  # noqa: SLF001 - another of this class
        return other

    def _give(self, given: Body) -> None:
        self._given = given
        self._conditions = Conditions(self._book, self._exists, self._dataset.base)

    def _none(
        self, body: Body, rights: Iterable[Body], condition: Expression | None, kind: str
    ) -> tuple[Literal, ...]:
        """Literals that hold if a body's solution is compatible with none of others."""
        some = self._some(body, rights, condition, kind)
        return tuple(dict.fromkeys(Negation(literal, NOWHERE) for literal in some))

    def _some(
        self,
        body: Body,
        rights: Iterable[Body],
        condition: Expression | None,
        kind: str,
        *,
        once: bool = False,
    ) -> Iterator[Atom]:
        """Atoms of which one holds if a body's solution is compatible with one of others.

        With *once*, each holds in one way only, so that it does not multiply the solutions.
        """
        needed = set(body.bound)
        if condition is not None:
            needed |= self._names(mentioned(condition))
        for right in rights:
            for other in right.split(needed):
                ways: list[tuple[Literal, ...]] = [()]
                if condition is not None:
                    merged = body.having(other.literals, other.bound)
                    ways = self._conditions.truth(condition, merged)
                for way in ways:
                    yield self._witness(body, other, way, kind, once=once)

    def _witness(
        self, body: Body, other: Body, way: tuple[Literal, ...], kind: str, *, once: bool
    ) -> Atom:
        """An atom of the body's variables that holds where another body and a condition do."""
        read = names_of(way)
        columns = [name for name in body.bound if name in other.bound or name in read]
        outer = set(columns) - set(other.bound)
        if not outer and not way and len(other.literals) == 1:
            (only,) = other.literals
            unique = not once or set(columns) >= {each.name for each in variables(only)}
            if isinstance(only, Atom) and unique and _is_simple(only, columns):
                names = {each.name for each in variables(only)} - set(columns)
                return substituted(only, {name: Wildcard(NOWHERE) for name in names})
        whole = other
        if outer:
            whole = self._joined(self._anchored(body) if body.computed else body, other)
        whole = whole.having(way, read)
        return atom(self._book.helper(kind, columns, [whole]), columns)

    def _extended(self, bodies: Iterable[Body], name: str, expression: Expression) -> list[Body]:
        """`BIND`: the value, or nothing where the expression has an error."""
        names = self._names(mentioned(expression))
        found = []
        for body in self.with_given(bodies, names):
            if isinstance(expression, Variable):
                alias = self._book.variable(expression.name)
                if alias in self._book.hidden and alias in body.names:
                    # Only the expression reads the variable of an aggregate.
                    found.append(body.renamed({alias: name}))
                    continue
            for part in body.split(names):
                cases = self._conditions.values(expression, part)
                if (
                    len(cases) == 1
                    and not cases[0][0]
                    and isinstance(cases[0][1], Constant | Variable)
                ):
                    test = Comparison(Variable(name, NOWHERE), "=", cases[0][1], NOWHERE)
                    found.append(part.having((test,), (name,)))
                    continue
                if not cases:
                    found.append(part)
                    continue
                # A node that BNODE makes is of all variables of the solution.
                read = names.union(each.name for _, value in cases for each in variables(value))
                columns = [each for each in part.names if each in read]
                predicate = self._book.predicate("bind")
                for given, value in cases:
                    arguments = (*(Variable(each, NOWHERE) for each in columns), value)
                    self._book.derive(predicate, arguments, (*part.literals, *given))
                known = atom(predicate, (*columns, name))
                found.append(part.having((known,), (name,)))
                nothing = substituted(known, {name: Wildcard(NOWHERE)})
                found.append(part.having((Negation(nothing, NOWHERE),)))
        return self._fewer(found)

    def _in_graph(self, name: Term, pattern: Pattern) -> list[Body]:
        """`GRAPH`: the solutions in a graph, with its name."""
        named = self._dataset.named
        if named is not None and isinstance(name, Variable):
            return self._fewer(
                [body for each in named for body in self._in_named(name, each, pattern)]
            )
        if named is not None and name not in named:
            return []
        outer = self._graph
        inner = (
            name if isinstance(name, Constant) else Variable(self._book.fresh("graph"), name.span)
        )
        self._graph = inner
        bodies = self.bodies(pattern)
        self._graph = outer
        if isinstance(name, Constant) or isinstance(inner, Constant):
            exists = self._paths.exists(inner)
            known = [exists in body.literals or _reads(body, inner) for body in bodies]
            return [
                body if is_known else body.having((exists,))
                for body, is_known in zip(bodies, known, strict=True)
            ]
        found = []
        for body in bodies:
            for part in body.split((name.name,)):
                whole = self._anchored(part) if name.name in part.computed else part
                found.append(whole.renamed({inner.name: name.name}))
        if isinstance(outer, Variable):
            # Everything that is evaluated in a graph binds it.
            found = self._join(found, [self._empty()])
        return found

    def _in_named(self, name: Variable, graph: Constant, pattern: Pattern) -> list[Body]:
        """The solutions in one of the named graphs, with its name."""
        predicate = self._book.predicate("values")
        self._book.fact(predicate, (graph,))
        only = Body((atom(predicate, (name.name,)),), (name.name,))
        return self._join(self._in_graph(graph, pattern), [only])

    def _values(self, values: Values) -> list[Body]:
        names = [self._book.variable(each.name) for each in values.variables]
        rows: dict[tuple[str, ...], list[tuple[Constant, ...]]] = {}
        for row in values.rows:
            present = [(name, each) for name, each in zip(names, row, strict=True) if each]
            key = tuple(name for name, _ in present)
            rows.setdefault(key, []).append(tuple(each for _, each in present))
        found = []
        for columns, data in rows.items():
            numbered = self._counted and len(set(data)) < len(data)
            if not columns and not numbered:
                found.append(self._empty())
                continue
            predicate = self._book.predicate("values")
            for index, each in enumerate(data, start=1):
                self._book.fact(predicate, (*each, number(index)) if numbered else each)
            all_columns = (*columns, self._book.fresh("row")) if numbered else columns
            body = Body((atom(predicate, all_columns),), all_columns)
            found.append(self._joined(self._empty(), body))
        return found

    def _sub_select(self, select: Select) -> list[Body]:
        distinct = select.modifier == "DISTINCT" and self._counted
        counted, self._counted = self._counted, self._counted and not distinct
        projected = self._names(each.name for each in select.variables)
        # A variable that is not selected is another one than that of outside.
        kept = [name for name in self._given.bound if name in projected]
        inner = self
        if len(kept) < len(self._given.bound):
            narrow = self._book.materialised("outer", [self._given], kept)
            inner = self._having(narrow if kept else NOTHING_GIVEN)
        bodies = inner.solutions(select)
        self._counted = counted
        found = []
        for body in bodies:
            apart = [
                each
                for each in body.names
                if each not in projected and each not in self._book.hidden
            ]
            found.append(body.renamed({each: self._book.fresh(each) for each in apart}))
        if distinct:
            return [self._book.materialised("distinct", found, self._kept(found))]
        return found

    def _sliced(self, select: Select) -> list[Body]:
        """LIMIT and OFFSET, which count solutions; unless they are DISTINCT, as they occur."""
        pattern, order = select.pattern, []
        for each in select.order:
            compared = each.expression
            if not isinstance(compared, Variable):
                name = f"compared.{self._book.fresh('order')}"
                compared = Variable(name, select.order_span)
                pattern = Extend(pattern, compared, each.expression)
            order.append((self._book.variable(compared.name), each.descending))
        counted, self._counted = self._counted, not select.modifier
        bodies = self.bodies(pattern)
        self._counted = counted
        bodies = self.with_given(bodies, {name for body in bodies for name in body.names})
        graph = (self._graph.name,) if isinstance(self._graph, Variable) else ()
        wanted = Slice(
            order=tuple(order),
            selected=tuple(self._book.variable(each.name) for each in select.variables),
            group=(*graph, *self._given.bound),
            distinct=bool(select.modifier),
            offset=select.offset,
            limit=select.limit,
        )
        return sliced(self._book, bodies, wanted)

    def _group(self, group: Group) -> list[Body]:
        counted, self._counted = self._counted, self._groups.counts(group)
        bodies = self.bodies(self._groups.pattern(group))
        self._counted = counted
        known = {name for body in bodies for name in body.names}
        bodies = self.with_given(bodies, known)
        names = [self._book.variable(each.name) for each in group.keys]
        keys = [name for name in dict.fromkeys(names) if name in known]
        keys += (name for name in self._given.bound if name in known and name not in keys)
        if isinstance(self._graph, Variable):
            keys.append(self._graph.name)
        (empty,) = self.with_given([self._empty()], known)
        return self._groups.bodies(group, bodies, keys, empty)


def _both(first: Expression, second: Expression | None) -> Expression:
    return first if second is None else Apply("&&", (first, second), first.span)


def _is_simple(only: Atom, columns: Collection[str]) -> bool:
    """Whether variables that are not columns occur once, so that wildcards can replace them."""
    names = [each.name for each in variables(only) if each.name not in columns]
    return len(names) == len(set(names))


def _reads(body: Body, graph: Term) -> bool:
    """Whether a body has a triple of a graph, so that the graph exists."""
    return any(
        isinstance(literal, Atom) and literal.arguments[3:] == (graph,) for literal in body.literals
    )
