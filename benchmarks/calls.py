"""What variables of a program like Java's may point to, and which methods its calls reach.

The rules are the core of Doop (Bravenboer and Smaragdakis, "Strictly declarative specification of
sophisticated points-to analyses", OOPSLA 2009) without contexts: fields of objects are told apart,
and the call graph and what is reachable are found together with what variables point to. The
program is made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.peers.case import Case, choose
from benchmarks.programs import tagged

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Our predicates, and their columns.
INPUTS = {
    "main": 1,
    "extends": 2,
    "implements": 3,
    "within": 2,
    "alloc": 2,
    "typed": 2,
    "copy": 2,
    "cast": 3,
    "read": 3,
    "write": 3,
    "virtual": 3,
    "static": 2,
    "formal": 3,
    "actual": 3,
    "this": 2,
    "returns": 2,
    "assigned": 2,
}
OUTPUTS = ("points", "stored", "calls", "reachable")

RULES = """
subtype(?t, ?t) :- extends(?t, _) .
subtype(?t, ?t) :- extends(_, ?t) .
subtype(?t, ?u) :- extends(?t, ?s), subtype(?s, ?u) .
own(?t, ?s) :- implements(?t, ?s, _) .
lookup(?t, ?s, ?m) :- implements(?t, ?s, ?m) .
lookup(?t, ?s, ?m) :- extends(?t, ?u), lookup(?u, ?s, ?m), not own(?t, ?s) .
reachable(?m) :- main(?m) .
reachable(?m) :- calls(_, ?m) .
points(?v, ?h) :- reachable(?m), within(?v, ?m), alloc(?v, ?h) .
points(?v, ?h) :- flows(?v, ?w), points(?w, ?h) .
points(?v, ?h) :- cast(?v, ?w, ?t), points(?w, ?h), typed(?h, ?u), subtype(?u, ?t) .
points(?v, ?h) :- read(?v, ?b, ?f), points(?b, ?o), stored(?o, ?f, ?h) .
points(?v, ?h) :- target(_, ?m, ?h), this(?m, ?v) .
stored(?o, ?f, ?h) :- write(?b, ?f, ?w), points(?b, ?o), points(?w, ?h) .
flows(?v, ?w) :- copy(?v, ?w) .
flows(?v, ?w) :- calls(?i, ?m), formal(?m, ?k, ?v), actual(?i, ?k, ?w) .
flows(?v, ?w) :- calls(?i, ?m), returns(?m, ?w), assigned(?i, ?v) .
target(?i, ?m, ?h) :- virtual(?i, ?b, ?s), points(?b, ?h), typed(?h, ?t), lookup(?t, ?s, ?m) .
calls(?i, ?m) :- target(?i, ?m, _) .
calls(?i, ?m) :- static(?i, ?m), within(?i, ?n), reachable(?n) .
"""

SIGNATURES, FIELDS, FORMALS, ROOTS = 16, 30, 2, 10
METHODS, VARIABLES, SITES = 4, 8, 3
"""Of a class, and of a method; the first site calls a method by its object."""


def case(name: str, tables: dict[str, NDArray[np.int32]], singles: int, batch: int) -> Case:
    """The analysis of a program whose facts are tables in the order of `INPUTS`."""
    rows = tagged(*tables.values())
    return Case(
        f"points-to and calls of {name}, {len(rows):,} facts",
        "calls",
        RULES,
        tuple(INPUTS),
        OUTPUTS,
        rows,
        *choose(rows, singles, batch),
        widths=tuple(INPUTS.values()),
    )


def program(classes: int, seed: int = 0) -> dict[str, NDArray[np.int32]]:
    """Facts of a made-up program, by predicate.

    A class extends one before it and has four methods, each with eight variables: `this`, two
    parameters, what it returns, and four more. A method allocates, casts, reads and writes once,
    copies twice, and calls one method by its object and two by their names.
    """
    random = np.random.default_rng(seed)
    methods = classes * METHODS
    variables = methods * VARIABLES
    sizes = [classes, methods, variables, methods, methods * SITES, SIGNATURES, FIELDS]
    kind, method, variable, heap, call, signature, field, end = np.cumsum([0, *sizes])
    own = np.arange(methods)
    sites = call + np.arange(methods * SITES)
    first = variable + own * VARIABLES

    def local(low: int = 0) -> NDArray[np.int64]:
        return first + random.integers(low, VARIABLES, methods)

    def some(start: int, count: int) -> NDArray[np.int64]:
        return start + random.integers(0, count, methods)

    parents = random.integers(0, np.arange(1, classes))
    place = np.arange(FORMALS)
    tables = {
        "main": method + np.arange(ROOTS)[:, None],
        "extends": np.column_stack([kind + np.arange(1, classes), kind + parents]),
        "implements": np.column_stack([own // METHODS, some(signature, SIGNATURES), method + own]),
        "within": np.concatenate(
            [
                np.column_stack([variable + np.arange(variables), method + own.repeat(VARIABLES)]),
                np.column_stack([sites, method + own.repeat(SITES)]),
            ]
        ),
        "alloc": np.column_stack([local(4), heap + own]),
        "typed": np.column_stack([heap + own, some(kind, classes)]),
        "copy": np.concatenate([np.column_stack([local(3), local()]) for _ in range(2)]),
        "cast": np.column_stack([local(4), local(), some(kind, classes // 4)]),
        "read": np.column_stack([local(4), local(), some(field, FIELDS)]),
        "write": np.column_stack([local(), some(field, FIELDS), local()]),
        "virtual": np.column_stack([call + own * SITES, local(), some(signature, SIGNATURES)]),
        "static": np.concatenate(
            [
                np.column_stack([call + own * SITES + site, some(method, methods)])
                for site in range(1, SITES)
            ]
        ),
        "formal": np.column_stack(
            [
                (method + own).repeat(FORMALS),
                np.tile(end + place, methods),
                (first[:, None] + 1 + place).reshape(-1),
            ]
        ),
        "actual": np.column_stack(
            [
                sites.repeat(FORMALS),
                np.tile(end + place, len(sites)),
                np.column_stack([local() for _ in range(FORMALS * SITES)]).reshape(-1),
            ]
        ),
        "this": np.column_stack([method + own, first]),
        "returns": np.column_stack([method + own, first + 3]),
        "assigned": np.column_stack([call + own * SITES, local(4)]),
    }
    return {name: np.unique(table, axis=0).astype(np.int32) for name, table in tables.items()}
