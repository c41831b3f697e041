"""What `init` writes. Invariant: a template of an example is the example's own files.

The wheel has all templates in the package. In a checkout those of examples are in `examples/`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import streamreasoner
from streamreasoner.errors import DataError

COMPOSE, CONFIGURATION, RULES = "docker-compose.yml", "pipeline.toml", "rules.dl"


class Template(StrEnum):
    """A pipeline to begin with."""

    PLAIN = "plain"
    CDC = "cdc"
    ONTOLOGY = "ontology"
    WINDOWS = "windows"


_PACKAGE = Path(streamreasoner.__file__).parent
_DATA = {
    Template.PLAIN: ("depends.csv", "down.csv"),
    Template.CDC: ("events.jsonl",),
    Template.ONTOLOGY: ("ontology.ttl", "people.ttl"),
    Template.WINDOWS: ("messages.jsonl",),
}
_EXAMPLES = {Template.CDC: "change-data-capture", Template.WINDOWS: "sensor-windows"}
# An example keeps its state outside of its folder.
_STATE = re.compile(r'^directory = ".*"$', re.MULTILINE)
_PAGE = """
[server]
# The page, at http://127.0.0.1:9464
facts = true
"""


def data_of(template: Template) -> tuple[str, ...]:
    """The names of the files of sample data, for `produce`."""
    return _DATA[template]


def write(template: Template, directory: Path) -> list[str]:
    """Write the files of a template; returns their names.

    Raises:
        DataError: A file is there already, or the directory cannot be written.
    """
    source = _source(template)
    texts = {name: _text(source / name) for name in (CONFIGURATION, RULES, *_DATA[template])}
    texts[CONFIGURATION] = _STATE.sub('directory = "state"', texts[CONFIGURATION]) + _PAGE
    texts[COMPOSE] = _text(_PACKAGE / "templates" / COMPOSE)
    if taken := [name for name in texts if (directory / name).exists()]:
        raise DataError(
            f"{directory} already has {', '.join(taken)}, which init does not replace. Choose "
            "another directory."
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"{directory} cannot be written: {error.strerror}. Choose another directory."
        ) from None
    return list(texts)


def _source(template: Template) -> Path:
    packaged = _PACKAGE / "templates" / template
    if packaged.is_dir():
        return packaged
    return _PACKAGE.parent / "examples" / _EXAMPLES[template]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
