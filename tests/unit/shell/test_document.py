"""Laws of docs/shell.md: its transcripts are real, and it lists every command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from transcripts import run

from streamreasoner.shell.command import ALIASES, CATALOGUE

TEXT = (Path(__file__).parents[3] / "docs/shell.md").read_text("utf-8")


def blocks(language):
    """The blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("rules", "transcript"), [*zip(blocks("dl"), blocks("transcript"), strict=True)]
)
def test_a_transcript_is_what_happens(rules, transcript):
    """Running the lines after `> ` as a script gives the transcript."""
    script = [line.removeprefix("> ") for line in transcript.splitlines() if line[:2] in ("> ", "")]

    assert run(rules, "\n".join(script)) == transcript


def test_every_command_is_documented():
    """The table has a row for every command, with its aliases."""
    rows = re.findall(r"^\| `(.*?) \| ", TEXT.split("## Commands")[1], re.MULTILINE)
    words = {word for row in rows for word in re.findall(r"(?:^|`)(@?[a-z-]+)", row)}

    assert {*CATALOGUE, *ALIASES} - {"why"} <= words
