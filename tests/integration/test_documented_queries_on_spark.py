"""The program for Spark in the documents reads the winners of a lattice as they were published."""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter
from pathlib import Path

from spark_backend import MARKS

from streamreasoner.state import migrate

pytestmark = MARKS

ROOT = Path(__file__).parents[2]


def test_the_winners_by_the_order_of_terms(spark, tmp_path):
    """Executors compare terms with the keys that the engine's order has."""
    with tarfile.open(ROOT / "tests/states/66d5e30.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    migrate(tmp_path / "state/tables")
    sums = Counter()
    for predicate, args, diff in json.loads((tmp_path / "record.json").read_text())["changes"]:
        if predicate == "distance":
            sums[tuple(args)] += diff
    text = (ROOT / "docs/operations.md").read_text("utf-8")
    [program] = re.findall(r"^```python\n(from pyspark.*?)^```", text, re.MULTILINE | re.DOTALL)
    program = program.replace("state/tables", f"file:{tmp_path}/state/tables")
    names: dict[str, object] = {}
    exec(program, names)  # noqa: S102 - the document's program

    assert names["spark"].sparkContext is spark.sparkContext
    assert sorted(tuple(row) for row in names["winners"]) == sorted(+sums)
