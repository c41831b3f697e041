"""A batch of Kafka messages -> encoded updates and rejections.

Invariant: all updates of a message are applied, or it is rejected with exactly one reason; and the
same rows in the same order give the same ids.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.counts import counted
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import TermError
from streamreasoner.facts import having_any, ids_of
from streamreasoner.io.codec.envelope import (
    accept_tombstones,
    append_milliseconds,
    check_values,
    formats_of,
    message_times,
)
from streamreasoner.io.codec.keys import KeyedMessages
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.reading.format import EncodedUpdates, UpdateRows
from streamreasoner.io.formats.reading.messages import Messages
from streamreasoner.io.formats.records.record import NO_SCHEMAS
from streamreasoner.io.formats.registry import JSON, MESSAGES, message_reader
from streamreasoner.io.formats.rejected import Reason, RejectedError, in_order
from streamreasoner.lang.ast import ARITIES, QUAD, TRIPLE
from streamreasoner.plan.program_plan import NO_SOURCES
from streamreasoner.program.unknown import unknown_text
from streamreasoner.rdf.term_kind import TermKind, is_triple_term, kind_of
from streamreasoner.rdf.terms import canonical
from streamreasoner.rdf.texts import are_blank_nodes, are_iris, are_literals, are_triple_terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.config.rows import RowMapping
    from streamreasoner.io.formats.reading.format import Format
    from streamreasoner.io.formats.records.record import Schemas
    from streamreasoner.io.formats.rejected import Rejected, Rejections
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_plan import InputSources
    from streamreasoner.rdf.dictionary import Dictionary

_INVALID_ID = -1
_TEXT = pa.large_string()
_PARTS = 32  # bits for the part of a message
_INVALID = {
    TermKind.IRI: Reason.INVALID_IRI,
    TermKind.BLANK_NODE: Reason.INVALID_BLANK_NODE,
    TermKind.LITERAL: Reason.INVALID_LITERAL,
    TermKind.TRIPLE_TERM: Reason.NOT_A_TERM,
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded batch.

    Attributes:
        updates: Encoded updates with their times and order; a predicate may appear more than once.
        rejected: Rejected rows, ascending.
        clock: The largest event time of the updates, in milliseconds since 1970, where an update
            counts as no later than `max_ahead` after its message was appended; None if there are
            none.
    """

    updates: tuple[Updates, ...]
    rejected: tuple[Rejected, ...]
    clock: int | None

    @property
    def event_time(self) -> int | None:
        """Largest event time of the updates; None if there are none."""
        times = (each.times for each in self.updates if each.times is not None)
        return max((int(column.max()) for column in times), default=None)


@dataclass(frozen=True, slots=True, eq=False)
class _Checked:
    """Updates of one predicate and their times; with their terms, if they are not encoded yet."""

    rows: UpdateRows | EncodedUpdates
    times: NDArray[np.int64]
    terms: Sequence[pa.LargeStringArray] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions:
    """What messages are, and how long they may be.

    Attributes:
        max_message_bytes: Longest value that is read.
        max_term_bytes: Longest term that is read, in N-Triples syntax.
        default: The format of messages without a content type.
        of_topics: The same for the messages of some topics.
        formats: Formats that are read, in the order in which they get ids.
        mappings: The facts of the rows of tables.
        sources: Topics whose facts are apart from those of others.
        max_ahead: How far a time may be beyond that of its message, in milliseconds, and move the
            frontier.
        schemas: Where the schemas of messages in Avro and Protobuf are.
        bases: What relative IRIs in the messages of some topics are resolved against.
    """

    max_message_bytes: int
    max_term_bytes: int
    default: Format = JSON
    of_topics: Mapping[str, Format] = field(default_factory=dict)
    formats: Sequence[Format] = MESSAGES
    mappings: Sequence[RowMapping] = ()
    sources: InputSources = NO_SOURCES
    max_ahead: int = 60_000
    schemas: Schemas = NO_SCHEMAS
    bases: Mapping[str, str] = field(default_factory=dict)


