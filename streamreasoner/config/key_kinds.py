"""Kinds of configuration value: TOML value or environment text -> checked Python value.

Invariant: `KeyKind.read` returns a value of the documented type or raises ValueError; the error
text adds to `KeyKind.allowed` without repeating it.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from streamreasoner import durations
from streamreasoner.format_names import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRED = object()
"""The default of a key without one."""

_SHOWN = 60
_RULESET = re.compile(r"[a-z][a-z0-9-]*")
_IRI = r"[a-zA-Z][a-zA-Z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*"
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class KeyKind:
    """One kind of value.

    Attributes:
        allowed: Completes the sentence "it must be ...".
        read: Value and directory of the file -> checked value; raises ValueError if not allowed.
        choices: The allowed texts, for suggestions; empty if there are many.
        secret: Whether to hide the value in messages: it may contain a password.
        write: Checked value -> text of the file.
    """

    allowed: str
    read: Callable[[Any, Path], Any]
    choices: tuple[str, ...] = ()
    secret: bool = False
    write: Callable[[Any], str] = str


def key(kind: KeyKind, default: Any = REQUIRED) -> Any:
    """The field of a key; *default* is a value, or a function of the section's earlier keys."""
    return field(repr=not kind.secret, metadata={"kind": kind, "default": default})


def show(value: object, *, secret: bool = False) -> str:
    """The value as shown in a message, truncated if long."""
    if secret:
        return "a value that is not shown"
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def one_of(*choices: str) -> KeyKind:
    """Exactly one of a few words."""

    def check(value: Any, _: Path) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return KeyKind(" or ".join(f'"{choice}"' for choice in choices), check, choices)


