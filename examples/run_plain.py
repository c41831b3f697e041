"""Run the plain PySpark twins of examples on their facts, in one Spark session.

`python examples/run_plain.py triangles` prints each derived fact as a line of JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

FOLDER = Path(__file__).parent


def main(names: list[str]) -> None:
    """Print what the twins of these examples derive.

    Args:
        names: Folders with a `plain.py`; all of them by default.
    """
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.adaptive.enabled", "false")
        # Small plans run sooner than they compile.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    for name in names or sorted(path.parent.name for path in FOLDER.glob("*/plain.py")):
        facts = {
            path.stem: spark.read.csv(str(path), inferSchema=True)
            for path in sorted((FOLDER / name / "facts").glob("*.csv"))
        }
        spec = importlib.util.spec_from_file_location("plain", FOLDER / name / "plain.py")
        if spec is None or spec.loader is None:
            raise FileNotFoundError(name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for predicate, frame in module.derive(**facts).items():
            for row in frame.collect():
                fact = {"example": name, "predicate": predicate, "args": list(row)}
                sys.stdout.write(f"{json.dumps(fact)}\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
