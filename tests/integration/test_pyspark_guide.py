"""The guide to PySpark and its notebook, as a reader would follow them."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest
import sessions_of_documents
from spark_jvm import MARKS

pytestmark = [*MARKS, pytest.mark.usefixtures("spark")]

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/how-to/pyspark.md"
NOTEBOOK = ROOT / "examples/pyspark/closure.ipynb"


def test_the_guide_shows_what_happens(tmp_path):
    """Every block prints what the guide shows."""
    sessions_of_documents.run(GUIDE.read_text("utf-8"), tmp_path)


def test_the_notebook_shows_what_happens(tmp_path):
    """Every cell of code prints the output that is stored with it."""
    names = {}
    with contextlib.chdir(tmp_path):
        for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]:
            if cell["cell_type"] != "code":
                continue
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec("".join(cell["source"]), names)  # noqa: S102 - the notebook's own text
            shown = "".join(line for output in cell["outputs"] for line in output["text"])
            assert out.getvalue() == shown, cell["id"]
