"""Multisets of solutions as SQL over ids, and how they are combined (SPARQL 1.1, section 18.5).

Invariant: a query has one column for each variable; a variable without a value has `UNBOUND`, so
no column is ever null.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamreasoner.query.sparql.query_terms import UNBOUND

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from streamreasoner.query.sparql.solving.rows import Rows

RANK = "rank"
"""The column that orders ordered solutions."""


class Columns:
    """Names of columns: those of variables are not words of SQL."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __getitem__(self, variable: str) -> str:
        return self._names.setdefault(variable, f"v{len(self._names)}")


@dataclass(frozen=True, slots=True)
class SolutionsQuery:
    """Solutions, as a query.

    Attributes:
        sql: A SELECT with a column for each variable; without variables, a column of any value.
        variables: The variables.
        optional: Those of them that may be unbound.
        is_ordered: Whether the column `RANK` orders the rows.
        rows: The same solutions in memory, in order, if they are there.
    """

    sql: str
    variables: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    is_ordered: bool = False
    rows: Rows | None = None


class SolutionsAlgebra:
    """Combines solutions.

    Attributes:
        columns: Names of columns.
    """

    def __init__(self) -> None:
        self.columns = Columns()

    def unit(self) -> SolutionsQuery:
        """One solution without variables."""
        return SolutionsQuery("select 1 as one", ())

    def select(self, expressions: dict[str, str], rest: str) -> str:
        """A SELECT of expressions, and what follows it."""
        listed = [f"{text} as {self.columns[variable]}" for variable, text in expressions.items()]
        return f"select {', '.join(listed) or '1 as one'} {rest}"

    def names(self, variables: Iterable[str]) -> str:
        """Columns, separated by commas."""
        return ", ".join(self.columns[variable] for variable in variables) or "1 as one"

    def join(self, left: SolutionsQuery, right: SolutionsQuery) -> SolutionsQuery:
        """Merged pairs of compatible solutions."""
        shared = set(left.variables) & set(right.variables)
        optional = {
            variable
            for variable in left.optional | right.optional
            if all(
                variable in each.optional for each in (left, right) if variable in each.variables
            )
        }
        values = {
            **{v: f"b.{self.columns[v]}" for v in right.variables},
            **{v: f"a.{self.columns[v]}" for v in left.variables},
            **{v: self._merged(v) for v in shared & left.optional},
        }
        on = self._compatible(shared, left, right)
        return SolutionsQuery(
            self.select(values, f"from ({left.sql}) a join ({right.sql}) b on {on}"),
            tuple(values),
            frozenset(optional),
        )

    def left_join(self, left: SolutionsQuery, right: SolutionsQuery) -> SolutionsQuery:
        """`join`, and the solutions of the left that are compatible with none of the right."""
        shared = set(left.variables) & set(right.variables)
        added = [variable for variable in right.variables if variable not in shared]
        values = {
            **{v: f"a.{self.columns[v]}" for v in left.variables},
            **{
                v: f"case when a.{self.columns[v]} = {UNBOUND} and b.one = 1 "
                f"then b.{self.columns[v]} else a.{self.columns[v]} end"
                for v in shared & left.optional
            },
            **{v: f"coalesce(b.{self.columns[v]}, {UNBOUND})" for v in added},
        }
        on = self._compatible(shared, left, right)
        matched = "*" if not right.variables else "*, 1 as one"
        rest = f"from ({left.sql}) a left join (select {matched} from ({right.sql})) b on {on}"
        optional = left.optional | set(added)
        return SolutionsQuery(self.select(values, rest), tuple(values), frozenset(optional))

    def union(self, left: SolutionsQuery, right: SolutionsQuery) -> SolutionsQuery:
        """The solutions of both."""
        variables = tuple(dict.fromkeys((*left.variables, *right.variables)))
        parts = [
            self.select(
                {v: self.columns[v] if v in each.variables else str(UNBOUND) for v in variables},
                f"from ({each.sql})",
            )
            for each in (left, right)
        ]
        optional = left.optional | right.optional | (set(left.variables) ^ set(right.variables))
        return SolutionsQuery(" union all ".join(parts), variables, frozenset(optional))

    def minus(
        self, left: SolutionsQuery, right: SolutionsQuery, beside: frozenset[str]
    ) -> SolutionsQuery:
        """The solutions of the left that no compatible one of the right shares a variable with.

        Args:
            left: The solutions.
            right: Those to remove.
            beside: Variables of both that must agree, but do not count as shared.
        """
        shared = (set(left.variables) & set(right.variables)) - beside
        if not shared:
            return left
        on = self._compatible(shared | (beside & set(left.variables)), left, right)
        if all(v in left.optional or v in right.optional for v in shared):
            on += f" and ({self._one_bound(shared)})"
        return self._anti(left, right, on)

    def matching(
        self, left: SolutionsQuery, right: SolutionsQuery, *, is_wanted: bool
    ) -> SolutionsQuery:
        """The solutions of the left that are compatible with some of the right, or with none."""
        shared = set(left.variables) & set(right.variables)
        on = self._compatible(shared, left, right)
        if is_wanted:
            return self.where(left, f"exists (select 1 from ({right.sql}) b where {on})")
        return self._anti(left, right, on)

    def distinct(self, solutions: SolutionsQuery) -> SolutionsQuery:
        """Each solution once; an ordered one at its first place."""
        names = self.names(solutions.variables)
        if not solutions.is_ordered:
            sql = f"select distinct {names} from ({solutions.sql})"
        else:
            grouped = f" group by {names}" if solutions.variables else ""
            one = "" if solutions.variables else " having count(*) > 0"
            sql = f"select {names}, min({RANK}) as {RANK} from ({solutions.sql}){grouped}{one}"
        found = self._like(solutions, sql)
        return found if solutions.rows is None else replace(found, rows=solutions.rows.once())

    def project(self, solutions: SolutionsQuery, variables: Iterable[str]) -> SolutionsQuery:
        """Solutions of some of the variables; one that no solution has is unbound."""
        kept = tuple(dict.fromkeys(variables))
        values = {v: self.columns[v] if v in solutions.variables else str(UNBOUND) for v in kept}
        rank = f", {RANK}" if solutions.is_ordered else ""
        return SolutionsQuery(
            self.select(values, f"{rank} from ({solutions.sql})"),
            kept,
            frozenset(v for v in kept if v in solutions.optional or v not in solutions.variables),
            solutions.is_ordered,
            None if solutions.rows is None else solutions.rows.project(kept),
        )

    def renamed(self, solutions: SolutionsQuery, variable: str, name: str) -> SolutionsQuery:
        """The solutions with the value of a variable as that of another one too."""
        values = {v: self.columns[v] for v in solutions.variables} | {name: self.columns[variable]}
        rank = f", {RANK}" if solutions.is_ordered else ""
        optional = solutions.optional - {name}
        if variable in solutions.optional:
            optional |= {name}
        return SolutionsQuery(
            self.select(values, f"{rank} from ({solutions.sql})"),
            tuple(values),
            optional,
            solutions.is_ordered,
        )

    def slice(
        self, solutions: SolutionsQuery, start: int, length: int | None, each: Collection[str] = ()
    ) -> SolutionsQuery:
        """Some of the solutions, in order if there is one, for each value of some variables."""
        order = f" order by {RANK}" if solutions.is_ordered else ""
        rows = None
        if not each:
            limit = "" if length is None else f" limit {length}"
            rest = f"{order}{limit} offset {start}"
            if solutions.rows is not None:
                rows = solutions.rows.part(start, length)
        else:
            place = f"row_number() over (partition by {self.names(each)}{order})"
            last = "" if length is None else f" and {place} <= {start + length}"
            rest = f" qualify {place} > {start}{last}"
        found = self._like(solutions, f"select * from ({solutions.sql}){rest}")
        return replace(found, rows=rows)

    def unordered(self, solutions: SolutionsQuery) -> SolutionsQuery:
        """The same solutions without their order."""
        if not solutions.is_ordered:
            return solutions
        sql = f"select {self.names(solutions.variables)} from ({solutions.sql})"
        return SolutionsQuery(sql, solutions.variables, solutions.optional, rows=solutions.rows)

    def _like(self, solutions: SolutionsQuery, sql: str) -> SolutionsQuery:
        return SolutionsQuery(sql, solutions.variables, solutions.optional, solutions.is_ordered)

    def where(self, solutions: SolutionsQuery, condition: str) -> SolutionsQuery:
        """The solutions, as `a`, for which a condition in SQL holds."""
        return self._like(solutions, f"select * from ({solutions.sql}) a where {condition}")

    def _anti(self, left: SolutionsQuery, right: SolutionsQuery, on: str) -> SolutionsQuery:
        return self.where(left, f"not exists (select 1 from ({right.sql}) b where {on})")

    def _merged(self, variable: str) -> str:
        name = self.columns[variable]
        return f"case when a.{name} = {UNBOUND} then b.{name} else a.{name} end"

    def _compatible(
        self, shared: Iterable[str], left: SolutionsQuery, right: SolutionsQuery
    ) -> str:
        conditions = ["true"]
        for variable in shared:
            name = self.columns[variable]
            alternatives = [f"a.{name} = b.{name}"]
            if variable in left.optional:
                alternatives.append(f"a.{name} = {UNBOUND}")
            if variable in right.optional:
                alternatives.append(f"b.{name} = {UNBOUND}")
            conditions.append(f"({' or '.join(alternatives)})")
        return " and ".join(conditions)

    def _one_bound(self, shared: Iterable[str]) -> str:
        return " or ".join(
            f"(a.{name} <> {UNBOUND} and b.{name} <> {UNBOUND})"
            for name in (self.columns[variable] for variable in shared)
        )
