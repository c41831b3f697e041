"""SQL for small relations, which DuckDB answers, and for large ones, which Spark does, is one."""

from __future__ import annotations

import ast
import inspect
import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from spark_backend import MARKS, THOROUGH

from streamreasoner.backends import spark as backend
from streamreasoner.backends.spark.queries import sql
from streamreasoner.backends.spark.queries.columns import (
    ITERATION,
    LATTICE,
    MULTIPLICITY,
    PREDICATE,
    RANK,
    RIGHT,
    SIGN,
    STRATUM,
    TRANSITION,
    schema,
)
from streamreasoner.backends.spark.queries.spark_rows import QueryRunner
from streamreasoner.engine.updates import MAX_MULTIPLICITY

pytestmark = MARKS

NAMES = ["p", "it's", "back\\slash", "\\'", ""]
FACT = (PREDICATE, "a0", "a1")
PLACE = (*FACT, ITERATION)
IN_LATTICE = (*FACT, LATTICE)
DIFFERENCES = (*PLACE, MULTIPLICITY, TRANSITION)
SUMS = (*IN_LATTICE, "upto", "before", TRANSITION)
NUMBERS = ("asserted", "present", "total", "trace_rows", "held")
STATES = (*FACT, *NUMBERS, *(f"was_{name}" for name in NUMBERS), "own")
STRATA = sql.first_that_holds([(name, ((0, 1),), n) for n, name in enumerate(NAMES)], 9)
LATTICES = sql.first_that_holds([], -1)

CASES = {
    "filtered": (sql.filtered(f"{TRANSITION} != 0", "a0 = 1"), {"rows": DIFFERENCES}),
    "filtered by nothing": (sql.filtered(), {"rows": DIFFERENCES}),
    "filtered by patterns": (
        sql.filtered(" OR ".join(f"({sql.condition(name, (), [(0, 1)])})" for name in NAMES)),
        {"rows": DIFFERENCES},
    ),
    "extended": (sql.extended(STRATA, STRATUM, "a1 != 0"), {"rows": DIFFERENCES}),
    "of_epoch": (sql.of_epoch(FACT, 5), {"rows": DIFFERENCES}),
    "semijoined": (sql.semijoined(("a0", ITERATION)), {"rows": DIFFERENCES, "keys": PLACE}),
    "antijoined": (sql.antijoined(("a0", "a1")), {"rows": DIFFERENCES, "keys": FACT}),
    "heads": (sql.heads("it's", ["a1", "7"]), {"changed": ("a1", MULTIPLICITY)}),
    "consolidated": (sql.consolidated(PLACE), {"rows": DIFFERENCES}),
    "consolidated_in_strata": (sql.consolidated_in_strata(PLACE, STRATA), {"rows": DIFFERENCES}),
    "multiplicities": (sql.multiplicities(PLACE, STRATA, LATTICES), {"rows": DIFFERENCES}),
    "both": (
        sql.both(PLACE),
        {"multiplicities": (*PLACE, MULTIPLICITY), "transitions": (*PLACE, TRANSITION)},
    ),
    "restricted": (
        sql.restricted((*IN_LATTICE, MULTIPLICITY), IN_LATTICE),
        {"multiplicities": (*IN_LATTICE, MULTIPLICITY), "affected": IN_LATTICE},
    ),
    "until": (
        sql.until(IN_LATTICE, 1),
        {
            "multiplicities": (*IN_LATTICE, ITERATION, MULTIPLICITY),
            "known": (*IN_LATTICE, ITERATION, MULTIPLICITY, TRANSITION),
        },
    ),
    "appearing": (sql.appearing(IN_LATTICE), {"rows": SUMS}),
    **{
        f"winners {function}": (sql.winners(function, FACT[:2], "a1"), {"rows": (*SUMS, RANK)})
        for function in ("min", "max")
    },
    "replacing": (
        sql.replacing(FACT, ("a0",), "a1"),
        {"rows": SUMS, "winners": ("a0", "winner", "former")},
    ),
    "transitions": (sql.transitions(IN_LATTICE, 2, 1), {"changed": SUMS}),
    "candidates": (
        sql.candidates(FACT[1:]),
        {"changed": (*FACT[1:], MULTIPLICITY), "members": (*FACT[1:], MULTIPLICITY)},
    ),
    "candidates_of_none": (sql.candidates_of_none(FACT[1:]), {"rows": DIFFERENCES}),
    "visible": (
        sql.visible(("a0", "a1", TRANSITION), STRATA, 3, sql.condition("it's", ())),
        {"rows": DIFFERENCES},
    ),
    "joined": (
        sql.joined(("v0",), {"v1": "a1"}, [("v0", "a0")]),
        {"left_": ("v0", ITERATION, SIGN), "right_": tuple(RIGHT + n for n in DIFFERENCES)},
    ),
    "joined to all": (
        sql.joined((), {}, []),
        {"left_": (ITERATION, SIGN), "right_": tuple(RIGHT + n for n in DIFFERENCES)},
    ),
    "antijoin": (
        sql.antijoin(("v0", "v1"), [("v0", "a0"), ("v1", "a1")]),
        {"left_": ("v0", "v1", ITERATION, SIGN), "right_": tuple(RIGHT + n for n in DIFFERENCES)},
    ),
    "by_iteration": (sql.by_iteration(PLACE), {"known": DIFFERENCES, "differences": DIFFERENCES}),
    "by_fact": (sql.by_fact(FACT), {"rows": (*PLACE, "m", "t", "dm", "dt", "own")}),
    "changes": (sql.changes(FACT, NAMES[1:]), {"rows": STATES}),
    "changes with nothing hidden": (sql.changes(FACT, []), {"rows": STATES}),
    "present": (sql.present(FACT), {"rows": DIFFERENCES}),
    "sizes": (sql.sizes(FACT, shown=True), {"rows": DIFFERENCES}),
    "sizes of a hidden predicate": (sql.sizes(FACT, shown=False), {"rows": DIFFERENCES}),
}
"""A text of each function, and the columns of the relations that it reads."""
IN_TEXTS = {"quoted", "condition", "first_that_holds", "total"}
"""Expressions, which the queries above contain."""


