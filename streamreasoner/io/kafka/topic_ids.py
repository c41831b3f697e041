"""The topic ids that a state belongs to.

Kafka assigns every topic an id. A topic that is deleted and created again gets another id, and its
offsets start from 0: a position in the old topic means nothing in the new one.

Invariant: an epoch is stored only if its messages were read from the topics on record. The record
is durable before Spark reads the first message.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from confluent_kafka import TopicCollection, Uuid

from streamreasoner.config.kafka import topic_keys
from streamreasoner.errors import StateError
from streamreasoner.io.kafka.access.topic_needs import NEEDS
from streamreasoner.io.kafka.clients import ANSWER_SECONDS
from streamreasoner.io.kafka.topic_checks import description
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future
    from pathlib import Path

    from confluent_kafka.admin import AdminClient, TopicDescription

    from streamreasoner.config.kafka import KafkaConfig, TopicKey

    # Configuration key -> topic -> id.
    Record = dict[str, dict[str, str]]

# Long enough for a broker to restart without failing a batch.
_TIMEOUT_SECONDS = 60.0
_NO_ID = str(Uuid(0, 0))
_ADVICE = "Begin from nothing with: streamreasoner reset --config FILE"
_decode = msgspec.json.Decoder(dict[str, dict[str, str]]).decode
_log = logging.getLogger(__name__)


class TopicIds:
    """The ids of a pipeline's topics, compared with those on record.

    Args:
        admin: The client.
        kafka: Cluster and names.
        control_topic: Topic of control messages, None if there is none.
        file: The record, which is part of the state.
    """

    def __init__(
        self, admin: AdminClient, kafka: KafkaConfig, control_topic: str | None, file: Path
    ) -> None:
        self._admin = admin
        self._kafka = kafka
        self._file = file
        self._keys = dict(topic_keys(kafka, control_topic))
        self._record: Record = {}

    def resume(self, *, begun: bool) -> None:
        """Compare the existing topics with the record.

        Args:
            begun: Whether Spark has chosen its starting offsets; before that, any topics match.

        Raises:
            StateError: A topic was recreated, or the configuration names another output or
                progress topic; names it and the remedy.
            BrokerError: Kafka does not answer.
        """
        self._record = self._read() if begun else {}
        for name, key in self._keys.items():
            if NEEDS[key].written and NEEDS[key].recreated:
                self._check_name(key, name)
        now = self._ids(self._describe(self._keys, ANSWER_SECONDS))
        self._compare(now)
        for name, current in now.items():
            if current:
                self._record.setdefault(self._keys[name], {})[name] = current
            else:
                _log.warning(
                    "Kafka has no id for the topic %s, so deleting and recreating it will go "
                    "unnoticed.",
                    name,
                )

    def record(self) -> None:
        """Make the ids durable, which binds the state to these topics."""
        disk.write(self._file, msgspec.json.format(msgspec.json.encode(self._record)))
        disk.sync(self._file.parent)

    def id(self, topic: str) -> str:
        """The id of a topic of the pipeline, empty if Kafka has none."""
        return self._record.get(self._keys[topic], {}).get(topic, "")

    def ask(self) -> Callable[[], None]:
        """Request the current ids of the topics.

        Ids are never reused, so whatever was read before this call and is confirmed later was read
        from the topics on record.

        Returns:
            Waits for the answer; raises StateError if a topic was deleted or created again, and
            BrokerError if Kafka does not answer.
        """
        return self._ask(_TIMEOUT_SECONDS)

    def check(self) -> None:
        """Request the ids and wait for the answer, with a short timeout.

        Raises:
            StateError: A topic was deleted or created again.
            BrokerError: Kafka does not answer.
        """
        self._ask(ANSWER_SECONDS)()

    def _ask(self, timeout: float) -> Callable[[], None]:
        names = [name for name, key in self._keys.items() if NEEDS[key].recreated and self.id(name)]
        answers = self._describe(names, timeout) if names else {}
        return partial(self._confirm, answers)

    def _confirm(self, answers: Mapping[str, Future[TopicDescription]]) -> None:
        self._compare(self._ids(answers))

    def _describe(
        self, names: Iterable[str], timeout: float
    ) -> Mapping[str, Future[TopicDescription]]:
        return self._admin.describe_topics(TopicCollection(list(names)), request_timeout=timeout)

    def _ids(self, answers: Mapping[str, Future[TopicDescription]]) -> dict[str, str | None]:
        """The id of each topic: None if there is no such topic, empty if Kafka has no ids."""
        return {
            name: _id(description(self._kafka, name, answer)) for name, answer in answers.items()
        }

    def _compare(self, now: Mapping[str, str | None]) -> None:
        """Refuse topics whose ids are not those on record."""
        problems = []
        for name, current in now.items():
            key, recorded = self._keys[name], self.id(name)
            if not recorded or current == recorded:
                continue
            if consequence := NEEDS[key].recreated:
                what = "deleted" if current is None else f"deleted and recreated with id {current}"
                problems.append(
                    f"The topic {name} ({key}) with id {recorded} was {what}. {consequence}"
                )
            else:
                _log.warning(
                    "The topic %s (%s) was deleted and recreated: its id was %s and is now %s.",
                    name,
                    key,
                    recorded,
                    current,
                )
        if problems:
            raise StateError(
                f"{' '.join(problems)} The ids that this state belongs to are in {self._file}. "
                f"{_ADVICE}"
            )

    def _check_name(self, key: TopicKey, name: str) -> None:
        others = sorted(self._record.get(key, {}).keys() - {name})
        if others:
            raise StateError(
                f"This state belongs to the topic {others[0]} ({key} in {self._file}), but {key} "
                f"names {name}. {NEEDS[key].recreated} Set {key} to {others[0]}. Or start over, "
                "with another state.directory and pipeline.app_id."
            )

    def _read(self) -> Record:
        try:
            return _decode(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StateError(
                f"The file {self._file} cannot be read ({error}). Restore it from a backup of the "
                "state directory."
            ) from None


def _id(topic: TopicDescription | None) -> str | None:
    if topic is None:
        return None
    text = str(topic.topic_id)
    return "" if text == _NO_ID else text
