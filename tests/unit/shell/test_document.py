"""Laws of docs/shell.md: its transcript is real, and it lists every command."""

from __future__ import annotations

import re
from pathlib import Path

from transcripts import run

from streamreasoner.shell.command import ALIASES, CATALOGUE

TEXT = (Path(__file__).parents[3] / "docs/shell.md").read_text("utf-8")


def block(language):
    """The only block of a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return found


def test_the_transcript_is_what_happens():
    """Running the lines after `> ` as a script gives the transcript."""
    transcript = block("transcript")
    script = [line.removeprefix("> ") for line in transcript.splitlines() if line[:2] in ("> ", "")]

    assert run(block("dl"), "\n".join(script)) == transcript


def test_every_command_is_documented():
    """The table has a row for every command, with its aliases."""
    rows = re.findall(r"^\| `(.*?) \| ", TEXT.split("## Commands")[1], re.MULTILINE)
    words = {word for row in rows for word in re.findall(r"(?:^|`)(@?[a-z-]+)", row)}

    assert {*CATALOGUE, *ALIASES} - {"why"} <= words
