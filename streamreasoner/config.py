"""Configuration: one TOML file, overridden by environment variables, checked once.

Invariant: `load` returns a valid `Config` or lists every problem, each with its key, the value and
what is allowed.

An environment variable `STREAMREASONER_<SECTION>__<KEY>` overrides the file: lists are
comma-separated, tables are TOML inline tables (`{ "security.protocol" = "SSL" }`).
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - dataclass fields are read at run time
from typing import TYPE_CHECKING, Any, get_type_hints

from streamreasoner import config_registry, config_server, durations
from streamreasoner import config_values as values
from streamreasoner.config_files import SECRET
from streamreasoner.config_registry import URLS, RegistryConfig
from streamreasoner.config_security import SecurityConfig, contradictions
from streamreasoner.config_server import ServerConfig  # noqa: TC001 - read at run time
from streamreasoner.config_values import REQUIRED as _REQUIRED
from streamreasoner.config_values import key as _key
from streamreasoner.errors import ConfigError
from streamreasoner.row_mapping import MAPPINGS, MappingProblemsError
from streamreasoner.system.jvm import CACHE_VARIABLE, REPOSITORY_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.config_values import KeyKind
    from streamreasoner.row_mapping import RowMapping

_PREFIX = "STREAMREASONER_"
_OTHER_VARIABLES = frozenset({CACHE_VARIABLE, REPOSITORY_VARIABLE})
# The section as earlier releases called it; its keys had the same names.
_FORMER = {"metrics": "server"}
_YEAR = 365 * 86_400_000
# The application id of every pipeline of earlier releases that did not choose one.
_FORMER_APP_ID = "streamreasoner"


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

    format: str = _key(values.FORMAT, "json")
    formats: Mapping[str, str] = _key(values.FORMATS_OF_TOPICS, {})
    semantics: str = _key(values.one_of(*values.SEMANTICS), "multiset")
    semantics_by_topic: Mapping[str, str] = _key(values.SEMANTICS_OF_TOPICS, {})
    bases: Mapping[str, str] = _key(values.BASES_OF_TOPICS, {})
    map: Mapping[str, RowMapping] = _key(MAPPINGS, {})

    def format_of(self, topic: str) -> str:
        """The format of messages of a topic that do not say theirs."""
        return self.formats.get(topic, self.format)


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
    """

    program: str | Path = _key(values.PROGRAM)
    control_topic: str | None = _key(values.TOPIC, None)
    recursion_limit: int = _key(values.whole(1, 2**31 - 2), 100_000)
    max_new_terms: int = _key(values.whole(1, 2**31 - 2), 10_000_000)
    graphs: str | None = _key(values.one_of("default", "union", "each"), None)


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

    allowed_lateness: int = _key(values.duration(0, _YEAR), 0)
    max_ahead: int = _key(values.duration(0, _YEAR), 60_000)
    idle_advance: int = _key(values.duration(0, _YEAR), 10_000)
    granularity: int | None = _key(values.duration(1, _YEAR), None)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConfig:
    """`[pipeline]`: batches and their limits.

    Attributes:
        app_id: Names this pipeline in tables, progress topic and transactions; never change it.
            Default: that of the state, else `streamreasoner-<output topic>`.
        backend: Where the state is kept: `columnar` for the driver's memory, `spark` for Delta
            tables that Spark joins, `auto` to choose by size. May change between starts.
        max_state_bytes: Memory for the state before `auto` moves it to Spark; 0 for a share of this
            process's limit.
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

    app_id: str = _key(values.NAME, "")
    backend: str = _key(values.one_of("auto", "columnar", "spark"), "auto")
    max_state_bytes: int = _key(values.whole(0, 1 << 50), 0)
    max_offsets_per_trigger: int = _key(values.whole(1, 10_000_000), 200_000)
    target_batch_time: float = _key(values.seconds(0.1, 3_600), 10.0)
    max_batch_bytes: int = _key(values.whole(0, 1 << 40), 0)
    max_message_bytes: int = _key(values.whole(1, 10_000_000), 900_000)
    max_term_bytes: int = _key(values.whole(1, 10_000_000), 102_400)
    trigger_interval: float = _key(values.seconds(0, 86_400), 0.0)
    batch_timeout: float = _key(values.seconds(1, 86_400), 600.0)
    transaction_timeout: float = _key(values.seconds(1, 900), 60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputConfig:
    """`[output]`: which changes are published, and how.

    Attributes:
        include: `derived` for the closure without the asserted facts, `all` for the closure.
        format: `json` for a message for each change, `nquads` and `rdf-patch` for many in one.
        envelope: `changes` for a log of changes; `upsert` for a message for each fact that comes,
            under a key of its own, and one without a value when it goes.
    """

    include: str = _key(values.one_of("derived", "all"), "derived")
    format: str = _key(values.one_of("json", "nquads", "rdf-patch"), "json")
    envelope: str = _key(values.one_of("changes", "upsert"), "changes")

    @property
    def upsert(self) -> bool:
        """Whether the output topic holds facts, and not changes."""
        return self.envelope == "upsert"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """`[log]`: what is written to standard error.

    Attributes:
        level: `debug`, `info`, `warning` or `error`.
        format: `text` for people, `json` for machines.
    """

    level: str = _key(values.one_of("debug", "info", "warning", "error"), "info")
    format: str = _key(values.one_of("text", "json"), "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkConfig:
    """`[spark]`: settings of Spark itself.

    Attributes:
        options: `spark.*` settings that override those chosen here.
        state_directory: Where the backend `spark` keeps its state: a path, or a Hadoop URI
            (`s3a://bucket/folder`); every executor must reach it. Default
            `<state.directory>/spark`.
    """

    options: Mapping[str, str] = _key(values.SPARK_OPTIONS, {})
    state_directory: str | None = _key(values.LOCATION, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole configuration, one attribute per section of the file."""

    kafka: KafkaConfig
    input: InputConfig
    schema_registry: RegistryConfig
    rules: RulesConfig
    time: TimeConfig
    state: StateConfig
    retention: RetentionConfig
    pipeline: PipelineConfig
    output: OutputConfig
    server: ServerConfig
    log: LogConfig
    spark: SparkConfig

    @property
    def semantics(self) -> dict[str, str]:
        """Input topic to the semantics of its updates, without those that are multisets."""
        by_topic = {
            topic: self.input.semantics_by_topic.get(topic, self.input.semantics)
            for topic in self.kafka.input_topics
        }
        return {topic: name for topic, name in by_topic.items() if name != "multiset"}

    @property
    def formats(self) -> set[str]:
        """The formats of messages of input topics that do not say theirs."""
        return {self.input.format_of(topic) for topic in self.kafka.input_topics}

    @property
    def spark_state(self) -> str:
        """Where the backend `spark` keeps its state, as a Hadoop URI."""
        return self.spark.state_directory or f"file:{self.state.directory.absolute() / 'spark'}"


