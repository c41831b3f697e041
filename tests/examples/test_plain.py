"""The twins in plain PySpark: they derive the same facts, and their lines are counted right."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from examples.cases import FOLDER
from thorough import THOROUGH

from examples.count_lines import of_python, of_rules, table
from streamreasoner.api.reasoner import Reasoner

ALL = sorted(path.parent.name for path in FOLDER.glob("*/plain.py"))
NAMES = ALL if THOROUGH else ["access-policies", "shortest-paths", "triangles"]
"""Of the others, only lines are counted."""


@pytest.fixture(scope="module")
def derived(joined_jvm):  # noqa: ARG001 - the twins run in it
    """The facts that all twins derive, (example, predicate) -> facts, in one session."""
    command = [sys.executable, FOLDER / "run_plain.py", *NAMES]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    facts_of = defaultdict(list)
    for line in output.splitlines():
        fact = json.loads(line)
        facts_of[fact["example"], fact["predicate"]].append(tuple(fact["args"]))
    return facts_of


@pytest.mark.parametrize("name", NAMES)
def test_the_twin_derives_the_same_facts(name, derived):
    """Plain PySpark derives the output facts of the rules of an example."""
    reasoner = Reasoner.from_rules(FOLDER / name / "rules.dl")
    reasoner.load(*sorted((FOLDER / name / "facts").iterdir()))
    outputs = reasoner.program.outputs

    assert sum(len(reasoner.facts(predicate)) for predicate in outputs) > 0
    for predicate in outputs:
        assert sorted(derived[name, predicate]) == sorted(reasoner.facts(predicate))


def test_lines_of_code_are_counted():
    """All lines count but blank lines, comments, docstrings and imports."""
    rules = "# About.\n@input f/1 .  # of f\n\ng(?x) :-\n    f(?x) .\n"
    python = (
        '"""About.\n\nMore."""\n\nfrom x import y\n\nif TYPE_CHECKING:\n    import z\n\n'
        'def f():\n    """Also."""\n    # Why.\n    return g(\n        """a\n        b""",\n    )\n'
    )

    assert of_rules(rules) == 3
    assert of_python(python) == 5


def test_the_table_of_lines_is_up_to_date():
    """Both pages hold the table that `python examples/count_lines.py` prints."""
    docs = Path(__file__).parents[2] / "docs"

    assert table() in (FOLDER / "README.md").read_text("utf-8")
    assert table() in (docs / "examples.md").read_text("utf-8")
