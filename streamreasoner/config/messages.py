"""`[input]` and `[output]`: what messages are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamreasoner.config import key_kinds as kinds
from streamreasoner.config.key_kinds import key as _key
from streamreasoner.config.rows import MAPPINGS, RowMapping
from streamreasoner.format_names import FormatName


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConfig:
    """`[input]`: what messages are, unless their header `content-type` says it.

    Attributes:
        format: The format of messages.
        formats: The same for the messages of some topics.
        semantics: What updates are: `multiset` if all of them count, `set` if an assertion of what
            the topic has asserted and a retraction of what it has not change nothing.
        semantics_by_topic: The same for the messages of some topics.
        bases: What relative IRIs in the messages of a topic are resolved against: an IRI, or `key`
            for the key of each message.
        map: The facts of rows, by the name of the mapping.
    """

    format: str = _key(kinds.FORMAT, "json")
    formats: Mapping[str, str] = _key(kinds.FORMATS_OF_TOPICS, {})
    semantics: str = _key(kinds.one_of(*kinds.SEMANTICS), "multiset")
    semantics_by_topic: Mapping[str, str] = _key(kinds.SEMANTICS_OF_TOPICS, {})
    bases: Mapping[str, str] = _key(kinds.BASES_OF_TOPICS, {})
    map: Mapping[str, RowMapping] = _key(MAPPINGS, {})

    def format_of(self, topic: str) -> str:
        """The format of messages of a topic that do not say theirs."""
        return self.formats.get(topic, self.format)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputConfig:
    """`[output]`: which changes are published, and how.

    Attributes:
        include: `derived` for the closure without the asserted facts, `all` for the closure.
        inherited: `all`, or `direct` without facts that are there only because a rule copies others
            along a hierarchy, such as inherited types.
        format: `json` for a message for each change, `nquads` and `rdf-patch` for many in one.
        envelope: `changes` for a log of changes; `upsert` for a message for each fact that comes,
            under a key of its own, and one without a value when it goes.
        annotations: The IRI of a named graph that says which rules derive each triple; default: as
            the program says it.
    """

    include: str = _key(kinds.one_of("derived", "all"), "derived")
    inherited: str = _key(kinds.one_of("all", "direct"), "all")
    format: str = _key(
        kinds.one_of(FormatName.JSON, FormatName.NQUADS, FormatName.RDF_PATCH), FormatName.JSON
    )
    envelope: str = _key(kinds.one_of("changes", "upsert"), "changes")
    annotations: str | None = _key(kinds.IRI, None)

    @property
    def upsert(self) -> bool:
        """Whether the output topic holds facts, and not changes."""
        return self.envelope == "upsert"

    @property
    def contents(self) -> str:
        """Which facts are published, as a marker says it."""
        return f"{self.include} {self.inherited}"