# A section within another one comes before it.
_SECTIONS: dict[str, type[Any]] = {"kafka.security": SecurityConfig, **get_type_hints(Config)}


def load(path: Path, environment: Mapping[str, str] | None = None) -> Config:
    """Read and check a configuration file, overridden by the environment.

    Args:
        path: The TOML file.
        environment: Variables to use; None means those of the process.

    Raises:
        ConfigError: The file cannot be read or is not valid.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(
            f"Cannot read the configuration {path}: {error.strerror}. Name the file with --config."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    return parse(
        raw, os.environ if environment is None else environment, path.absolute().parent, str(path)
    )


def parse(
    raw: Mapping[str, Any],
    environment: Mapping[str, str],
    directory: Path,
    name: str = "configuration",
) -> Config:
    """Check a parsed TOML document, overridden by the environment.

    Args:
        raw: Section -> key -> value.
        environment: Variables; those without the prefix are ignored.
        directory: What relative paths in the document are relative to.
        name: Name of the document in messages.

    Raises:
        ConfigError: Lists every problem, one line each.
    """
    problems: list[str] = []
    settings: dict[str, dict[str, tuple[str, Any]]] = {section: {} for section in _SECTIONS}
    for name_, table in _tables(raw):
        section = _FORMER.get(name_, name_)
        if section not in _SECTIONS:
            problems.append(_unknown(f"[{name_}]", section, "section", _SECTIONS))
        elif not isinstance(table, dict):
            problems.append(f"{name_}: found {values.show(table)}, allowed: a table [{name_}]")
        else:
            settings[section] |= {key: (f"{name_}.{key}", value) for key, value in table.items()}
    problems += _under_two_names(raw)
    for variable, section, key, value in _overrides(environment, problems):
        settings[section][key] = (variable, value)
    sections: dict[str, Any] = {}
    for section, table in settings.items():
        inner = {
            within.removeprefix(f"{section}."): sections.pop(within)
            for within in tuple(sections)
            if within.startswith(f"{section}.")
        }
        sections[section] = _section(section, table, directory, inner, problems)
    if sections["kafka"] is not None:
        problems += _shared_topics(sections["kafka"], sections["rules"])
        problems += _unread_topics(sections["kafka"], sections["input"])
        problems += _unmapped_topics(sections["kafka"], sections["input"])
        problems += _rows_with_keys(sections["kafka"], sections["input"])
        problems += _login_and_encryption(sections["kafka"])
        problems += _without_registry(
            sections["kafka"], sections["input"], sections["schema_registry"]
        )
    if sections["schema_registry"] is not None:
        problems += config_registry.contradictions(sections["schema_registry"])
    if sections["server"] is not None:
        problems += config_server.contradictions(sections["server"])
    problems += _changes_of_slots(sections["time"], sections["rules"])
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise ConfigError(f"{name} is not a valid configuration:\n{lines}")
    return _named(Config(**sections))


def _named(config: Config) -> Config:
    """The configuration with an application id, if it does not choose one."""
    pipeline = config.pipeline
    if not pipeline.app_id:
        app_id = _app_id(config.state, config.kafka.output_topic)
        pipeline = dataclasses.replace(pipeline, app_id=app_id)
    return dataclasses.replace(config, pipeline=pipeline)


def _app_id(state: StateConfig, output_topic: str) -> str:
    """The application id of a pipeline that does not choose one."""
    try:
        recorded = state.app_id.read_text(encoding="utf-8").strip()
        return str(values.NAME.read(recorded, state.directory))
    except FileNotFoundError:
        # A state without a record is of an earlier release.
        if state.tables.exists():
            return _FORMER_APP_ID
        return f"streamreasoner-{output_topic}"
    except (OSError, ValueError):
        raise ConfigError(
            f"{state.app_id} cannot be read, or is not an application id. Set pipeline.app_id to "
            "that of the state, which its tables have in their properties."
        ) from None


def _tables(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The sections of a document; those within another one have dotted names."""
    for section, table in raw.items():
        if not isinstance(table, dict):
            yield section, table
            continue
        inner = {key for key in table if f"{section}.{key}" in _SECTIONS}
        yield section, {key: value for key, value in table.items() if key not in inner}
        yield from ((f"{section}.{key}", table[key]) for key in inner)


