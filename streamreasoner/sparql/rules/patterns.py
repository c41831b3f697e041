"""Patterns as bodies of rules. Invariant: the matches of the bodies are the solutions.

Where solutions are counted, as in SPARQL's multisets, a body has all variables that tell two of
them apart, also those that a blank node, a path or a sub-query hides; elsewhere only sets matter.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang.ast import (
    Atom,
    Constant,
    Variable,
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
from streamreasoner.sparql.rules.assignments import extended, listed
from streamreasoner.sparql.rules.bodies import (
    NOTHING_GIVEN,
    Body,
    bound_by_atoms,
    names_of,
)
from streamreasoner.sparql.rules.conditions import Conditions
from streamreasoner.sparql.rules.dataset import Nodes, may_match
from streamreasoner.sparql.rules.groups import Groups
from streamreasoner.sparql.rules.joins import Joins
from streamreasoner.sparql.rules.paths import Paths
from streamreasoner.sparql.rules.rulebook import UnsupportedError, atom
from streamreasoner.sparql.rules.slices import Slice, sliced
from streamreasoner.sparql.rules.witnesses import Witnesses

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
        joins: Joins bodies with each other and with what is given.
    """

    def __init__(self, book: Rulebook, dataset: Dataset, given: Body = NOTHING_GIVEN) -> None:
        self.warnings: list[Diagnostic] = []
        self._book = book
        self._dataset = dataset
        self._give(given)
        self._paths = Paths(book, dataset, given)
        self._groups = Groups(book)
        self._nodes = Nodes(book, dataset)
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
                return self._fewer(self.joins.all_of(self.bodies(left), self.bodies(right)))
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
                self._conditions.solution = first.span.start, self._book.names(in_scope(inner))
                bodies = self.joins.with_given(bodies, self._book.names(mentioned(expression)))
                return self._fewer(extended(self._book, self._conditions, bodies, name, expression))
            case Graph(name, inner):
                return self._in_graph(self._nodes.term(name), inner)
            case Values():
                rows = listed(self._book, pattern, counted=self._counted)
                return [self.joins.joined(self._empty(), row) for row in rows]
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

    def _empty(self) -> Body:
        """One empty solution, in a graph that exists."""
        if self._graph is None or self._is_chosen(self._graph):
            return Body()
        exists = self._paths.exists(self._graph)
        return Body((exists,), tuple(sorted(bound_by_atoms((exists,)))))

    def _triples(self, triples: Sequence[TriplePattern]) -> list[Body]:
        if not triples:
            return [self._empty()]
        ways: list[tuple[Literal, ...]] = [()]
        for each in triples:
            more = self._ways(each) if may_match(each) else []
            ways = [(*way, *other) for way in ways for other in more]
            if len(ways) > MOST_BODIES * MOST_BODIES:
                raise UnsupportedError("the paths have too many alternatives", each.subject.span)
        bodies = [Body(way, tuple(names_of(way))) for way in ways]
        return self._fewer(
            [each for body in bodies for each in self.joins.with_given([body], body.names)]
        )

    def _ways(self, triple: TriplePattern) -> list[tuple[Literal, ...]]:
        """How a triple pattern matches, in the graph that is looked at."""
        if isinstance(triple.predicate, Constant | Variable):
            subject, predicate, value = map(
                self._nodes.expression, (triple.subject, triple.predicate, triple.object)
            )
            return [(self._dataset.atom(subject, predicate, value, self._graph),)]
        start, before = self._nodes.end(triple.subject, self._graph)
        end, after = self._nodes.end(triple.object, self._graph)
        ways = self._paths.ways(start, triple.predicate, end, self._graph, counted=self._counted)
        return [(*way, *before, *after) for way in ways]

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

    def filtered(self, bodies: Iterable[Body], condition: Expression) -> list[Body]:
        """The solutions for which a condition is true."""
        names = self._book.names(mentioned(condition))
        found = []
        for body in self.joins.with_given(bodies, names):
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
        needed = set() if condition is None else self._book.names(mentioned(condition))
        needed.update(name for right in rights for name in right.names)
        found = []
        for left in self.joins.with_given(lefts, needed):
            for part in left.split(needed):
                matched = self.joins.all_of([part], rights)
                found += matched if condition is None else self.filtered(matched, condition)
                found.append(part.having(self._witnesses.none(part, rights, condition, "optional")))
        return found

    def _minus(self, lefts: Iterable[Body], rights: Sequence[Body]) -> list[Body]:
        shared = {name for right in rights for name in right.names} - self._book.hidden
        found = []
        for left in self.joins.with_given(lefts, shared):
            for part in left.split(shared):
                others = [
                    other
                    for right in rights
                    for other in right.split(part.bound)
                    if shared.intersection(part.bound, other.bound)
                ]
                found.append(part.having(self._witnesses.none(part, others, None, "minus")))
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
        apart = set(body.bound).difference(self.joins.given.bound)
        names = frozenset(each for each in seen(pattern) if self._book.variable(each) in apart)
        counted, self._counted = self._counted, False
        if is_join(pattern, names):
            rights = self.bodies(pattern)
        else:
            condition, rights = None, self._bodies_for(body, whole)
        self._counted = counted
        if not wanted:
            return [self._witnesses.none(body, rights, condition, "exists")]
        once = self._counted
        return [
            (each,) for each in self._witnesses.some(body, rights, condition, "exists", once=once)
        ]

    def _bodies_for(self, body: Body, pattern: Pattern) -> list[Body]:
        """The solutions of a pattern with values of a body in place of its variables."""
        read = self._book.names(seen(pattern))
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
        self.joins = Joins(self._book, given)
        self._conditions = Conditions(self._book, self._exists, self._dataset.base)
        self._witnesses = Witnesses(self._book, self.joins, self._conditions)

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
        if self._is_chosen(name):
            return bodies
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
                whole = self.joins.anchored(part) if name.name in part.computed else part
                found.append(whole.renamed({inner.name: name.name}))
        if isinstance(outer, Variable):
            # Everything that is evaluated in a graph binds it.
            found = self.joins.all_of(found, [self._empty()])
        return found

    def _is_chosen(self, graph: Term) -> bool:
        """Whether a graph is one of FROM NAMED, which is there even if it is empty."""
        return isinstance(graph, Constant) and graph in (self._dataset.named or ())

    def _in_named(self, name: Variable, graph: Constant, pattern: Pattern) -> list[Body]:
        """The solutions in one of the named graphs, with its name."""
        predicate = self._book.predicate("values")
        self._book.fact(predicate, (graph,))
        only = Body((atom(predicate, (name.name,)),), (name.name,))
        return self.joins.all_of(self._in_graph(graph, pattern), [only])

    def _sub_select(self, select: Select) -> list[Body]:
        distinct = select.modifier == "DISTINCT" and self._counted
        counted, self._counted = self._counted, self._counted and not distinct
        projected = self._book.names(each.name for each in select.variables)
        # A variable that is not selected is another one than that of outside.
        kept = [name for name in self.joins.given.bound if name in projected]
        inner = self
        if len(kept) < len(self.joins.given.bound):
            narrow = self._book.materialised("outer", [self.joins.given], kept)
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
        bodies = self.joins.with_given(bodies, {name for body in bodies for name in body.names})
        graph = (self._graph.name,) if isinstance(self._graph, Variable) else ()
        wanted = Slice(
            order=tuple(order),
            selected=tuple(self._book.variable(each.name) for each in select.variables),
            group=(*graph, *self.joins.given.bound),
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
        bodies = self.joins.with_given(bodies, known)
        names = [self._book.variable(each.name) for each in group.keys]
        keys = [name for name in dict.fromkeys(names) if name in known]
        keys += (name for name in self.joins.given.bound if name in known and name not in keys)
        if isinstance(self._graph, Variable):
            keys.append(self._graph.name)
        (empty,) = self.joins.with_given([self._empty()], known)
        return self._groups.bodies(group, bodies, keys, empty)


def _both(first: Expression, second: Expression | None) -> Expression:
    return first if second is None else Apply("&&", (first, second), first.span)


def _reads(body: Body, graph: Term) -> bool:
    """Whether a body has a triple of a graph, so that the graph exists."""
    return any(
        isinstance(literal, Atom) and literal.arguments[3:] == (graph,) for literal in body.literals
    )