@pytest.fixture(scope="module")
def runner(spark, tmp_path_factory):
    """Runs queries in DuckDB or in Spark, by where their rows are."""
    return QueryRunner(spark, f"file:{tmp_path_factory.mktemp('queries')}/steps")


def value(random_, name):
    """A value of a column: often one of another row, at times one as large as can be."""
    match name.removeprefix(RIGHT):
        case "predicate":
            return random_.choice(NAMES)
        case "lattice":
            return random_.choice([-1, 0, 1])
        case "iteration" | "own":
            return random_.choice([0, 1, 2])
        case "winner" | "former":
            return random_.choice([None, 0, 1, 2])
        case "multiplicity" | "upto" | "before":
            large = random_.random() < 0.1
            return random_.choice([-1, 1]) * MAX_MULTIPLICITY if large else random_.randint(-2, 2)
        case _:
            return random_.randint(-1, 2)


def table(random_, names):
    """Up to forty rows with many in common."""
    rows = random_.randint(20, 40)
    columns = {name: [value(random_, name) for _ in range(rows)] for name in names if name != RANK}
    form = schema([name.removeprefix(RIGHT) for name in columns])
    arrays = [
        pa.array(column, field.type) for column, field in zip(columns.values(), form, strict=True)
    ]
    if RANK in names:
        # Bytes are compared as unsigned, and a beginning is less than the whole.
        ranks = {-1: b"", 0: b"\xff", 1: b"\x00a", 2: b"\x00"}
        columns[RANK] = [ranks[value] for value in columns["a1"]]
        arrays.append(pa.array(columns[RANK], pa.binary()))
    return pa.table(arrays, list(columns))


def bag(found):
    """The rows, in no order, and the types of their columns, which Spark gives in another order."""
    columns = sorted(found.column_names)
    types = [(name, found.schema.field(name).type) for name in columns]
    return types, Counter(zip(*(found[name].to_pylist() for name in columns), strict=True))


@pytest.mark.parametrize("seed", range(20) if THOROUGH else [0])
@pytest.mark.parametrize("name", CASES)
def test_both_engines_give_the_same_rows(runner, name, seed):
    """The same query over the same rows is the same bag, of the same types."""
    text, relations = CASES[name]
    random_ = random.Random(f"{name} {seed}")
    tables = {each: table(random_, columns) for each, columns in relations.items()}
    few = {each: runner.from_table(rows) for each, rows in tables.items()}
    many = {each: runner.from_frame(rows.frame) for each, rows in few.items()}
    in_duckdb, in_spark = runner.query(text, **few), runner.query(text, **many)

    assert in_duckdb.table is not None
    assert in_spark.table is None
    assert bag(in_duckdb.table) == bag(in_spark.arrow())
    # A case without any rows would compare nothing; some tables may have none.
    assert seed > 0 or in_duckdb.table.num_rows > 0


def test_every_text_is_tried():
    """No function of the module is without a case."""
    made = {
        name
        for name, function in inspect.getmembers(sql, inspect.isfunction)
        if function.__module__ == sql.__name__ and not name.startswith("_")
    }
    assert {name.split()[0] for name in CASES} == made - IN_TEXTS


def test_every_query_is_one_of_these():
    """No other module makes texts for both engines."""
    folder = Path(backend.__file__).parent
    for path in folder.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            match call:
                case ast.Call(func=ast.Attribute(attr="query"), args=[text, *_]):
                    assert ast.unparse(text).startswith("sql."), f"{path}:{call.lineno}"
