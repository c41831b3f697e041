"""What does not go together, though each key is valid. Invariant: nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from streamreasoner import durations
from streamreasoner.config import registry, security, server
from streamreasoner.config.kafka import KafkaConfig, topic_keys
from streamreasoner.config.registry import URLS
from streamreasoner.format_names import REGISTRY_FORMATS, ROW_FORMATS, TABLE_FORMATS

if TYPE_CHECKING:
    from streamreasoner.config.messages import InputConfig
    from streamreasoner.config.process import RulesConfig, StateConfig, TimeConfig
    from streamreasoner.config.registry import RegistryConfig


def contradictions(sections: Mapping[str, Any]) -> Iterator[str]:
    """What valid sections say that does not go together.

    Args:
        sections: The sections, None for those that are not valid.
    """
    if sections["kafka"] is not None:
        yield from _shared_topics(sections["kafka"], sections["rules"])
        yield from _unread_topics(sections["kafka"], sections["input"])
        yield from _unmapped_topics(sections["kafka"], sections["input"])
        yield from _rows_with_keys(sections["kafka"], sections["input"])
        yield from _login_and_encryption(sections["kafka"])
        yield from _without_registry(
            sections["kafka"], sections["input"], sections["schema_registry"]
        )
    if sections["schema_registry"] is not None:
        yield from registry.contradictions(sections["schema_registry"])
    if sections["server"] is not None:
        yield from server.contradictions(sections["server"])
    yield from _changes_of_slots(sections["time"], sections["rules"])
    yield from _checkpoint_elsewhere(sections["state"])


def _checkpoint_elsewhere(state: StateConfig | None) -> Iterator[str]:
    """What is kept in an object store is one directory."""
    if state is None or state.object_store is None:
        return
    if not state.checkpoint_directory.is_relative_to(state.directory):
        yield (
            f'state.checkpoint_directory: found "{state.checkpoint_directory}", allowed with '
            "state.object_store: a folder in state.directory"
        )


def _unread_topics(kafka: KafkaConfig, input_: InputConfig | None) -> Iterator[str]:
    """Topics with a format, a base, semantics or a mapping are input topics."""
    if input_ is None:
        return
    found = [("input.formats", name) for name in input_.formats]
    found += (("input.bases", name) for name in input_.bases)
    found += (("input.semantics_by_topic", name) for name in input_.semantics_by_topic)
    for mapping, each in input_.map.items():
        if each.topic is not None:
            found.append((f"input.map.{mapping}.topic", each.topic))
    for key, name in found:
        if name not in kafka.input_topics:
            yield (
                f'{key}: found "{name}", allowed: a topic of kafka.input_topics '
                f"({', '.join(kafka.input_topics)})"
            )


def _unmapped_topics(kafka: KafkaConfig, input_: InputConfig | None) -> Iterator[str]:
    """Rows need a mapping: without one each message of them would be rejected."""
    if input_ is None:
        return
    topics = {each.topic for each in input_.map.values()}
    of_tables = any(each.table is not None for each in input_.map.values())
    for topic in kafka.input_topics:
        name = input_.format_of(topic)
        if name not in ROW_FORMATS or topic in topics:
            continue
        if name in TABLE_FORMATS and of_tables:
            continue
        yield (
            f'input.map: nothing for the topic "{topic}", whose format is {name}, allowed: '
            f'a mapping with topic = "{topic}"'
            + (" or with a table" if name in TABLE_FORMATS else "")
        )


def _rows_with_keys(kafka: KafkaConfig, input_: InputConfig | None) -> Iterator[str]:
    """Changes of tables say themselves what goes, so no key may say it too."""
    if input_ is None:
        return
    for topic in kafka.input_topics:
        semantics = input_.semantics_by_topic.get(topic, input_.semantics)
        name = input_.format_of(topic)
        if semantics == "upsert" and name in TABLE_FORMATS:
            yield (
                f'input.semantics: found "upsert" for the topic "{topic}", whose format {name} '
                'has both states of a row, allowed: "multiset" or "set" for it'
            )


def _without_registry(
    kafka: KafkaConfig, input_: InputConfig | None, registry: RegistryConfig | None
) -> Iterator[str]:
    """Messages that name their schemas need a place where these are."""
    if input_ is None or registry is None or registry.url is not None:
        return
    for topic in kafka.input_topics:
        name = input_.format_of(topic)
        if name in REGISTRY_FORMATS:
            yield (
                f'schema_registry.url: missing for the topic "{topic}", whose format is {name}, '
                f"it must be {URLS.allowed}"
            )


def _changes_of_slots(time: TimeConfig | None, rules: RulesConfig | None) -> Iterator[str]:
    """A control message belongs to a batch, and what a slot changes depends on none."""
    if time is not None and time.granularity and rules is not None and rules.control_topic:
        yield (
            f'time.granularity: found "{durations.text(time.granularity)}" together with '
            "rules.control_topic, allowed: one of the two. To change the program of slots, start "
            "another pipeline with the new one: another state.directory, pipeline.app_id and "
            "kafka.output_topic"
        )


def _login_and_encryption(kafka: KafkaConfig) -> Iterator[str]:
    """Every client connects in the same way, and nothing is said twice."""
    options = {
        f"kafka.{name}": getattr(kafka, name)
        for name in ("options", "consumer_options", "producer_options")
    }
    return security.contradictions(kafka.security, options)


def _shared_topics(kafka: KafkaConfig, rules: RulesConfig | None) -> Iterator[str]:
    """Each topic has one role: a pipeline that reads its own output never ends."""
    first: dict[str, str] = {}
    for name, key in topic_keys(kafka, None if rules is None else rules.control_topic):
        if name in first:
            yield (
                f'{key}: found "{name}", which {first[name]} names too, allowed: a topic that no '
                "other key names"
            )
        else:
            first[name] = key
