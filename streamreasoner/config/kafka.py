"""`[kafka]`: the cluster, the topics, and what each topic is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from streamreasoner.config import key_kinds as kinds
from streamreasoner.config.key_kinds import key as _key
from streamreasoner.config.security import SecurityConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConfig:
    """`[kafka]`: the cluster and the topics.

    Attributes:
        bootstrap_servers: `host:port`, comma-separated.
        input_topics: Topics of updates.
        output_topic: Topic of changes.
        violations_topic: Topic of the violations of constraints; default
            `<output_topic>-violations`.
        dead_letter_topic: Topic of rejected messages; default `<output_topic>-dead-letter`.
        progress_topic: Compacted one-partition topic with the last published batch of each
            application; default `<output_topic>-progress`.
        starting_offsets: Where a pipeline without a checkpoint starts: `earliest` or `latest`.
        options: Client options whose names Java and librdkafka share, passed to both.
        consumer_options: Further options for the input, under their Java names.
        producer_options: Further options for output, progress and checks, under librdkafka's names.

    The field `security` is the section `[kafka.security]`.
    """

    bootstrap_servers: str = _key(kinds.SERVERS)
    input_topics: tuple[str, ...] = _key(kinds.TOPICS)
    output_topic: str = _key(kinds.TOPIC)
    violations_topic: str = _key(
        kinds.TOPIC, lambda section: f"{section['output_topic']}-violations"
    )
    dead_letter_topic: str = _key(
        kinds.TOPIC, lambda section: f"{section['output_topic']}-dead-letter"
    )
    progress_topic: str = _key(kinds.TOPIC, lambda section: f"{section['output_topic']}-progress")
    starting_offsets: str = _key(kinds.one_of("earliest", "latest"), "earliest")
    options: Mapping[str, str] = _key(kinds.OPTIONS, {})
    consumer_options: Mapping[str, str] = _key(kinds.OPTIONS, {})
    producer_options: Mapping[str, str] = _key(kinds.OPTIONS, {})
    security: SecurityConfig


class TopicKey(StrEnum):
    """The key of the configuration that names a topic, which tells what the topic is for."""

    INPUT = "kafka.input_topics"
    OUTPUT = "kafka.output_topic"
    VIOLATIONS = "kafka.violations_topic"
    DEAD_LETTER = "kafka.dead_letter_topic"
    PROGRESS = "kafka.progress_topic"
    CONTROL = "rules.control_topic"


PUBLISHED = (TopicKey.OUTPUT, TopicKey.VIOLATIONS)
"""The topics of what is derived."""


def topic_keys(kafka: KafkaConfig, control_topic: str | None) -> Iterator[tuple[str, TopicKey]]:
    """The topics of a pipeline, each with its key."""
    for key in TopicKey:
        match key:
            case TopicKey.INPUT:
                yield from ((name, key) for name in kafka.input_topics)
            case TopicKey.CONTROL:
                if control_topic is not None:
                    yield control_topic, key
            case _:
                yield getattr(kafka, key.removeprefix("kafka.")), key


def topics_of(kafka: KafkaConfig, *keys: TopicKey, control_topic: str | None = None) -> list[str]:
    """The topics of some keys."""
    return [name for name, key in topic_keys(kafka, control_topic) if key in keys]


def read_topics(kafka: KafkaConfig, control_topic: str | None) -> tuple[str, ...]:
    """The topics from which a pipeline takes its input and changes of its program."""
    keys = TopicKey.INPUT, TopicKey.CONTROL
    return tuple(topics_of(kafka, *keys, control_topic=control_topic))


def own_topics(kafka: KafkaConfig, control_topic: str | None) -> dict[str, TopicKey]:
    """The topics that exist for the pipeline, without its input, with their keys."""
    keys = topic_keys(kafka, control_topic)
    return {name: key for name, key in keys if key is not TopicKey.INPUT}
