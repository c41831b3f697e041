"""A batch of Kafka messages -> encoded updates and rejections.

Invariant: all updates of a message are applied, or it is rejected with exactly one reason; and the
same rows in the same order give the same ids.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.engine.updates import Updates
from streamreasoner.errors import TermError
from streamreasoner.io.codec.envelope import append_milliseconds, check_envelopes
from streamreasoner.io.formats import timestamps
from streamreasoner.io.formats.registry import JSON, message_reader
from streamreasoner.io.formats.rejected import Reason, RejectedError, in_order
from streamreasoner.lang.ast import ARITIES, QUAD, TRIPLE
from streamreasoner.rdf.terms import canonical, to_ntriples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.io.formats.format import Format, UpdateRows
    from streamreasoner.io.formats.rejected import Rejected, Rejections
    from streamreasoner.rdf.dictionary import TermDictionary

_INVALID_ID = -1
_BLANK, _LITERAL = b"_"[0], b'"'[0]
# NUL as an N-Triples escape: after a backslash that is not escaped itself.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u0000|U00000000)")


def holds_nul(text: str) -> bool:
    """Whether a text contains the character NUL, escaped or not."""
    return "\0" in text or _NUL.search(text) is not None


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded batch.

    Attributes:
        updates: Encoded updates; a predicate may appear more than once.
        times: Event times of the updates, milliseconds since 1970: a column for each of `updates`.
        rejected: Rejected rows, ascending.
    """

    updates: tuple[Updates, ...]
    times: tuple[NDArray[np.int64], ...]
    rejected: tuple[Rejected, ...]

    @property
    def event_time(self) -> int | None:
        """Largest event time of the updates; None if there are none."""
        return max((int(column.max()) for column in self.times), default=None)


@dataclass(frozen=True, slots=True, eq=False)
class _CheckedRows:
    """Updates of one predicate with their terms and times, not yet encoded; n in every column."""

    rows: UpdateRows
    terms: Sequence[pa.LargeStringArray]
    times: NDArray[np.int64]


class Codec:
    """Decodes batches for one program.

    Args:
        dictionary: Encodes the terms.
        arities: Predicates of the program and their arities; `triple` is always known.
        max_message_bytes: Longest value that is read.
        format_: The format of the messages.
    """

    def __init__(
        self,
        dictionary: TermDictionary,
        arities: Mapping[str, int],
        max_message_bytes: int,
        format_: Format = JSON,
    ) -> None:
        self._dictionary = dictionary
        self._arities = {**arities, TRIPLE: ARITIES[TRIPLE]}
        self._max_bytes = max_message_bytes
        self._format = format_
        self._read = message_reader(format_)

    def decode(self, batch: pa.Table) -> Decoded:
        """Decode the rows of a batch.

        Args:
            batch: Columns `value` (binary), `timestamp` (Kafka's, any Arrow timestamp) and
                `headers` (list of key and value), n rows; their order determines the ids.
        """
        rejected = check_envelopes(batch, self._max_bytes, self._format)
        appended = append_milliseconds(batch)
        groups = [
            _checked(rows, appended, rejected)
            for rows in self._read(batch.column("value").to_pylist(), rejected)
            if self._fits(rows, rejected)
        ]
        encoded = [(group, self._encode(group, rejected)) for group in groups]
        updates: list[Updates] = []
        times: list[NDArray[np.int64]] = []
        # Only now is it known which messages are rejected: each may have updates in several groups.
        for group, ids in encoded:
            good = _not_rejected(group.rows, rejected)
            if good.any():
                updates.append(Updates(group.rows.predicate, ids[good], group.rows.diff[good]))
                times.append(group.times[good])
        return Decoded(tuple(updates), tuple(times), in_order(rejected))

    def _fits(self, rows: UpdateRows, rejected: Rejections) -> bool:
        """Whether the program has the predicate with this arity; if not, all are rejected."""
        arity = self._arities.get(rows.predicate)
        if arity == len(rows.args):
            return True
        if arity is None:
            reason = Reason.UNKNOWN_PREDICATE
            known = ", ".join(sorted(self._arities))
            detail = f"The program has no predicate {rows.predicate[:80]!r}; it has {known}."
        else:
            reason = Reason.WRONG_ARITY
            detail = f"{rows.predicate} has {arity} arguments; got {len(rows.args)}."
        _reject(rows, range(len(rows.messages)), reason, detail, rejected)
        return False

    def _encode(self, group: _CheckedRows, rejected: Rejections) -> NDArray[np.int32]:
        """Ids of the terms, int32 of shape (n, arity); -1 in rejected rows."""
        keep = _not_rejected(group.rows, rejected)
        ids = np.full((len(keep), len(group.terms)), _INVALID_ID, dtype=np.int32)
        for position, terms in enumerate(group.terms):
            kept = terms if keep.all() else terms.filter(pa.array(keep))
            ids[keep, position] = self._dictionary.encode_validated(kept)
            for index in np.flatnonzero(keep & (ids[:, position] == _INVALID_ID)).tolist():
                reason, detail = _invalid_term(terms[index].as_py())
                _reject(group.rows, [index], reason, detail, rejected)
        return ids


