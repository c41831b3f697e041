"""Facts of Spark's frames. Invariant: a row is taken as a whole, or rejected with a reason.

A frame has the facts of one predicate, in the columns of `Reasoner.apply_arrow`, or of any, in the
columns `predicate` and `args` that `changes` of a state has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from streamreasoner.api.arrow_input import valid_updates
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.tables import ARGUMENTS, MULTIPLICITY, PREDICATE
from streamreasoner.api.updates import check_asserted, check_predicate
from streamreasoner.errors import DataError
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.program.columns import positional

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.engine.session import Session
    from streamreasoner.engine.updates import Updates

DIFF = "diff"
"""What the column of multiplicities may be called, too."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a frame as updates.

    Attributes:
        updates: Those of the valid rows.
        rejected: Maps the place of each other row to the reason.
    """

    updates: list[Updates] = field(default_factory=list)
    rejected: dict[int, str] = field(default_factory=dict)


def reason(
    facts: DataFrame,
    rules: str | Path,
    *,
    predicate: str = TRIPLE,
    output: str = TRIPLE,
    graphs: Literal["default", "union", "each"] | None = None,
) -> DataFrame:
    """The consequences of a frame of facts, evaluated once, in the driver.

    Args:
        facts: The facts; see `Reasoner.apply_arrow` for the columns.
        rules: As of `Reasoner.from_rules`.
        predicate: The predicate of the facts.
        output: The predicate of the result.
        graphs: As of `Reasoner.from_rules`.

    Returns:
        The present facts of a predicate, asserted and derived: a column of texts, terms in
        N-Triples syntax, for each argument.

    Raises:
        ProgramError: The rules are invalid; the message lists every error with its position.
        DataError: A row is not a valid fact, or a predicate is unknown.
        EngineError: The evaluation failed.
    """
    reasoner = Reasoner.from_rules(rules, graphs=graphs)
    check_predicate(output, None, reasoner.program)
    rows = updates_of(collected(facts), predicate, reasoner.session)
    for place, why in rows.rejected.items():
        raise DataError(f"Row {place}: {why}")
    reasoner.session.apply(rows.updates)
    table = reasoner.facts(output).to_arrow()
    return facts.sparkSession.createDataFrame(as_texts(table))


def collected(frame: DataFrame) -> pa.Table:
    """The rows of a frame, with its multiplicities under their own name.

    Raises:
        DataError: It is not a frame.
    """
    if not isinstance(frame, DataFrame):
        raise DataError(
            f"Facts are a DataFrame of Spark, not {type(frame).__name__}. Make one with "
            "spark.createDataFrame(...)."
        )
    table = frame.toArrow()
    return table.rename_columns(
        [MULTIPLICITY if name == DIFF else name for name in table.column_names]
    )


def as_texts(table: pa.Table) -> pa.Table:
    """A table of terms with columns of plain texts, which Spark takes."""
    return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))


def updates_of(table: pa.Table, predicate: str, session: Session) -> Rows:
    """The updates of a table.

    Args:
        table: The table.
        predicate: The predicate of its facts, unless it has the columns `predicate` and `args`.
        session: Has the program and the dictionary.

    Raises:
        DataError: The predicate is unknown, or a column is missing, unknown or of another type.
    """
    found = Rows()
    if {PREDICATE, ARGUMENTS} <= set(table.column_names):
        for name in pc.unique(table.column(PREDICATE)).to_pylist():
            same = pc.index_in(table.column(PREDICATE), pa.array([name], pa.string()))
            places = np.flatnonzero(same.is_valid().to_numpy())
            _add_facts(found, table, places, name, session)
    else:
        check_predicate(predicate, None, session.program)
        check_asserted(predicate, session.program.constraints, "")
        _add(found, table, np.arange(len(table)), predicate, session)
    return found


def _add_facts(
    found: Rows, table: pa.Table, places: np.ndarray, predicate: str, session: Session
) -> None:
    """Add the rows of one predicate, whose arguments are lists."""
    try:
        check_predicate(predicate, None, session.program)
        check_asserted(predicate, session.program.constraints, "")
    except DataError as error:
        found.rejected.update(dict.fromkeys(places.tolist(), str(error)))
        return
    rows = table.take(places)
    arity = session.program.arities[predicate]
    sizes = pc.fill_null(pc.list_value_length(rows.column(ARGUMENTS)), -1).to_numpy()
    for row in np.flatnonzero(sizes != arity).tolist():
        found.rejected[int(places[row])] = (
            "The arguments are null."
            if sizes[row] < 0
            else f"'{predicate}' has {arity} arguments in the program, not {sizes[row]}."
        )
    fitting = np.flatnonzero(sizes == arity)
    rows, places = rows.take(fitting), places[fitting]
    columns = {
        name: pc.list_element(rows.column(ARGUMENTS), position)
        for position, name in enumerate(positional(predicate, arity))
    }
    others = {name: rows.column(name) for name in rows.column_names if name not in _FACT}
    _add(found, pa.table({**columns, **others}), places, predicate, session)


def _add(
    found: Rows, table: pa.Table, places: np.ndarray, predicate: str, session: Session
) -> None:
    columns = session.program.columns(predicate)
    updates, faults = valid_updates(table, predicate, columns, session.dictionary)
    found.updates.append(updates)
    for fault in faults:
        where = "" if fault.column is None else f"column {fault.column}: "
        found.rejected[int(places[fault.row])] = f"{where}{fault.why}"


_FACT = {PREDICATE, ARGUMENTS}
