"""What the configuration says to the parts of a pipeline. Invariant: nothing is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.io.codec.decode import InputOptions
from streamreasoner.io.formats.registry import of_name
from streamreasoner.pipeline.pressure.limit import default_max_bytes
from streamreasoner.plan.program_plan import InputSources

if TYPE_CHECKING:
    from streamreasoner.config import Config
    from streamreasoner.io.formats.records.record import Schemas


def input_options(config: Config, schemas: Schemas) -> InputOptions:
    """What messages are, and how long they may be."""
    return InputOptions(
        max_message_bytes=config.pipeline.max_message_bytes,
        max_term_bytes=config.pipeline.max_term_bytes,
        default=of_name(config.input.format),
        of_topics={topic: of_name(name) for topic, name in config.input.formats.items()},
        mappings=tuple(config.input.map.values()),
        sources=sources(config),
        max_ahead=config.time.max_ahead,
        schemas=schemas,
        bases=config.input.bases,
    )


def sources(config: Config) -> InputSources:
    """The input topics that the state keeps apart."""
    topics = sorted(config.semantics.items())
    return InputSources(
        sets=tuple(topic for topic, semantics in topics if semantics == "set"),
        keyed=tuple(topic for topic, semantics in topics if semantics == "upsert"),
    )


def max_batch_bytes(config: Config) -> int:
    """Most bytes of messages in a batch."""
    return config.pipeline.max_batch_bytes or default_max_bytes()


def reread_group(config: Config) -> str:
    """The consumer group that reads messages again."""
    return f"{config.pipeline.app_id}-reread"