def whole(least: int, most: int) -> KeyKind:
    """A whole number in a range."""

    def check(value: Any, _: Path) -> int:
        number = int(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            raise ValueError
        return number

    return _plain(f"a whole number from {least} to {most}", check)


def seconds(least: float, most: float) -> KeyKind:
    """A duration in seconds in a range."""

    def check(value: Any, _: Path) -> float:
        number = float(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise TypeError
        if not math.isfinite(number) or not least <= number <= most:
            raise ValueError
        return float(number)

    return _plain(f"seconds, a number from {least:g} to {most:g}", check)


def duration(least: int, most: int) -> KeyKind:
    """A duration as ISO 8601 text -> milliseconds, in a range of milliseconds."""

    def check(value: Any, directory: Path) -> int:
        milliseconds = durations.milliseconds(_text(value, directory))
        if not least <= milliseconds <= most:
            raise ValueError
        return milliseconds

    shown = (f'"{durations.text(each)}"' for each in (least, most))
    return replace(_plain(f"a duration from {' to '.join(shown)}", check), write=durations.text)


def _plain(allowed: str, check: Callable[[Any, Path], Any]) -> KeyKind:
    """A kind whose check may raise Python's own messages, which are dropped."""

    def quiet(value: Any, directory: Path) -> Any:
        try:
            return check(value, directory)
        except (ValueError, TypeError):
            raise ValueError from None

    return KeyKind(allowed, quiet)


def _text(value: Any, _: Path) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError
    return value


def _path(value: Any, directory: Path) -> Path:
    path = Path(_text(value, directory))
    try:
        return directory / path.expanduser()
    except RuntimeError:
        raise ValueError(f'no home folder is known for "{path.parts[0]}"') from None


def _directory(value: Any, directory: Path) -> Path:
    if _ADDRESS.match(_text(value, directory)) is not None:
        raise ValueError("an address of an object store is the value of state.object_store")
    return _path(value, directory)


def _object_store(value: Any, directory: Path) -> str:
    url = urlsplit(_text(value, directory))
    if url.scheme not in OBJECT_STORES or not url.netloc:
        raise ValueError
    if not url.path.strip("/"):
        raise ValueError("it names no folder")
    if url.query or url.fragment or url.password:
        raise ValueError("keys and settings are variables of the environment")
    return str(value).rstrip("/")


def _backend(value: Any, _: Path) -> str:
    if value == "spark":
        raise ValueError(
            'the backend "spark" was removed: "executors" keeps the state in the memory of a '
            "cluster, and opens what it has written"
        )
    if value not in _BACKENDS:
        raise ValueError
    return str(value)


def _program(value: Any, directory: Path) -> str | Path:
    text = _text(value, directory)
    return text if _RULESET.fullmatch(text) else _path(text, directory)


def _matching(pattern: str) -> Callable[[Any, Path], str]:
    compiled = re.compile(pattern)

    def check(value: Any, directory: Path) -> str:
        if compiled.fullmatch(_text(value, directory)) is None:
            raise ValueError
        return str(value)

    return check


_topic = _matching(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
_server = _matching(r"(\[[0-9a-fA-F:]+\]|[^\s:,/]+):[0-9]{1,5}")


def _topics(value: Any, directory: Path) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        raise ValueError
    topics = tuple(
        _topic(name.strip() if isinstance(name, str) else name, directory) for name in names
    )
    if len(set(topics)) != len(topics):
        raise ValueError("a topic is listed twice")
    return topics


def _servers(value: Any, directory: Path) -> str:
    return ",".join(
        _server(server.strip(), directory) for server in _text(value, directory).split(",")
    )


def inline_table(value: Any) -> dict[str, Any]:
    """A table of the file, or of the environment as inline TOML."""
    if isinstance(value, str):
        try:
            value = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            raise ValueError from None
    if not isinstance(value, dict):
        raise ValueError  # noqa: TRY004 - one exception type for "not allowed"
    return value


def _options(value: Any, _: Path) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, setting in _flat(inline_table(value)):
        if isinstance(setting, bool):
            options[name] = str(setting).lower()
        elif isinstance(setting, str | int | float):
            options[name] = str(setting)
        else:
            raise ValueError(f"{name} is neither text, number nor true/false")  # noqa: TRY004
    return options


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Flatten tables: TOML reads an unquoted option `a.b = 1` as a nested table."""
    pairs: list[tuple[str, Any]] = []
    for name, setting in table.items():
        if isinstance(setting, dict):
            pairs += _flat(setting, f"{prefix}{name}.")
        else:
            pairs.append((prefix + name, setting))
    return pairs


def _spark_options(value: Any, directory: Path) -> dict[str, str]:
    options = _options(value, directory)
    for name in options:
        if not name.startswith("spark."):
            raise ValueError(f'{name} does not start with "spark."')
    return options


def _by_topic(allowed: tuple[str, ...], what: str) -> Callable[[Any, Path], dict[str, str]]:
    def check(value: Any, directory: Path) -> dict[str, str]:
        names = _options(value, directory)
        for topic, name in names.items():
            _topic(topic, directory)
            if name not in allowed:
                raise ValueError(f'"{name}" is not one of the {what}')
        return names

    return check


def _bases(value: Any, directory: Path) -> dict[str, str]:
    bases = _options(value, directory)
    for topic, base in bases.items():
        _topic(topic, directory)
        if base != KEY_BASE and _SCHEME.match(base) is None:
            raise ValueError(f'"{base}" has no scheme, such as "http:"')
    return bases


_BACKENDS = ("auto", "columnar", "executors")
BACKEND = KeyKind(one_of(*_BACKENDS).allowed, _backend, _BACKENDS)
TEXT = KeyKind("text", _text)
IRI = KeyKind('an absolute IRI, such as "urn:example:graph"', _matching(_IRI))
FORMAT = one_of(*FORMATS)
FORMATS_OF_TOPICS = KeyKind(
    f"a table of input topics and formats ({', '.join(FORMATS)})", _by_topic(FORMATS, "format")
)
KEY_BASE = "key"
"""Says that the key of a message is what relative IRIs in it are resolved against."""
BASES_OF_TOPICS = KeyKind(
    f'a table of input topics and absolute IRIs, or "{KEY_BASE}" for the key of each message',
    _bases,
)
SEMANTICS = ("multiset", "set", "upsert")
"""What updates of a topic are, by name."""
SEMANTICS_OF_TOPICS = KeyKind(
    f"a table of input topics and semantics ({', '.join(SEMANTICS)})",
    _by_topic(SEMANTICS, "semantics"),
)
PROGRAM = KeyKind("the name of a ruleset, or a path with a / or a . in it", _program)
PATH = KeyKind("a path", _path)
DIRECTORY = KeyKind("a path of this machine", _directory)
OBJECT_STORES = ("s3", "gs", "az", "abfs", "abfss")
"""Schemes of addresses of object stores."""
OBJECT_STORE = KeyKind(
    'an address of a folder: "s3://bucket/folder", "gs://bucket/folder" or '
    '"abfss://container@account.dfs.core.windows.net/folder"',
    _object_store,
)
NAME = KeyKind('a name of letters, digits, ".", "_" and "-"', _matching(r"[a-zA-Z0-9._-]{1,264}"))
TOPIC = KeyKind('a topic name of letters, digits, ".", "_" and "-"', _topic)
TOPICS = KeyKind('a list of topic names of letters, digits, ".", "_" and "-"', _topics)
SERVERS = KeyKind('"host:port", comma separated', _servers)
OPTIONS = KeyKind("a table of names and texts, numbers or true/false", _options, secret=True)
SPARK_OPTIONS = KeyKind(
    "a table of spark.* names and texts, numbers or true/false", _spark_options, secret=True
)
