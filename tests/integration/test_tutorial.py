"""The tutorials, as a reader would follow it: a broker, a pipeline, and every line of output."""

from __future__ import annotations

from pathlib import Path

import pytest
import sessions_of_documents
from free_ports import free_port

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("document", ["tutorial.md", "how-to/provenance.md"])
@pytest.mark.usefixtures("joined_jvm")
def test_a_tutorial_shows_what_happens(document, tmp_path):
    """Every command prints what the document shows."""
    kafka, server = str(free_port()), str(free_port())
    text = (
        (DOCS / document)
        .read_text("utf-8")
        .replace("broker --directory kafka", f"broker --directory kafka --port {kafka}")
        .replace("9092", kafka)
        .replace("9464", server)
        .replace("facts = true", f"port = {server}\nfacts = true")
    )

    sessions_of_documents.run(text, tmp_path)
