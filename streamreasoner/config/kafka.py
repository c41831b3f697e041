"""`[kafka]`: the cluster, the topics, and what each topic is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamreasoner.config import kinds as values
from streamreasoner.config.kinds import key as _key
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

    bootstrap_servers: str = _key(values.SERVERS)
    input_topics: tuple[str, ...] = _key(values.TOPICS)
    output_topic: str = _key(values.TOPIC)
    violations_topic: str = _key(
        values.TOPIC, lambda section: f"{section['output_topic']}-violations"
    )
    dead_letter_topic: str = _key(
        values.TOPIC, lambda section: f"{section['output_topic']}-dead-letter"
    )
    progress_topic: str = _key(values.TOPIC, lambda section: f"{section['output_topic']}-progress")
    starting_offsets: str = _key(values.one_of("earliest", "latest"), "earliest")
    options: Mapping[str, str] = _key(values.OPTIONS, {})
    consumer_options: Mapping[str, str] = _key(values.OPTIONS, {})
    producer_options: Mapping[str, str] = _key(values.OPTIONS, {})
    security: SecurityConfig


def topic_roles(kafka: KafkaConfig, control_topic: str | None) -> Iterator[tuple[str, str]]:
    """The topics of a pipeline, each with the configuration key that names it."""
    for name in kafka.input_topics:
        yield name, "kafka.input_topics"
    yield kafka.output_topic, "kafka.output_topic"
    yield kafka.violations_topic, "kafka.violations_topic"
    yield kafka.dead_letter_topic, "kafka.dead_letter_topic"
    yield kafka.progress_topic, "kafka.progress_topic"
    if control_topic is not None:
        yield control_topic, "rules.control_topic"


def read_topics(kafka: KafkaConfig, control_topic: str | None) -> tuple[str, ...]:
    """The topics that a pipeline reads."""
    return (*kafka.input_topics, *(() if control_topic is None else (control_topic,)))


def own_topics(kafka: KafkaConfig, control_topic: str | None) -> dict[str, str]:
    """The topics that exist for the pipeline, without its input, with their keys."""
    roles = topic_roles(kafka, control_topic)
    return {name: key for name, key in roles if key != "kafka.input_topics"}
