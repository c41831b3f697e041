"""The guides whose commands need no broker, as a reader would follow them."""

from __future__ import annotations

from pathlib import Path

import pytest
import sessions_of_documents

ROOT = Path(__file__).parents[2]
GUIDES = (
    *("../README", "how-to/python"),
    *("how-to/from-jena", "how-to/from-nightly-jobs", "how-to/from-sql", "how-to/test-rules"),
    "how-to/keep-a-state",
    *("inside/multiplicities", "inside/epoch-by-hand", "inside/joining", "inside/settling"),
    "inside/hierarchies",
)


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_shows_what_happens(guide, tmp_path):
    """Every command of the guide prints what the guide shows."""
    text = (ROOT / f"docs/{guide}.md").read_text("utf-8")

    sessions_of_documents.run(text, tmp_path)
