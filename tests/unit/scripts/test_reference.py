"""Laws of the generated reference: it is what the code says, and what it describes is accepted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from reference import http, messages
from reference.written import written

from streamreasoner.io.formats.reading.json.updates import read_any
from streamreasoner.io.formats.rejected import RejectedError
from streamreasoner.server import web
from streamreasoner.server.web.errors import PATHS
from streamreasoner.server.web.measures import PAGE_FILES

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("path", written(ROOT), ids=lambda path: path.name)
def test_the_reference_is_current(path: Path) -> None:
    """The generated files are those of this code; `make reference` writes them."""
    assert path.read_text("utf-8") == written(ROOT)[path], "run `make reference`"


def test_every_path_of_the_server_is_described() -> None:
    """The paths are those that the server routes, measures, and names where there is none."""
    source = (Path(web.__file__).parent / "application.py").read_text("utf-8")
    routed = re.findall(r'^ {12}"(/[^"]*)": self', source, re.MULTILINE)

    assert [*http.PATHS] == routed
    assert {*PATHS, PAGE_FILES} == {*routed}


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("facts", "/facts"),
        ("explain", "/explain"),
        ("rules", "/rules"),
        ("changes", "/changes"),
        ("pipeline", "/profile"),
    ],
)
def test_the_parameters_are_those_that_are_read(module: str, path: str) -> None:
    """What a path takes is what its module says it knows."""
    source = (Path(web.__file__).parent / f"routes/{module}.py").read_text("utf-8")
    names = re.search(r'\bknown\(\w+(?:\.query_params)?, ("[^)]*)\)', source)
    assert names is not None

    assert set(re.findall(r'"([^"]+)"', names[1])) == {*http.PATHS[path].parameters}


MESSAGES = {
    "a triple": '{"s": "<http://e/a>", "p": "<http://e/p>", "o": "\\"x\\"", "diff": 1}',
    "a fact": '{"predicate": "p", "args": ["<http://e/a>", 1, true], "diff": -1, "ts": 0}',
    "a change": '{"predicate": "p", "args": [], "diff": 1, "ts": "2026-01-01", "epoch": 3}',
    "no diff": '{"predicate": "p", "args": []}',
    "a field too many": '{"predicate": "p", "args": [], "diff": 1, "other": 1}',
    "a diff that is a text": '{"predicate": "p", "args": [], "diff": "1"}',
    "an object as argument": '{"predicate": "p", "args": [{}], "diff": 1}',
    "half a triple": '{"s": "<http://e/a>", "diff": 1}',
    "a number": "1",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_the_schema_accepts_what_is_read(name: str) -> None:
    """A value is valid by the JSON Schema exactly if the reader takes it as an update."""
    text = MESSAGES[name]
    validator = jsonschema.Draft202012Validator(json.loads(messages.schema()))
    try:
        read_any(text.encode())
        accepted = True
    except RejectedError:
        accepted = False

    assert validator.is_valid(json.loads(text)) == accepted