_LONGEST = (1 << 31) - 1
NO_LIMITS = InputOptions(max_message_bytes=_LONGEST, max_term_bytes=_LONGEST)
"""For messages that no pipeline reads."""


def message_of(updates: Updates) -> NDArray[np.int64]:
    """The row of the batch that each decoded update comes from, int64 of shape (n,)."""
    assert updates.order is not None  # noqa: S101 - decoded ones have one
    return updates.order >> _PARTS


def in_place(
    messages: NDArray[np.int64], parts: NDArray[np.int32] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Places in the input, as `Updates.order` has them, from messages and parts of messages."""
    return (messages << _PARTS) + parts


def part_of(updates: Updates) -> NDArray[np.int64]:
    """The part of its message that each decoded update is, int64 of shape (n,)."""
    assert updates.order is not None  # noqa: S101 - decoded ones have one
    return updates.order & ((1 << _PARTS) - 1)


class Codec:
    """Decodes batches for one program, or for none.

    Args:
        dictionary: Encodes the terms.
        arities: Predicates of the program and their arities, `triple` being always known; None
            without a program, which takes all but triples and quads of another arity.
        options: What messages are.
        constraints: Predicates that are only derived.
        expiring: The facts that expire, which no topic with keys may assert.
        hidden: Predicates that no rejection lists.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        arities: Mapping[str, int] | None,
        options: InputOptions,
        constraints: Collection[str] = (),
        expiring: Sequence[Pattern] = (),
        *,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self._dictionary = dictionary
        self._any = arities is None
        self._arities = {**(ARITIES if arities is None else arities), TRIPLE: ARITIES[TRIPLE]}
        self._options = options
        self._constraints = constraints
        self._expiring = expiring
        self._hidden = hidden

    def decode(self, batch: pa.Table) -> Decoded:
        """Decode the rows of a batch.

        Args:
            batch: The columns of `io.spark.source.COLUMNS`, n rows; their order determines the
                ids. Only `value` (binary), `timestamp` (Kafka's, any Arrow timestamp) and
                `headers` (list of key and value) are always read.
        """
        rejected = check_values(batch, self._options.max_message_bytes)
        appended = append_milliseconds(batch)
        times_of = message_times(batch, appended, rejected)
        keyed = KeyedMessages(
            batch, self._options.sources.keyed, self._options.max_term_bytes, times_of, rejected
        )
        groups = [
            self._checked(rows, times_of, rejected)
            for rows in self._read(batch, rejected)
            if self._fits(rows, rejected)
        ]
        encoded = [(group, self._encode(group, rejected)) for group in groups]
        for group, ids in encoded:
            keyed.check(group.rows, self._expires(group.rows.predicate, ids), rejected)
        keyed.encode(self._dictionary, rejected)
        updates: list[Updates] = []
        clocks: list[int] = []
        # Only now is it known which messages are rejected: each may have updates in several groups.
        for group, ids in encoded:
            good = _not_rejected(group.rows, rejected)
            rows, times, messages = group.rows, group.times[good], group.rows.messages[good]
            if len(messages):
                order = in_place(messages, rows.parts[good])
                taken = Updates(rows.predicate, ids[good], rows.diff[good], times, "", order)
                updates += self._by_source(taken, messages, batch, keyed)
                latest = appended[messages] + self._options.max_ahead
                clocks.append(int(np.minimum(times, latest).max()))
        updates += keyed.messages(_PARTS)
        if len(empty := keyed.empty):
            latest = appended[empty] + self._options.max_ahead
            clocks.append(int(np.minimum(times_of[empty], latest).max()))
        return Decoded(tuple(updates), in_order(rejected), max(clocks, default=None))

    def _expires(self, predicate: str, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which facts of a predicate expire: bool of shape (n,)."""
        intern = self._dictionary.intern
        expiring = [each for each in self._expiring if each.predicate == predicate]
        bound = [(predicate, ids_of(each.constants, intern)) for each in expiring]
        return having_any(predicate, ids, bound)

    def _by_source(
        self,
        updates: Updates,
        messages: NDArray[np.int64],
        batch: pa.Table,
        keyed: KeyedMessages,
    ) -> Iterator[Updates]:
        """The updates of each topic that is apart from others, and those of all others."""
        rest = np.ones(len(messages), dtype=np.bool_)
        for topic in (*self._options.sources.sets, *self._options.sources.keyed):
            is_topic = pc.equal(batch.column("topic"), topic).to_numpy(zero_copy_only=False)
            chosen = is_topic[messages]
            if chosen.any():
                rest &= ~chosen
                taken = replace(updates.take(chosen), source=topic)
                has_keys = topic in self._options.sources.keyed
                yield keyed.with_keys(taken, messages[chosen]) if has_keys else taken
        if rest.all():
            yield updates
        elif rest.any():
            yield updates.take(rest)

    def _read(self, batch: pa.Table, rejected: Rejections) -> Iterator[UpdateRows | EncodedUpdates]:
        """The updates of all messages that are not rejected, by format."""
        options = self._options
        chosen = formats_of(batch, options.default, options.of_topics, options.formats, rejected)
        good = np.ones(len(batch), dtype=np.bool_)
        good[[*rejected]] = False
        accept_tombstones(batch, chosen, options.formats, options.sources.keyed, rejected)
        for index, format_ in enumerate(options.formats):
            rows = np.flatnonzero(good & (chosen == index))
            if len(rows):
                of_format = batch if len(rows) == len(batch) else batch.take(pa.array(rows))
                messages = Messages(
                    of_format, rows, options.mappings, options.schemas, options.bases
                )
                yield from message_reader(format_)(messages, self._dictionary, rejected)

    def _fits(self, rows: UpdateRows | EncodedUpdates, rejected: Rejections) -> bool:
        """Whether the program takes facts of the predicate with this arity; else rejects all."""
        arity = self._arities.get(rows.predicate)
        is_constraint = rows.predicate in self._constraints
        if (arity == rows.arity or (arity is None and self._any)) and not is_constraint:
            return True
        if is_constraint:
            reason = Reason.CONSTRAINT
            detail = f"{rows.predicate} is a constraint: its violations are only derived."
        elif arity is None:
            reason = Reason.UNKNOWN_PREDICATE
            visible = {
                name: number for name, number in self._arities.items() if name not in self._hidden
            }
            detail = unknown_text(rows.predicate, visible)
        else:
            reason = Reason.WRONG_ARITY
            detail = f"{rows.predicate} has {counted(arity, 'argument')}; got {rows.arity}."
        _reject(rows, range(len(rows.messages)), reason, detail, rejected)
        return False

    def _checked(
        self,
        rows: UpdateRows | EncodedUpdates,
        times_of: NDArray[np.int64],
        rejected: Rejections,
    ) -> _Checked:
        """Check whatever needs no ids; `times_of` has the time of each message."""
        of_messages = times_of[rows.messages]
        if isinstance(rows, EncodedUpdates):
            times = timestamps.in_range(of_messages)
            _check_times(rows, times, rejected)
            lengths = self._dictionary.lengths(rows.args)
            self._check_lengths(rows, lengths.reshape(rows.args.shape).T, rejected)
            return _Checked(rows, times)
        terms = [
            column if isinstance(column, pa.LargeStringArray) else pa.array(column, _TEXT)
            for column in rows.args
        ]
        times = rows.ts.milliseconds(of_messages)
        _check_times(rows, times, rejected)
        zero = np.flatnonzero(rows.diff == 0).tolist()
        _reject(rows, zero, Reason.DIFF_ZERO, "diff must not be 0.", rejected)
        if rows.predicate in ARITIES:
            _check_kinds(rows, terms, rejected)
        if terms:
            lengths = np.stack([pc.binary_length(column).to_numpy() for column in terms])
            self._check_lengths(rows, lengths, rejected)
        return _Checked(rows, times, terms)

    def _check_lengths(
        self,
        rows: UpdateRows | EncodedUpdates,
        lengths: NDArray[np.int64],
        rejected: Rejections,
    ) -> None:
        """Reject terms that are too long; *lengths* are bytes, of shape (arity, n)."""
        most = self._options.max_term_bytes
        if lengths.max(initial=0) <= most:
            return
        longest = lengths.max(axis=0)
        for index in np.flatnonzero(longest > most).tolist():
            detail = f"A term has {longest[index]} bytes; the maximum is {most}."
            _reject(rows, [index], Reason.OVERSIZED_TERM, detail, rejected)

    def _encode(self, group: _Checked, rejected: Rejections) -> NDArray[np.int32]:
        """Ids of the terms, int32 of shape (n, arity); -1 in rejected rows."""
        rows, keep = group.rows, _not_rejected(group.rows, rejected)
        count = len(rows.messages)
        ids = np.full((count, rows.arity), _INVALID_ID, dtype=np.int32)
        if isinstance(rows, EncodedUpdates):
            ids[keep] = rows.args[keep]
            return ids
        kept = np.arange(count)[keep]
        for position, terms in enumerate(group.terms or ()):
            found = self._dictionary.encode_validated(
                terms if len(kept) == count else terms.take(pa.array(kept))
            )
            ids[keep, position] = found
            for index in kept[found == _INVALID_ID].tolist():
                reason, detail = _invalid_term(terms[index].as_py())
                _reject(rows, [index], reason, detail, rejected)
        return ids


def _reject(
    rows: UpdateRows | EncodedUpdates,
    indices: Iterable[int],
    reason: Reason,
    detail: str,
    rejected: Rejections,
) -> None:
    """Reject the messages of some updates, unless they are rejected already."""
    for index in indices:
        error = RejectedError(reason, rows.place(index) + detail)
        rejected.setdefault(int(rows.messages[index]), error)


def _check_times(
    rows: UpdateRows | EncodedUpdates, times: NDArray[np.int64], rejected: Rejections
) -> None:
    for index in np.flatnonzero(times == timestamps.INVALID).tolist():
        ts = rows.ts.written.get(index) if isinstance(rows, UpdateRows) else None
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
    for index in np.flatnonzero(_no_resources(terms[0])).tolist():
        detail = f"The subject {terms[0][index].as_py()[:80]} is {_kind(terms[0][index])}."
        _reject(rows, [index], Reason.SUBJECT_KIND, detail, rejected)
    if not pc.all(are_iris(terms[1])).as_py():
        for index in np.flatnonzero(
            pc.or_(_no_resources(terms[1]), are_blank_nodes(terms[1]))
        ).tolist():
            detail = f"The predicate {terms[1][index].as_py()[:80]} is not an IRI."
            _reject(rows, [index], Reason.PREDICATE_KIND, detail, rejected)
    if rows.predicate == QUAD:
        for index in np.flatnonzero(_no_resources(terms[3])).tolist():
            detail = f"The graph {terms[3][index].as_py()[:80]} is {_kind(terms[3][index])}."
            _reject(rows, [index], Reason.GRAPH_KIND, detail, rejected)


def _no_resources(terms: pa.LargeStringArray) -> pa.BooleanArray:
    return pc.or_(are_literals(terms), are_triple_terms(terms))


def _kind(term: pa.Scalar) -> str:
    return "a triple term" if is_triple_term(term.as_py()) else "a literal"


def _not_rejected(
    rows: UpdateRows | EncodedUpdates, rejected: Rejections
) -> NDArray[np.bool_] | slice:
    """The updates of messages that are not rejected, as an index of columns."""
    if not rejected:
        return slice(None)
    return ~np.isin(rows.messages, np.fromiter(rejected, dtype=np.int64))


def _invalid_term(text: str) -> tuple[Reason, str]:
    kind = kind_of(text)
    reason = Reason.NOT_A_TERM if kind is None else _INVALID[kind]
    try:
        canonical(text)
    except TermError as error:
        return reason, str(error)
    return reason, f"{text[:80]!r} is not a term in N-Triples syntax."
