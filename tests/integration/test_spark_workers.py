"""Spark's Python workers: what they are forked from, and that they find what is added later."""

from __future__ import annotations

import ast
import importlib
import sys
import zipfile
import zipimport

import pytest
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from spark_jvm import MARKS

from streamreasoner.io.spark.tasks import worker_daemon

pytestmark = MARKS


def in_a_worker(spark, function):
    """The text that a function returns in a worker."""
    [row] = spark.range(1).coalesce(1).select(F.udf(lambda _: str(function()))("id")).collect()
    return row[0]


def test_they_come_from_the_package(spark):
    """The daemon is the package's, so a task does not read PySpark's archive again."""

    def reads():
        read = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(zipimport, "_read_directory", lambda archive: read.append(archive) or {})
            importlib.invalidate_caches()
        archives = {each.archive for each in sys.path_importer_cache.values() if zipped(each)}
        return len(archives), read, sys.modules["__main__"].__spec__.name

    def zipped(importer):
        return isinstance(importer, zipimport.zipimporter)

    archives, read, name = ast.literal_eval(in_a_worker(spark, reads))
    assert archives > 0
    assert (read, name) == ([], worker_daemon.__name__)


def test_they_import_from_archives_that_are_added(spark, tmp_path):
    """A worker that has run before finds a module of an archive that it did not know."""
    assert in_a_worker(spark, lambda: "warm") == "warm"
    for name in ("added_first", "added_second"):
        archive = tmp_path / f"{name}.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr(f"{name}.py", f"VALUE = {name!r}\n")
        spark.sparkContext.addPyFile(str(archive))

        def value(name=name):
            return __import__(name).VALUE

        assert in_a_worker(spark, value) == name
