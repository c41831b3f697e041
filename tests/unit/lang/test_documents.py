"""The documents about the language agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streamreasoner.lang.diagnostic import CATALOGUE
from streamreasoner.program import check_text
from streamreasoner.values.builtins import NAMES

DOCS = Path(__file__).parents[3] / "docs"
LANGUAGE = (DOCS / "rule-language.md").read_text(encoding="utf-8")
DIAGNOSTICS = (DOCS / "diagnostics.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```dl\n(.*?)```", LANGUAGE, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_of_the_language_page_are_correct(text):
    """Every block of rules is accepted without a warning."""
    checked = check_text(text)

    assert checked.rules or checked.facts
    assert checked.warnings == ()


def test_every_builtin_is_on_the_language_page():
    """No built-in is undocumented."""
    assert [name for name in sorted(NAMES) if f"`{name}(" not in LANGUAGE] == []


def test_every_code_is_on_the_diagnostics_page_with_its_rule():
    """The page lists exactly the codes of the catalogue, in the same words."""
    rows = dict(re.findall(r"^\| (SR\d+) \| (.*?) \| ", DIAGNOSTICS, re.MULTILINE))

    assert rows == CATALOGUE


def test_examples_of_diagnostics_exist():
    """Each link leads to a golden file with the code."""
    for code, links in re.findall(r"^\| (SR\d+) \| .*? \| (.*) \|$", DIAGNOSTICS, re.MULTILINE):
        for link in re.findall(r"\]\((.*?)\)", links):
            assert f" {code} " in (DOCS / link).read_text(encoding="utf-8")
