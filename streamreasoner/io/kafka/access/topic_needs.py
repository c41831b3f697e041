"""What a pipeline needs of each of its topics. Invariant: a topic's key is one row here.

Rights, creation, checks and what a recreated topic breaks are all derived from these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from streamreasoner.config.kafka import TopicKey

if TYPE_CHECKING:
    from collections.abc import Mapping

# Kafka refuses messages whose times are an hour ahead of its clock, unless the times are its own:
# a pipeline goes on while the clock of its machine is wrong.
_OWN_TIME = {"message.timestamp.type": "LogAppendTime"}
# A derived fact joins terms of several messages, and a dead letter adds headers to a full one.
_LARGE = {"max.message.bytes": str(8 * 1024 * 1024), **_OWN_TIME}
_COMPACTED = {
    "cleanup.policy": "compact",
    # Small segments: compaction skips the active one, and readers begin with the whole topic.
    "segment.bytes": str(4 * 1024 * 1024),
    "segment.ms": str(60 * 60 * 1000),
    "min.cleanable.dirty.ratio": "0.1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicNeeds:
    """What a pipeline needs of a topic.

    Attributes:
        read: Whether it reads the topic.
        written: Whether it writes to the topic.
        many: Whether the topic is created with many partitions.
        single: What would be undefined with several partitions; None if nothing would.
        settings: What the topic is created with.
        compacted: Whether Kafka must, or must not, keep only the last message of each key; None if
            it does not matter.
        otherwise: If compacted, what Kafka does with another policy; if not, further advice.
        recreated: What is wrong with a new topic of the same name; None if nothing is.
    """

    read: bool = False
    written: bool = False
    many: bool = False
    single: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    compacted: bool | None = None
    otherwise: str = ""
    recreated: str | None = None


_CHANGES = TopicNeeds(
    read=True,
    written=True,
    many=True,
    settings=_LARGE,
    compacted=False,
    recreated="Readers of the new topic would get retractions of facts that they never received.",
)
_INPUT = TopicNeeds(
    read=True,
    many=True,
    recreated="Offsets of the old topic refer to other messages in the new one.",
)
NEEDS: Final[Mapping[TopicKey, TopicNeeds]] = {
    TopicKey.INPUT: _INPUT,
    TopicKey.OUTPUT: replace(
        _CHANGES,
        otherwise=' Or start with output.envelope = "upsert", which is made for such a topic.',
    ),
    TopicKey.VIOLATIONS: _CHANGES,
    # Nothing depends on the dead-letter topic: it may be recreated to drop its messages.
    TopicKey.DEAD_LETTER: TopicNeeds(written=True, settings=_LARGE),
    TopicKey.PROGRESS: TopicNeeds(
        read=True,
        written=True,
        single="the last published batch",
        settings={**_COMPACTED, **_OWN_TIME},
        compacted=True,
        otherwise="Kafka deletes the record of the last published batch",
        recreated="The new topic does not record what is published.",
    ),
    TopicKey.CONTROL: replace(
        _INPUT, many=False, single="the order of changes of the program", settings=_OWN_TIME
    ),
}
_FACTS = replace(
    _CHANGES,
    settings={**_LARGE, **_COMPACTED},
    compacted=True,
    otherwise="Kafka deletes facts that are present, or retains all that went",
)


def needs(*, upsert: bool) -> Mapping[TopicKey, TopicNeeds]:
    """The rows, where the output topic holds facts under keys instead of changes if *upsert*."""
    return {**NEEDS, TopicKey.OUTPUT: _FACTS} if upsert else NEEDS
