"""VALUES and BIND as bodies. Invariant: a variable without a value has none in its solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, Comparison, Constant, Negation, Variable, Wildcard
from streamreasoner.lang.traversal import substituted, variables
from streamreasoner.sparql.algebra import mentioned
from streamreasoner.sparql.rules.bodies import Body
from streamreasoner.sparql.rules.rulebook import atom, number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.sparql.algebra import Expression, Values
    from streamreasoner.sparql.rules.conditions import Conditions
    from streamreasoner.sparql.rules.rulebook import Rulebook


def listed(book: Rulebook, values: Values, *, counted: bool) -> list[Body]:
    """The rows of VALUES."""
    names = [book.variable(each.name) for each in values.variables]
    rows: dict[tuple[str, ...], list[tuple[Constant, ...]]] = {}
    for row in values.rows:
        present = [(name, each) for name, each in zip(names, row, strict=True) if each]
        key = tuple(name for name, _ in present)
        rows.setdefault(key, []).append(tuple(each for _, each in present))
    found = []
    for columns, data in rows.items():
        numbered = counted and len(set(data)) < len(data)
        if not columns and not numbered:
            found.append(Body())
            continue
        predicate = book.predicate("values")
        for index, each in enumerate(data, start=1):
            book.fact(predicate, (*each, number(index)) if numbered else each)
        all_columns = (*columns, book.fresh("row")) if numbered else columns
        found.append(Body((atom(predicate, all_columns),), all_columns))
    return found


def extended(
    book: Rulebook,
    conditions: Conditions,
    bodies: Iterable[Body],
    name: str,
    expression: Expression,
) -> list[Body]:
    """Solutions with the value of BIND, or nothing where the expression has an error."""
    names = book.names(mentioned(expression))
    found = []
    for body in bodies:
        if isinstance(expression, Variable):
            alias = book.variable(expression.name)
            if alias in book.hidden and alias in body.names:
                # Only the expression reads the variable of an aggregate.
                found.append(body.renamed({alias: name}))
                continue
        for part in body.split(names):
            cases = conditions.values(expression, part)
            if len(cases) == 1 and not cases[0][0] and isinstance(cases[0][1], Constant | Variable):
                test = Comparison(Variable(name, NOWHERE), "=", cases[0][1], NOWHERE)
                found.append(part.having((test,), (name,)))
                continue
            if not cases:
                found.append(part)
                continue
            # A node that BNODE makes is of all variables of the solution.
            read = names.union(each.name for _, value in cases for each in variables(value))
            columns = [each for each in part.names if each in read]
            predicate = book.predicate("bind")
            for given, value in cases:
                arguments = (*(Variable(each, NOWHERE) for each in columns), value)
                book.derive(predicate, arguments, (*part.literals, *given))
            known = atom(predicate, (*columns, name))
            found.append(part.having((known,), (name,)))
            nothing = substituted(known, {name: Wildcard(NOWHERE)})
            found.append(part.having((Negation(nothing, NOWHERE),)))
    return found
