"""`[state]` and `[retention]`: what survives a restart, and how much of its past."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streamreasoner.config import kinds as values
from streamreasoner.config.kinds import key as _key


@dataclass(frozen=True, slots=True, kw_only=True)
class StateConfig:
    """`[state]`: what survives a restart.

    Attributes:
        directory: Tables, lock, log and temporary files; created if absent, relative to the file.
        checkpoint_directory: Spark's checkpoint; default `<directory>/checkpoint`.
    """

    directory: Path = _key(values.PATH)
    checkpoint_directory: Path = _key(
        values.PATH, lambda section: section["directory"] / "checkpoint"
    )

    @property
    def tables(self) -> Path:
        """The directory of the Delta tables."""
        return self.directory / "tables"

    @property
    def spark_void(self) -> Path:
        """The mark that the Spark backend's state must not be used any more."""
        return self.directory / "spark-void"

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

    changes: float = _key(values.seconds(0, 3_200_000_000), 0.0)
    trace_epochs: int = _key(values.whole(1_000, 1_000_000_000), 1_000)
    versions: float = _key(values.seconds(0, 32_000_000), 3_600.0)
    unused_files: int = _key(values.whole(0, 1_000_000), 128)
    log_entries: int = _key(values.whole(0, 1_000_000), 128)
