"""Messages of topics with keys. Invariant: each is applied with its key, or rejected.

The key of a message is a term: a literal with its text, or in hexadecimal digits if it is not text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.engine.updates import Updates
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.plan.program_plan import keys_of, latest_of
from streamreasoner.rdf.terms import quoted
from streamreasoner.rdf.vocabulary import XSD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from streamreasoner.io.formats.reading.format import EncodedUpdates, UpdateRows
    from streamreasoner.io.formats.rejected import Rejections
    from streamreasoner.rdf.dictionary import Dictionary

_NO_TOPIC = -1
_NUL = "\0"


class KeyedMessages:
    """The messages of a batch that replace what earlier ones with their key have asserted.

    Args:
        batch: Columns `topic` and `key`, if there are topics with keys.
        topics: These topics.
        max_term_bytes: Longest key that is read, as a term.
        times: The time of each message, in milliseconds since 1970, int64 of shape (n,).
        rejected: Gets messages without a key, or with one that is too long.
    """

    def __init__(
        self,
        batch: pa.Table,
        topics: Sequence[str],
        max_term_bytes: int,
        times: NDArray[np.int64],
        rejected: Rejections,
    ) -> None:
        self._topics, self._times = topics, timestamps.in_range(times) if topics else times
        self._topic_of = np.full(len(times), _NO_TOPIC)
        for number, topic in enumerate(topics):
            is_topic = pc.equal(batch.column("topic"), topic).to_numpy(zero_copy_only=False)
            self._topic_of[is_topic] = number
        rows = np.flatnonzero(self._topic_of != _NO_TOPIC)
        keys = batch.column("key").take(pa.array(rows)).to_pylist() if len(rows) else []
        self._terms: dict[int, str] = {}
        self._ids = np.empty(len(times) if topics else 0, np.int32)
        self._has_facts = np.zeros(len(times), np.bool_)
        for row, key in zip(rows.tolist(), keys, strict=True):
            self._terms[row] = term = "" if not key else _term(key)
            if not key:
                topic = topics[self._topic_of[row]]
                detail = f"The message has no key; {topic} has the semantics upsert and needs one."
                rejected[row] = RejectedError(Reason.NO_KEY, detail)
            elif (length := len(term.encode())) > max_term_bytes:
                detail = f"The key has {length} bytes as a term; the maximum is {max_term_bytes}."
                rejected[row] = RejectedError(Reason.OVERSIZED_TERM, detail)

    def check(
        self,
        rows: UpdateRows | EncodedUpdates,
        expires: NDArray[np.bool_],
        rejected: Rejections,
    ) -> None:
        """Reject messages with updates that no value of a key has.

        Args:
            rows: Updates of one predicate.
            expires: Which of them are of facts that expire, of shape (n,).
            rejected: Gets the messages.
        """
        if not self._topics:
            return
        is_keyed = self._topic_of[rows.messages] != _NO_TOPIC
        self._has_facts[rows.messages[is_keyed]] = True
        for index in np.flatnonzero(is_keyed & (rows.diff < 0)).tolist():
            detail = (
                "The value of a key has no retractions. Send the facts that are left; a message "
                "without a value retracts all of them."
            )
            self._reject(rows, index, Reason.RETRACTION, detail, rejected)
        for index in np.flatnonzero(is_keyed & expires).tolist():
            detail = (
                f"Facts of {rows.predicate} that match an @expires leave by themselves. Send them "
                "to a topic without the semantics upsert."
            )
            self._reject(rows, index, Reason.EXPIRING, detail, rejected)

    def encode(self, dictionary: Dictionary, rejected: Rejections) -> None:
        """Give the keys of messages that are not rejected their ids.

        Args:
            dictionary: Gets the keys.
            rejected: Gets messages without facts whose time is out of range.
        """
        for row in self._terms.keys() - rejected.keys():
            if self._times[row] == timestamps.INVALID and not self._has_facts[row]:
                detail = f"The time of the message must be {timestamps.ALLOWED}."
                rejected[row] = RejectedError(Reason.BAD_TIMESTAMP, detail)
        self._terms = {row: term for row, term in self._terms.items() if row not in rejected}
        if self._terms:
            terms = pa.array(self._terms.values(), pa.large_string())
            self._ids[[*self._terms]] = dictionary.encode(terms)

    def with_keys(self, updates: Updates, messages: NDArray[np.int64]) -> Updates:
        """Updates of a topic with the key of each before its fact.

        Args:
            updates: Updates of one predicate and topic.
            messages: The message of each, int64 of shape (n,).
        """
        args = np.column_stack([self._ids[messages], updates.args])
        name = latest_of(updates.source, updates.predicate)
        return Updates(
            name, args, updates.multiplicity, updates.times, updates.source, updates.order
        )

    @property
    def empty(self) -> NDArray[np.int64]:
        """The messages without facts that are not rejected, int64 of shape (n,)."""
        accepted = np.fromiter(self._terms, np.int64, len(self._terms))
        return accepted[~self._has_facts[accepted]]

    def messages(self, bits: int) -> Iterator[Updates]:
        """The messages that are not rejected, as updates: the engine's `keys_of` each topic.

        Those without facts have times.

        Args:
            bits: Of an order for the part of a message.
        """
        accepted = np.fromiter(self._terms, np.int64, len(self._terms))
        for number, topic in enumerate(self._topics):
            of_topic = accepted[self._topic_of[accepted] == number]
            empty = ~self._has_facts[of_topic]
            for rows, times in ((of_topic[~empty], None), (of_topic[empty], self._times)):
                if len(rows):
                    yield Updates(
                        keys_of(topic),
                        self._ids[rows][:, None],
                        np.ones(len(rows), np.int64),
                        None if times is None else times[rows],
                        topic,
                        rows << bits,
                    )

    @staticmethod
    def _reject(
        rows: UpdateRows | EncodedUpdates,
        index: int,
        reason: Reason,
        detail: str,
        rejected: Rejections,
    ) -> None:
        error = RejectedError(reason, rows.place(index) + detail)
        rejected.setdefault(int(rows.messages[index]), error)


def _term(key: bytes) -> str:
    """The canonical term of a key; keys are equal if and only if their terms are."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = _NUL
    return f'"{key.hex().upper()}"^^<{XSD}hexBinary>' if _NUL in text else quoted(text)
