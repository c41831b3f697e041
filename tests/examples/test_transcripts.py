"""The shell sessions of the examples against their golden transcripts."""

from __future__ import annotations

import pytest
from examples.sessions import FOLDER, transcript

NAMES = sorted(path.parent.name for path in FOLDER.glob("*/session.txt"))


@pytest.mark.parametrize("name", NAMES)
def test_the_transcript_is_the_golden_one(name):
    """A session prints its golden transcript; `python tests/examples/sessions.py` writes it."""
    folder = FOLDER / name

    assert transcript(folder) == (folder / "session.out").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_session_explains_what_is_present_and_what_is_absent(name):
    """Every session retracts something, and explains a fact that is present and one that is not."""
    text = (FOLDER / name / "session.out").read_text("utf-8")
    explained = text.count("\n> explain ")
    absent = text.count(" is absent: ")

    assert "\n> remove " in text
    assert 0 < absent < explained
