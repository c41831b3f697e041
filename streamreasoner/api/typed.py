"""Columns of terms as columns of values. Invariant: what has no value stays a column of terms.

| all terms of the column | its values |
|---|---|
| `xsd:integer`, within 64 bits | int64 |
| `xsd:double`, `xsd:float` | float64, float32 |
| `xsd:decimal`, at most 38 digits | decimal128 |
| `xsd:boolean` | bool |
| `xsd:dateTime`, all with a time zone, or all without | timestamps, in UTC or without a zone |
| `xsd:date` without a time zone | date32 |
| literals without datatype and language | text |
| IRIs | text |

Null stays null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.rdf import vocabulary
from streamreasoner.rdf.term_kind import TermKind
from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.texts import are_iris, are_literals

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_ZONE: Final = r"(Z|[+-]\d\d:\d\d)$"
_DIGITS: Final = 38
# Arrow also reads hexadecimal numbers, and dates with a space in place of the T.
_INTEGER: Final = r"^[+-]?\d+$"
_DECIMAL: Final = r"^[+-]?(\d+(\.\d*)?|\.\d+)$"
_DOUBLE: Final = r"^([+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN)$"
_DATE_TIME: Final = r"^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?$"
_DATE: Final = r"^[1-9]\d{3}-\d\d-\d\d$"


def typed(table: pa.Table, columns: Collection[str]) -> pa.Table:
    """The same table, in which columns of terms of one kind have values.

    Args:
        table: Columns of terms are dictionaries of texts in N-Triples syntax.
        columns: Those of terms.
    """
    for position, name in enumerate(table.column_names):
        if name in columns:
            table = table.set_column(position, name, _values(table.column(name)))
    return table


def _values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    terms = pc.drop_null(pc.unique(column.cast(pa.large_string())))
    if not len(terms):
        return column
    first = parse(terms[0].as_py())
    read = _IRI if first.datatype is None else _READERS.get(first.datatype)
    if read is None or first.language is not None or first.kind is TermKind.BLANK_NODE:
        return column
    values = read(terms)
    if values is None:
        return column
    places = pc.index_in(column.cast(pa.large_string()), terms)
    return pc.take(values, places)


def _lexical(terms: pa.LargeStringArray, datatype: str, pattern: str) -> pa.LargeStringArray | None:
    """The lexical forms, without a plus, of literals of one datatype; None if others are there."""
    end = f'"^^<{datatype}>'
    if not pc.all(pc.ends_with(terms, end)).as_py():
        return None
    texts = pc.utf8_slice_codeunits(terms, 1, -len(end))
    if not pc.all(pc.match_substring_regex(texts, pattern)).as_py():
        return None
    return pc.utf8_ltrim(texts, "+")


def _of(
    datatype: str, pattern: str, kind: pa.DataType
) -> Callable[[pa.LargeStringArray], pa.Array | None]:
    """Reads the literals of a datatype by a cast of Arrow."""

    def read(terms: pa.LargeStringArray) -> pa.Array | None:
        texts = _lexical(terms, datatype, pattern)
        return None if texts is None else _cast(texts, kind)

    return read


def _cast(texts: pa.LargeStringArray, kind: pa.DataType) -> pa.Array | None:
    """Values of texts; None if one of them has none."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def _plain(terms: pa.LargeStringArray) -> pa.Array | None:
    is_plain = pc.and_(are_literals(terms), pc.ends_with(terms, '"'))
    if not pc.all(is_plain).as_py():
        return None
    if pc.any(pc.match_substring(terms, "\\")).as_py():
        return pa.array([parse(term).value for term in terms.to_pylist()], pa.large_string())
    return pc.utf8_slice_codeunits(terms, 1, -1)


def _IRI(terms: pa.LargeStringArray) -> pa.Array | None:  # noqa: N802 - a reader like the others
    if not pc.all(are_iris(terms)).as_py():
        return None
    return pc.utf8_slice_codeunits(terms, 1, -1)


def _decimal(terms: pa.LargeStringArray) -> pa.Array | None:
    texts = _lexical(terms, vocabulary.XSD_DECIMAL, _DECIMAL)
    if texts is None:
        return None
    points = pc.find_substring(texts, ".")
    fractions = pc.subtract(pc.utf8_length(texts), pc.add(points, 1))
    scale = pc.max(pc.if_else(pc.equal(points, -1), 0, fractions)).as_py()
    return None if scale > _DIGITS else _cast(texts, pa.decimal128(_DIGITS, scale))


def _boolean(terms: pa.LargeStringArray) -> pa.Array | None:
    texts = _lexical(terms, vocabulary.XSD_BOOLEAN, "^(true|false|1|0)$")
    return None if texts is None else pc.match_substring_regex(texts, "^(true|1)$")


def _instant(terms: pa.LargeStringArray) -> pa.Array | None:
    texts = _lexical(terms, vocabulary.XSD_DATE_TIME, _DATE_TIME)
    if texts is None:
        return None
    has_zone = pc.match_substring_regex(texts, _ZONE)
    if pc.all(has_zone).as_py():
        return _cast(texts, pa.timestamp("us", "UTC"))
    return None if pc.any(has_zone).as_py() else _cast(texts, pa.timestamp("us"))


_READERS: Final[dict[str, Callable[[pa.LargeStringArray], pa.Array | None]]] = {
    vocabulary.XSD_STRING: _plain,
    vocabulary.XSD_INTEGER: _of(vocabulary.XSD_INTEGER, _INTEGER, pa.int64()),
    vocabulary.XSD_DECIMAL: _decimal,
    vocabulary.XSD_DOUBLE: _of(vocabulary.XSD_DOUBLE, _DOUBLE, pa.float64()),
    vocabulary.XSD_FLOAT: _of(vocabulary.XSD_FLOAT, _DOUBLE, pa.float32()),
    vocabulary.XSD_BOOLEAN: _boolean,
    vocabulary.XSD_DATE_TIME: _instant,
    vocabulary.XSD_DATE: _of(vocabulary.XSD_DATE, _DATE, pa.date32()),
}