def _under_two_names(raw: Mapping[str, Any]) -> Iterator[str]:
    """Keys of a section that its former name has too."""
    for former, section in _FORMER.items():
        before, now = raw.get(former), raw.get(section)
        if isinstance(before, dict) and isinstance(now, dict):
            for key in sorted(before.keys() & now.keys()):
                yield (
                    f"{former}.{key}: {section}.{key} is set too. Remove [{former}], which is "
                    f"called [{section}] now"
                )


def _fields(section: str) -> dict[str, dataclasses.Field[Any]]:
    """The keys of a section, without the sections within it."""
    return {key.name: key for key in dataclasses.fields(_SECTIONS[section]) if key.metadata}


def _misplaced_secret(section: str, key: str) -> str:
    return (
        f"{section}.{key}: a secret does not belong in the configuration file. Put it in a file "
        f"that only this user can read, and name that file in {section}.{key}_file; or set the "
        f"environment variable {_variable(section, key)}"
    )


def _variable(section: str, key: str) -> str:
    """The environment variable of a key."""
    return f"{_PREFIX}{section}__{key}".replace(".", "__").upper()


def _section(
    section: str,
    settings: Mapping[str, tuple[str, Any]],
    directory: Path,
    inner: Mapping[str, Any],
    problems: list[str],
) -> Any:
    fields = _fields(section)
    problems.extend(
        _unknown(where, key, "key", fields)
        for key, (where, _) in settings.items()
        if key not in fields
    )
    checked: dict[str, Any] = {}
    complete = None not in inner.values()
    for name, key in fields.items():
        kind: KeyKind = key.metadata["kind"]
        default = key.metadata["default"]
        try:
            if kind is SECRET and settings.get(name, ("",))[0] == f"{section}.{name}":
                problems.append(_misplaced_secret(section, name))
                complete = False
            elif name in settings:
                checked[name] = kind.read(settings[name][1], directory)
            elif default is _REQUIRED:
                problems.append(f"{section}.{name}: missing, it must be {kind.allowed}")
                complete = False
            elif not callable(default):
                checked[name] = default
            elif complete:
                checked[name] = default(checked)
        except MappingProblemsError as error:
            problems.extend(f"{settings[name][0]}.{each}" for each in error.problems)
            complete = False
        except ValueError as error:
            where, value = settings[name]
            hint = f" ({error})" if str(error) else ""
            problems.append(
                f"{where}: found {values.show(value, secret=kind.secret)}, "
                f"allowed: {kind.allowed}{hint}" + _guess(value, kind.choices)
            )
            complete = False
    return _SECTIONS[section](**checked, **inner) if complete else None


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


