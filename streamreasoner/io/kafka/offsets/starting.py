"""Where the input of a pipeline begins, by partition. Invariant: Kafka has the messages from there.

Offsets are those of Spark and Kafka: `{"topic": {"0": 17}}`, where -2 is the first message and -1
the end.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from streamreasoner.config.kafka import read_topics
from streamreasoner.errors import DataError
from streamreasoner.io.kafka.access.rights import READ, on_topic
from streamreasoner.io.kafka.clients import ANSWER_SECONDS, no_answer
from streamreasoner.io.kafka.offsets.positions import decode_position
from streamreasoner.io.kafka.topic_checks import admin_client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka.admin import AdminClient

    from streamreasoner.config.kafka import KafkaConfig

Starts: TypeAlias = "dict[str, dict[str, int]]"
Wanted: TypeAlias = "str | int | Starts"
"""`earliest`, `latest`, a time in milliseconds since 1970, or offsets."""

EARLIEST, LATEST = "earliest", "latest"
_EARLIEST, _LATEST = -2, -1
_decode = msgspec.json.Decoder(dict[str, dict[str, int]]).decode


def read_offsets(text: str) -> Starts:
    """The offsets in a JSON text, or in the file of this name.

    Raises:
        DataError: It is neither offsets nor what `snapshot --offsets` writes.
    """
    source, content = "The offsets", text.encode()
    if not text.lstrip().startswith("{"):
        source = text
        try:
            content = Path(text).read_bytes()
        except OSError as error:
            raise DataError(
                f"{text}: cannot be read as a file of offsets ({error.strerror}). Start from"
                " earliest, latest, a time such as 2026-01-31T12:00:00Z, or offsets:"
                ' {"topic": {"0": 17}}.'
            ) from None
    try:
        return decode_position(content).offsets
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f'{source}: not offsets by topic and partition, as {{"topic": {{"0": 17}}}} ({error}).'
        ) from None


def resolve(kafka: KafkaConfig, control_topic: str | None, wanted: Wanted) -> Starts:
    """The offset at which each partition of the input begins.

    Args:
        kafka: Cluster and topics.
        control_topic: Topic of control messages, None if there is none; offsets may leave it out,
            and it begins at its first message then.
        wanted: What the user says.

    Raises:
        DataError: Offsets are missing, of partitions that do not exist, or without messages.
        BrokerError: Kafka does not answer or refuses.
    """
    topics = read_topics(kafka, control_topic)
    admin = admin_client(kafka)
    found = _Listing(kafka, admin, topics)
    first, last = found.list(OffsetSpec.earliest()), found.list(OffsetSpec.latest())  # type: ignore[no-untyped-call]
    if wanted == EARLIEST:
        return _by_topic(first)
    if wanted == LATEST:
        return _by_topic(last)
    if isinstance(wanted, int):
        at = found.list(OffsetSpec.for_timestamp(wanted))
        # Without a message of this time or later, Kafka has no offset.
        return _by_topic({key: last[key] if at[key] < 0 else at[key] for key in at})
    assert isinstance(wanted, dict)  # noqa: S101 - what is left
    if control_topic is not None and control_topic not in wanted:
        numbers = [number for topic, number in first if topic == control_topic]
        wanted = {**wanted, control_topic: {str(number): _EARLIEST for number in numbers}}
    return _by_topic(_checked(wanted, first, last))


Offsets: TypeAlias = "dict[tuple[str, int], int]"


class _Listing:
    """Asks for offsets of all partitions of topics."""

    def __init__(self, kafka: KafkaConfig, admin: AdminClient, topics: Sequence[str]) -> None:
        self._kafka, self._admin = kafka, admin
        self._rights = [on_topic(READ, topic) for topic in topics]
        try:
            known = admin.list_topics(timeout=ANSWER_SECONDS).topics
        except KafkaException as error:
            raise no_answer(kafka, error) from None
        self._partitions = [
            (topic, number) for topic in topics for number in sorted(known[topic].partitions)
        ]

    def list(self, spec: OffsetSpec) -> Offsets:
        """The offset of each partition, as consumers of committed messages see it."""
        asked = {TopicPartition(*each): spec for each in self._partitions}
        answers = self._admin.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER_SECONDS
        )
        try:
            return {
                (str(key.topic), int(key.partition)): int(answer.result().offset)
                for key, answer in answers.items()
            }
        except KafkaException as error:
            raise no_answer(self._kafka, error, *self._rights) from None


def _checked(wanted: Starts, first: Offsets, last: Offsets) -> Offsets:
    """Offsets of all partitions, each of which has the messages from there on."""
    given = {
        (topic, int(number) if number.isdigit() else -1): offset
        for topic, numbers in wanted.items()
        for number, offset in numbers.items()
    }
    problems = [
        f"{topic}/{number} is not a partition of the input topics"
        for topic, number in given.keys() - first.keys()
    ]
    problems += [f"{topic}/{number} has no offset" for topic, number in first.keys() - given.keys()]
    found: Offsets = {}
    for key in first.keys() & given.keys():
        offset = {_EARLIEST: first[key], _LATEST: last[key]}.get(given[key], given[key])
        found[key] = offset
        if not first[key] <= offset <= last[key]:
            topic, number = key
            problems.append(
                f"{topic}/{number} has the offsets {first[key]} to {last[key]}, not {offset}"
            )
    if problems:
        raise DataError(
            f"The input cannot begin at these offsets: {'; '.join(sorted(problems))}. Name an "
            "offset for each partition of the input topics; -2 is its first message, -1 its end."
        )
    return found


def _by_topic(offsets: Offsets) -> Starts:
    starts: Starts = {}
    for (topic, number), offset in sorted(offsets.items()):
        starts.setdefault(topic, {})[str(number)] = offset
    return starts
