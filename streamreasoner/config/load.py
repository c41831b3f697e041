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
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from streamreasoner.config import key_kinds as kinds
from streamreasoner.config.contradictions import contradictions
from streamreasoner.config.kafka import KafkaConfig
from streamreasoner.config.key_kinds import REQUIRED as _REQUIRED
from streamreasoner.config.messages import InputConfig, OutputConfig
from streamreasoner.config.process import (
    LogConfig,
    PipelineConfig,
    RetentionConfig,
    RulesConfig,
    SparkConfig,
    StateConfig,
    TimeConfig,
)
from streamreasoner.config.registry import RegistryConfig
from streamreasoner.config.rows import MappingProblemsError
from streamreasoner.config.secrets import SECRET
from streamreasoner.config.security import SecurityConfig
from streamreasoner.config.server import ServerConfig
from streamreasoner.errors import ConfigError
from streamreasoner.system.jvm import CACHE_VARIABLE, REPOSITORY_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.config.key_kinds import KeyKind

_PREFIX = "STREAMREASONER_"
_OTHER_VARIABLES = frozenset({CACHE_VARIABLE, REPOSITORY_VARIABLE})
# The section as earlier releases called it; its keys had the same names.
_FORMER = {"metrics": "server"}
# The application id of every pipeline of earlier releases that did not choose one.
_FORMER_APP_ID = "streamreasoner"


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


_REMOVED = {
    ("spark", "state_directory"): (
        'removed with the backend "spark", which kept a copy of the state there. Remove the key, '
        "and delete the folder"
    ),
}
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
            problems.append(f"{name_}: found {kinds.show(table)}, allowed: a table [{name_}]")
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
    problems += contradictions(sections)
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
        return str(kinds.NAME.read(recorded, state.directory))
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
        f"{where}: {_REMOVED[section, key]}"
        if (section, key) in _REMOVED
        else _unknown(where, key, "key", fields)
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
                f"{where}: found {kinds.show(value, secret=kind.secret)}, "
                f"allowed: {kind.allowed}{hint}" + _guess(value, kind.choices)
            )
            complete = False
    return _SECTIONS[section](**checked, **inner) if complete else None


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
    known |= {_variable(*removed): removed for removed in _REMOVED}
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
