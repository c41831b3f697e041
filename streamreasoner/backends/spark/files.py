"""Files of the state on Hadoop file systems. Invariant: Python opens none of them itself.

A place is a Hadoop URI: `file:/var/lib/x`, `s3a://bucket/x`, `hdfs://host/x`. The driver's JVM has
the file systems; Spark's settings `spark.hadoop.*` configure them.
"""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from streamreasoner.errors import EnvironmentSetupError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession


class Placed(Protocol):
    """An object that keeps its state in a folder.

    Attributes:
        place: The folder, as a Hadoop URI.
    """

    place: str


class UnreadableFileError(Exception):
    """The driver cannot read a file itself.

    Args:
        path: Of the file.
        error: Why.
    """

    def __init__(self, path: str, error: Exception) -> None:
        super().__init__(f"{path}: {error}")


S = TypeVar("S", bound=Placed)
P = ParamSpec("P")
R = TypeVar("R")
_UNREADABLE = re.compile(
    r"FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|FileNotFoundException|DELTA_|\.delta\.|parquet\."
    r"|checksum|ChecksumException|JsonParseException|JsonMappingException",
)
"""What Spark and Delta report about missing or damaged files."""
_CALLS = "at ", "An error occurred while calling "
"""What lines about calls begin with, among them calls of `parquet` that fail for any reason."""
_TASKS = 4  # per core, so that most likely every executor gets one


def on_one_machine(spark: SparkSession) -> bool:
    """Whether executors are threads of the driver's JVM."""
    return str(spark.sparkContext.master).startswith("local")


def readable_here(spark: SparkSession, place: str) -> bool:
    """Whether Python can open the files of a place: they are on the disk of this machine."""
    return on_one_machine(spark) and place.startswith("file:")


def local_path(place: str) -> str:
    """The path of `file:/a/b` or `file:///a/b`."""
    return f"/{place.removeprefix('file:').lstrip('/')}"


def exists(spark: SparkSession, place: str) -> bool:
    """Whether a file or folder exists."""
    path, system = _located(spark, place)
    return bool(system.exists(path))


def names(spark: SparkSession, place: str) -> list[str]:
    """Names of what is in a folder; none if there is no folder."""
    path, system = _located(spark, place)
    if not system.exists(path):
        return []
    return [status.getPath().getName() for status in system.listStatus(path)]


def delete(spark: SparkSession, place: str) -> None:
    """Delete a file, or a folder with its contents, if it exists."""
    path, system = _located(spark, place)
    system.delete(path, True)  # noqa: FBT003 - Java has no keywords


def discard(spark: SparkSession, place: str, void: Path) -> None:
    """Delete a folder if there is a mark that it must not be used, and then the mark."""
    if void.exists():
        delete(spark, place)
        void.unlink()


def text(spark: SparkSession, place: str) -> str | None:
    """The text of a small file, None if there is none."""
    path, system = _located(spark, place)
    if not system.exists(path):
        return None
    stream = system.open(path)
    try:
        jvm: Any = spark._jvm  # noqa: SLF001 - one call for the whole text
        return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()


def write(spark: SparkSession, place: str, text: str) -> None:
    """Write a small file, replacing any that exists."""
    path, system = _located(spark, place)
    stream = system.create(path, True)  # noqa: FBT003 - Java has no keywords
    try:
        stream.write(text.encode())
    finally:
        stream.close()


def explained(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method explain what to do when Spark cannot read its state, which is a copy.

    It raises a `StateError` that names the file, if one is missing or damaged.
    """

    @wraps(method)
    def call(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        try:
            return method(self, *args, **named)
        except (Py4JJavaError, PySparkException, UnreadableFileError) as error:
            lines = [line.strip() for line in str(error).splitlines()]
            told = (line for line in lines if not line.startswith(_CALLS))
            reasons = [line for line in told if _UNREADABLE.search(line)]
            if isinstance(error, UnreadableFileError):
                reasons = lines
            if not reasons:
                raise
            raise StateError(
                f"Spark cannot read its state in {self.place} (spark.state_directory): "
                f"{reasons[0].rstrip('.')}. Stop the pipeline, delete {self.place} and restart "
                "it: the state is rebuilt from the tables."
            ) from error

    return call


def reachable(spark: SparkSession, source: Path, place: str) -> str:
    """A path at which executors can read a folder that perhaps only the driver reaches.

    Args:
        spark: The session.
        source: The folder.
        place: Where to copy it if needed; must not exist yet.
    """
    original = f"file:{source.absolute()}"
    if on_one_machine(spark):
        return original
    path, system = _located(spark, place)
    local, disk = _located(spark, original)
    settings = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - see `_located`
    # FileSystem.copyFromLocalFile accepts only Hadoop's own class of local files.
    _hadoop(spark).FileUtil.copy(disk, local, system, path, False, settings)  # noqa: FBT003 - keep the source
    return place


def check(spark: SparkSession, place: str) -> None:
    """Refuse a place that driver and executors do not share: writes to it would be lost.

    Raises:
        EnvironmentSetupError: Driver or executors cannot write there, or do not share it.
    """
    if readable_here(spark, place):
        return
    tasks = _TASKS * spark.sparkContext.defaultParallelism
    probe = f"{place}/probe"
    try:
        delete(spark, probe)
        spark.range(0, tasks, 1, tasks).write.parquet(probe)
        count = spark.read.parquet(probe).count()
        delete(spark, probe)
    except (Py4JError, PySparkException) as error:
        raise EnvironmentSetupError(
            f"Spark cannot keep its state in {place} (spark.state_directory): {_first_line(error)} "
            "All executors and the driver must be able to read and write it. Addresses need the "
            "jars of their file system in spark.jars.packages and its settings as spark.hadoop.* "
            "in spark.options."
        ) from None
    if count != tasks:
        raise EnvironmentSetupError(
            f"Executors wrote {tasks} files to {place} (spark.state_directory), but only {count} "
            "can be read: it is local to each machine. Choose a directory that all machines share."
        )


def _located(spark: SparkSession, place: str) -> tuple[Any, Any]:
    """A place as a Hadoop path, and its file system."""
    path = _hadoop(spark).Path(place)
    return path, path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001 - PySpark does not expose file systems


def _hadoop(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]  # noqa: SLF001 - as above


def _first_line(error: Py4JError | PySparkException) -> str:
    """The first line of a Java error, without the stack trace."""
    text = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
    return text.partition("\n")[0].rstrip(".") + "."
