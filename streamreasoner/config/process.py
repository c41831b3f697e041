"""`[rules]`, `[time]`, `[pipeline]`, `[state]`, `[retention]`, `[log]` and `[spark]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamreasoner.config import key_kinds as kinds
from streamreasoner.config.key_kinds import key as _key
from streamreasoner.system.processors import MOST_CORES, MOST_PARTS

_YEAR = 365 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesConfig:
    """`[rules]`: the program and its limits.

    Attributes:
        program: A ruleset's name, or the path of a rule file, relative to the configuration file.
        control_topic: One-partition topic of changes of the program; default: the program is fixed.
        recursion_limit: Iterations after which an epoch fails instead of running without end.
        max_new_terms: Most new terms that the rules of an epoch may make; an epoch beyond it fails.
        graphs: How the quads of named graphs count for rules about triples; default: as the program
            says it.
        hierarchies: Whether facts that rules copy along a hierarchy, such as inherited types, are
            all kept in memory (`stored`), or only where rules read them (`encoded`), or so from the
            epoch on in which that pays (`auto`). Tables and output have all of them. May change
            between starts.
    """

    program: str | Path = _key(kinds.PROGRAM)
    control_topic: str | None = _key(kinds.TOPIC, None)
    recursion_limit: int = _key(kinds.whole(1, 2**31 - 2), 100_000)
    max_new_terms: int = _key(kinds.whole(1, 2**31 - 2), 10_000_000)
    graphs: str | None = _key(kinds.one_of("default", "union", "each"), None)
    hierarchies: str = _key(kinds.one_of("auto", "stored", "encoded"), "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeConfig:
    """`[time]`: the frontier, the event time up to which facts expire; in milliseconds.

    Attributes:
        allowed_lateness: How far the frontier stays behind the greatest event time.
        max_ahead: How far an event time may move the frontier beyond the time at which Kafka
            appended the message, so that a wrong clock cannot expire everything.
        idle_advance: After this long without input, a tick with the present time on
            `rules.control_topic` moves the frontier; 0 means no ticks. With a granularity ticks are
            messages of the idle partitions of the input.
        granularity: Length of the slots of event time that are evaluated one by one; default: each
            batch is an epoch.
    """

    allowed_lateness: int = _key(kinds.duration(0, _YEAR), 0)
    max_ahead: int = _key(kinds.duration(0, _YEAR), 60_000)
    idle_advance: int = _key(kinds.duration(0, _YEAR), 10_000)
    granularity: int | None = _key(kinds.duration(1, _YEAR), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConfig:
    """`[pipeline]`: batches and their limits.

    Attributes:
        app_id: Names this pipeline in tables, progress topic and transactions; never change it.
            Default: that of the state, else `streamreasoner-<output topic>`.
        backend: Where the state is kept: `columnar` for the driver's memory, `executors` for the
            memory of Spark's executors, `auto` for the first while it fits, then for the second if
            Spark's master is that of a cluster. May change between starts.
        cores: How many cores large epochs may use if the state is in the driver's memory, each with
            a part of the facts. May change between starts.
        parts: How many tasks of executors hold a part of the facts each, if the state is in their
            memory; each takes a core for as long as the pipeline runs. May change between starts.
        max_state_bytes: Memory for the state before `auto` moves it to executors; 0 for a share of
            this process's limit.
        max_offsets_per_trigger: Most messages in a batch.
        target_batch_time: Seconds that a batch should take; the number of its messages follows.
        max_batch_bytes: Bytes that a batch should have at most; 0 for a share of this process's
            memory. Spark's JVM needs 32 times as much (spark.driver.memory in spark.options,
            default 1g).
        max_message_bytes: Longest message that is read; longer ones are rejected. Raise the limit
            of the dead-letter topic with it.
        max_term_bytes: Longest term, in N-Triples syntax, and longest control message that is read.
            Raise the limit of the output topic with it: a fact joins several terms.
        trigger_interval: Seconds from one batch's start to the next; 0 means as soon as possible.
        batch_timeout: Seconds after which a batch counts as stuck and the process exits.
        transaction_timeout: Seconds after which Kafka aborts an open transaction.
    """

    app_id: str = _key(kinds.NAME, "")
    backend: str = _key(kinds.BACKEND, "auto")
    cores: int = _key(kinds.whole(1, MOST_CORES), 1)
    parts: int = _key(kinds.whole(1, MOST_PARTS), 2)
    max_state_bytes: int = _key(kinds.whole(0, 1 << 50), 0)
    max_offsets_per_trigger: int = _key(kinds.whole(1, 10_000_000), 200_000)
    target_batch_time: float = _key(kinds.seconds(0.1, 3_600), 10.0)
    max_batch_bytes: int = _key(kinds.whole(0, 1 << 40), 0)
    max_message_bytes: int = _key(kinds.whole(1, 10_000_000), 900_000)
    max_term_bytes: int = _key(kinds.whole(1, 10_000_000), 102_400)
    trigger_interval: float = _key(kinds.seconds(0, 86_400), 0.0)
    batch_timeout: float = _key(kinds.seconds(1, 86_400), 600.0)
    transaction_timeout: float = _key(kinds.seconds(1, 900), 60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateConfig:
    """`[state]`: what survives a restart.

    Attributes:
        directory: Tables, lock, log and temporary files; created if absent, relative to the file.
        checkpoint_directory: Spark's checkpoint; default `<directory>/checkpoint`.
        object_store: The folder of an object store that the state is kept in, such as
            `s3://bucket/folder`; the directory is then a copy, and may be lost. Default: the state
            is kept in the directory alone. The extra `objects` is needed.
    """

    directory: Path = _key(kinds.DIRECTORY)
    checkpoint_directory: Path = _key(
        kinds.DIRECTORY, lambda section: section["directory"] / "checkpoint"
    )
    object_store: str | None = _key(kinds.OBJECT_STORE, None)

    @property
    def tables(self) -> Path:
        """The directory of the Delta tables."""
        return self.directory / "tables"

    @property
    def former_copies(self) -> tuple[Path, ...]:
        """Where earlier releases had a copy of the state, as tables for Spark to join."""
        return self.directory / "spark", self.directory / "spark-void"

    @property
    def standby(self) -> Path:
        """Where Spark has its files in processes that stand by, or have stood by."""
        return self.directory / "standby"

    @property
    def pieces(self) -> Path:
        """The facts that a bootstrap has yet to load."""
        return self.directory / "bootstrap"

    @property
    def app_id(self) -> Path:
        """The record of the application that the state belongs to."""
        return self.directory / "app-id"

    @property
    def topics(self) -> Path:
        """The record of the topics that the state belongs to."""
        return self.directory / "topics.json"

    @property
    def attempts(self) -> Path:
        """The record of what an epoch leaves out."""
        return self.directory / "attempts.json"

    @property
    def records(self) -> tuple[Path, ...]:
        """The small files that belong to the state."""
        bootstrap = self.directory / "bootstrap.json"
        return (self.app_id, self.topics, self.unusable_schemas, self.attempts, bootstrap)

    @property
    def restoring(self) -> Path:
        """The mark of a state whose backup is not restored to its end."""
        return self.directory / "restoring"

    @property
    def unusable_schemas(self) -> Path:
        """The record of the schemas that messages of the last epoch were rejected for."""
        return self.directory / "unusable-schemas.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionConfig:
    """`[retention]`: how much of the state's past is retained.

    Attributes:
        changes: Seconds that rows of `changes` are retained after the time of their epoch; 0 means
            without end.
        trace_epochs: Number of last epochs at whose ends the state can be asked for.
        versions: Seconds that files and log entries of past versions of a table are retained.
        unused_files: Most files of past versions that a table retains.
        log_entries: Most commits of past versions that a table retains.
    """

    changes: float = _key(kinds.seconds(0, 3_200_000_000), 0.0)
    trace_epochs: int = _key(kinds.whole(1_000, 1_000_000_000), 1_000)
    versions: float = _key(kinds.seconds(0, 32_000_000), 3_600.0)
    unused_files: int = _key(kinds.whole(0, 1_000_000), 128)
    log_entries: int = _key(kinds.whole(0, 1_000_000), 128)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """`[log]`: what is written to standard error.

    Attributes:
        level: `debug`, `info`, `warning` or `error`.
        format: `text` for people, `json` for machines.
    """

    level: str = _key(kinds.one_of("debug", "info", "warning", "error"), "info")
    format: str = _key(kinds.one_of("text", "json"), "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkConfig:
    """`[spark]`: settings of Spark itself.

    Attributes:
        options: `spark.*` settings that override those chosen here.
    """

    options: Mapping[str, str] = _key(kinds.SPARK_OPTIONS, {})