def _reject(
    rows: UpdateRows, indices: Iterable[int], reason: Reason, detail: str, rejected: Rejections
) -> None:
    """Reject the messages of some updates, unless they are rejected already."""
    for index in indices:
        place = rows.places[index] if rows.places else ""
        rejected.setdefault(int(rows.messages[index]), RejectedError(reason, f"{place}{detail}"))


def _checked(rows: UpdateRows, appended: NDArray[np.int64], rejected: Rejections) -> _CheckedRows:
    """Check whatever needs no dictionary."""
    terms = [_terms(rows, column, rejected) for column in rows.args]
    times = timestamps.milliseconds(rows.ts, appended[rows.messages])
    _check_nul(rows, terms, rejected)
    _check_times(rows, times, rejected)
    zero = np.flatnonzero(rows.diff == 0).tolist()
    _reject(rows, zero, Reason.DIFF_ZERO, "diff must not be 0.", rejected)
    if rows.predicate in ARITIES:
        _check_kinds(rows, terms, rejected)
    return _CheckedRows(rows, terms, times)


def _terms(
    rows: UpdateRows, column: Sequence[str | float], rejected: Rejections
) -> pa.LargeStringArray:
    """An argument of each update in N-Triples syntax."""
    try:
        return pa.array(column, pa.large_string())
    except pa.ArrowTypeError:
        texts = []
    for index, value in enumerate(column):
        try:
            texts.append(value if isinstance(value, str) else to_ntriples(value))
        except TermError as error:
            texts.append("")
            _reject(rows, [index], Reason.NUMBER_OUT_OF_RANGE, str(error), rejected)
    return pa.array(texts, pa.large_string())


def _check_nul(
    rows: UpdateRows, terms: Sequence[pa.LargeStringArray], rejected: Rejections
) -> None:
    for column in filter(_mentions_nul, terms):
        found = [index for index, text in enumerate(column.to_pylist()) if holds_nul(text)]
        _reject(rows, found, Reason.NUL, "A term contains the character NUL.", rejected)


def _mentions_nul(terms: pa.LargeStringArray) -> bool:
    """Whether any text may contain NUL; scans the buffer, not the texts."""
    buffer = terms.buffers()[2]
    data = b"" if buffer is None else buffer.to_pybytes()
    return b"u0000" in data or b"U0000" in data or b"\0" in data


def _check_times(rows: UpdateRows, times: NDArray[np.int64], rejected: Rejections) -> None:
    for index in np.flatnonzero(times == timestamps.INVALID).tolist():
        ts = rows.ts[index]
        detail = (
            timestamps.OUT_OF_RANGE
            if ts is None
            else f"ts is {str(ts)[:60]!r}; it must be {timestamps.ALLOWED}."
        )
        _reject(rows, [index], Reason.BAD_TIMESTAMP, detail, rejected)


def _check_kinds(
    rows: UpdateRows, terms: Sequence[pa.LargeStringArray], rejected: Rejections
) -> None:
    """RDF: subjects and graphs are IRIs or blank nodes, predicates are IRIs."""
    subjects, predicates = (_first_bytes(column) for column in terms[:2])
    for index in np.flatnonzero(subjects == _LITERAL).tolist():
        detail = f"The subject {terms[0][index].as_py()[:80]} is a literal."
        _reject(rows, [index], Reason.SUBJECT_KIND, detail, rejected)
    for index in np.flatnonzero((predicates == _LITERAL) | (predicates == _BLANK)).tolist():
        detail = f"The predicate {terms[1][index].as_py()[:80]} is not an IRI."
        _reject(rows, [index], Reason.PREDICATE_KIND, detail, rejected)
    if rows.predicate == QUAD:
        for index in np.flatnonzero(_first_bytes(terms[3]) == _LITERAL).tolist():
            detail = f"The graph {terms[3][index].as_py()[:80]} is a literal."
            _reject(rows, [index], Reason.GRAPH_KIND, detail, rejected)


def _first_bytes(texts: pa.LargeStringArray) -> NDArray[np.uint8]:
    """First byte of each text, 0 for an empty one; uint8 of shape (n,)."""
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64, count=len(texts) + 1, offset=8 * texts.offset)
    first = np.zeros(len(texts), dtype=np.uint8)
    filled = starts[1:] > starts[:-1]
    if data is not None:
        first[filled] = np.frombuffer(data, dtype=np.uint8)[starts[:-1][filled]]
    return first


def _not_rejected(rows: UpdateRows, rejected: Rejections) -> NDArray[np.bool_]:
    if not rejected:
        return np.ones(len(rows.messages), dtype=np.bool_)
    return ~np.isin(rows.messages, np.fromiter(rejected, dtype=np.int64))


def _invalid_term(text: str) -> tuple[Reason, str]:
    match text[:1]:
        case "<":
            reason = Reason.INVALID_IRI
        case "_":
            reason = Reason.INVALID_BLANK_NODE
        case '"':
            reason = Reason.INVALID_LITERAL
        case _:
            reason = Reason.NOT_A_TERM
    try:
        canonical(text)
    except TermError as error:
        return reason, str(error)
    return reason, f"{text[:80]!r} is not a term in N-Triples syntax."