def own_topics(kafka: KafkaConfig, control_topic: str | None) -> dict[str, str]:
    """The topics that exist for the pipeline, without its input, with their keys."""
    roles = topic_roles(kafka, control_topic)
    return {name: key for name, key in roles if key != "kafka.input_topics"}


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
        if name not in values.ROW_FORMATS or topic in topics:
            continue
        if name in values.TABLE_FORMATS and of_tables:
            continue
        yield (
            f'input.map: nothing for the topic "{topic}", whose format is {name}, allowed: '
            f'a mapping with topic = "{topic}"'
            + (" or with a table" if name in values.TABLE_FORMATS else "")
        )


def _rows_with_keys(kafka: KafkaConfig, input_: InputConfig | None) -> Iterator[str]:
    """Changes of tables say themselves what goes, so no key may say it too."""
    if input_ is None:
        return
    for topic in kafka.input_topics:
        semantics = input_.semantics_by_topic.get(topic, input_.semantics)
        name = input_.format_of(topic)
        if semantics == "upsert" and name in values.TABLE_FORMATS:
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
        if name in values.REGISTRY_FORMATS:
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
    return contradictions(kafka.security, options)


def _shared_topics(kafka: KafkaConfig, rules: RulesConfig | None) -> Iterator[str]:
    """Each topic has one role: a pipeline that reads its own output never ends."""
    first: dict[str, str] = {}
    for name, key in topic_roles(kafka, None if rules is None else rules.control_topic):
        if name in first:
            yield (
                f'{key}: found "{name}", which {first[name]} names too, allowed: a topic that no '
                "other key names"
            )
        else:
            first[name] = key


def _overrides(
    environment: Mapping[str, str], problems: list[str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield (variable, section, key, text) for each variable that names a known key."""
    known = {
        _variable(section, key): (section, key) for section in _SECTIONS for key in _fields(section)
    }
    known |= {
        _variable(former, key): (section, key)
        for former, section in _FORMER.items()
        for key in _fields(section)
    }
    for variable, text in sorted(environment.items()):
        if not variable.startswith(_PREFIX) or variable in _OTHER_VARIABLES:
            continue
        if variable in known:
            yield (variable, *known[variable], text)
        else:
            problems.append(_unknown(variable, variable, "environment variable", known))


def _unknown(where: str, word: str, what: str, known: Mapping[str, Any]) -> str:
    guess = _guess(word, tuple(known))
    shown = guess or f". Known: {', '.join(known)}"
    return f"{where}: unknown {what}{shown}"


def _guess(found: object, choices: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(str(found), choices, n=1)
    return f". Did you mean {close[0]}?" if close else ""
