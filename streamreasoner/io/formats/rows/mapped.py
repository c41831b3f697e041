"""Rows of one mapping to updates. Invariant: a fact that reads a NULL is left out, and no other.

A value is written into an IRI as RFC 6570, section 3.2.2, and R2RML, section 7.3, say: all but
unreserved characters are percent-encoded, where RFC 3987 adds those of other scripts. NULLs follow
R2RML, section 11.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from types import NoneType
from typing import TYPE_CHECKING, Any, assert_never, cast

import numpy as np

from streamreasoner.config.rows import Column, Constant, Escape, Template
from streamreasoner.io.formats.reading.format import UpdateRows
from streamreasoner.io.formats.reading.timestamps import EventTimes
from streamreasoner.io.formats.records.typed import Typed
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.rdf.terms import quoted, to_ntriples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from streamreasoner.config.rows import Argument, RowMapping
    from streamreasoner.io.formats.records.typed import Value

    Values: TypeAlias = tuple[Value, ...]

_UCSCHAR = (
    "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14))
    + "\U000e1000-\U000efffd"
)
_UNRESERVED = f"A-Za-z0-9._~{_UCSCHAR}-"
_NOT_FINITE = {math.inf: "INF", -math.inf: "-INF"}
_NOT_UNRESERVED = re.compile(f"[^{_UNRESERVED}]")
_NOT_RESERVED = re.compile(rf"%(?![0-9A-Fa-f]{{2}})|[^%:/?#\[\]@!$&'()*+,;={_UNRESERVED}]")


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of one mapping, in the order in which they are read; n in every list.

    Attributes:
        mapping: The facts of each.
        messages: Row of the batch that each comes from.
        values: Its values, in the order of the columns of the mapping.
        diff: Its multiplicity.
        ts: Its event time in milliseconds, or None for the time of the message.
        numbers: Which part of its message it is, from 1; 0 if it is the whole of it.
    """

    mapping: RowMapping
    messages: list[int] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    diff: list[int] = field(default_factory=list)
    ts: list[int | None] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def append(self, message: int, values: Values, diff: int, ts: int | None) -> None:
        """Add the row that is, or the one of two that are, the whole of a message."""
        self.messages.append(message)
        self.values.append(values)
        self.diff.append(diff)
        self.ts.append(ts)
        self.numbers.append(0)


def literal(value: str | float | Typed) -> str:
    """The literal of a value; that of a string has no datatype."""
    if isinstance(value, Typed):
        return f'"{value.text}"^^<{value.datatype}>'
    return quoted(value) if isinstance(value, str) else to_ntriples(value)


def updates(rows: Rows, part: str, as_term: Callable[[Any], str] = literal) -> Iterator[UpdateRows]:
    """The facts of rows, in the order of the mapping.

    Args:
        rows: The rows.
        part: What a row of a message is called in reasons.
        as_term: The term of a value that is an argument by itself.
    """
    if not rows.messages:
        return
    messages, diff = (np.array(each, dtype=np.int64) for each in (rows.messages, rows.diff))
    numbers = np.array(rows.numbers, dtype=np.int32)
    columns = {
        name: [values[at] for values in rows.values] for at, name in enumerate(rows.mapping.columns)
    }
    terms: dict[Argument, Sequence[str | None]] = {}
    for fact in rows.mapping.facts:
        for each in fact.args:
            if each not in terms:
                terms[each] = _terms(each, columns, len(messages), as_term)
        args, kept = _without_null([terms[each] for each in fact.args], len(messages))
        if len(kept):
            ts = EventTimes.of([rows.ts[at] for at in kept.tolist()])
            yield UpdateRows(
                fact.predicate, messages[kept], args, diff[kept], ts, part, numbers[kept]
            )


def values_of(fields: dict[str, object], mapping: RowMapping) -> Values:
    """The values of a row that a mapping reads.

    Raises:
        RejectedError: A column is missing, or has a value that is not a literal.
    """
    values: list[Value] = []
    for name in mapping.columns:
        if name not in fields:
            raise missing_column(name, mapping, fields)
        value = fields[name]
        if not isinstance(value, str | int | float | bool | None):
            raise RejectedError(
                Reason.WRONG_TYPE,
                f"The column {name!r} is a JSON {'array' if isinstance(value, list) else 'object'};"
                " it must be a string, a number, a boolean or null.",
            )
        values.append(value)
    return tuple(values)


def missing_column(name: str, mapping: RowMapping, known: Iterable[str]) -> RejectedError:
    """The rejection of a row that lacks a column."""
    names = ", ".join(each or "one without a name" for each in known)
    return RejectedError(
        Reason.MISSING_FIELD,
        f"The row has no column {name!r}, which input.map.{mapping.name} reads;"
        f" it has {names[:200] or 'none'}.",
    )


def _terms(
    argument: Argument,
    columns: Mapping[str, Sequence[Value]],
    count: int,
    as_term: Callable[[Any], str],
) -> Sequence[str | None]:
    """An argument of each row; None where a value is NULL."""
    match argument:
        case Constant():
            return [argument.term] * count
        case Column():
            return _each(columns[argument.name], as_term)
        case Template():
            return _filled(argument, columns)
        case _:
            assert_never(argument)


def _filled(template: Template, columns: Mapping[str, Sequence[Value]]) -> Sequence[str | None]:
    first, *others = template.texts
    filled: Sequence[str | None] = [first] * len(columns[template.columns[0]])
    for name, escape, after in zip(template.columns, template.escapes, others, strict=True):
        filled = [
            None if text is None or value is None else text + value + after
            for text, value in zip(filled, _each(columns[name], _WRITERS[escape]), strict=True)
        ]
    return filled


def _each(values: Sequence[Value], write: Callable[[Any], str]) -> Sequence[str | None]:
    """What a function makes of each value, called once for equal ones; NULL stays NULL."""
    types = {*map(type, values)} - {NoneType}
    # In Python 1 equals True and 1.0, and 0.0 equals -0.0.
    if len(types) == 1 and float not in types:
        written: dict[Value, str] = {each: write(each) for each in {*values} if each is not None}
        return [*map(written.get, values)]
    return [None if each is None else write(each) for each in values]


def _without_null(
    args: Sequence[Sequence[str | None]], count: int
) -> tuple[Sequence[Sequence[str]], NDArray[np.int64]]:
    """The arguments of the facts that have all of theirs, and the rows of those facts."""
    kept: Sequence[int] = range(count)
    if any(None in column for column in args):
        kept = [at for at in kept if all(column[at] is not None for column in args)]
        args = [[column[at] for at in kept] for column in args]
    return cast("Sequence[Sequence[str]]", args), np.array(kept, dtype=np.int64)


def _written(value: str | float | Typed) -> str:
    """A value as part of a term: digits without an exponent suit decimals, doubles and IRIs."""
    match value:
        case Typed():
            return value.text
        case str():
            return value
        case float() if not math.isfinite(value):
            return _NOT_FINITE.get(value, "NaN")
        case float():
            return f"{Decimal(repr(value)):f}"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def _simple(value: str | float | Typed) -> str:
    return _NOT_UNRESERVED.sub(_percent, _written(value))


def _reserved(value: str | float | Typed) -> str:
    return _NOT_RESERVED.sub(_percent, _written(value))


def _in_quotes(value: str | float | Typed) -> str:
    return quoted(_written(value))[1:-1]


_WRITERS = {Escape.SIMPLE: _simple, Escape.RESERVED: _reserved, Escape.LITERAL: _in_quotes}
