"""What a start needs of this machine: versions, Java, jars, disk. Invariant: nothing is changed."""

from __future__ import annotations

import os
import platform
import shutil
from importlib import metadata
from typing import TYPE_CHECKING

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.io.spark import session
from streamreasoner.system import jvm
from streamreasoner.system.limits import check_limits
from streamreasoner.system.memory import physical_memory
from streamreasoner.upkeep.finding import Warned

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.config import Config

PACKAGE = "streamreasoner"
_SHOWN = ("pyspark", "numpy", "numba", "pyarrow", "confluent-kafka")
_GIBIBYTE = 1 << 30
# A start needs room for Spark's files and the first checkpoints.
_LEAST_FREE = _GIBIBYTE // 4
_MUCH_FREE = 4 * _GIBIBYTE
_LEAST_MEMORY = 2 * _GIBIBYTE
_JARS = ("spark.jars", "spark.jars.packages")


def versions() -> str:
    """The versions of package, Python and libraries.

    Raises:
        EnvironmentSetupError: A library is missing.
    """
    found, missing = [], []
    for name in (PACKAGE, *_SHOWN):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        raise EnvironmentSetupError(
            f"The packages {', '.join(missing)} are not installed. Install them with: pip install "
            f"'{PACKAGE}[pipeline]'"
        )
    return f"Python {platform.python_version()}, {', '.join(found)}"


def java() -> str:
    """Where Java is, and that its version is supported; that limits of the process are not low."""
    if session.submitted():
        return "that of spark-submit"
    check_limits()
    newest = session.NEWEST_JAVA
    return f"{jvm.java(newest=newest)}, a version from {jvm.OLDEST_JAVA} to {newest}"


def jars(config: Config) -> str:
    """Whether Spark's connectors are there.

    Raises:
        Warned: The first start downloads them.
    """
    options = config.spark.options
    if any(name in options for name in _JARS) or session.submitted():
        return "as spark.options or spark-submit says"
    if not session.is_local(options.get("spark.master", "local")):
        return "left to Spark, which resolves them for the cluster"
    modules = session.PACKAGES.split(",")
    place = jvm.jars_directory("spark", modules)
    if jvm.are_downloaded("spark", modules):
        return str(place)
    raise Warned(
        f"Spark's connectors are not in {place}: the first start downloads them from "
        f"{os.environ.get(jvm.REPOSITORY_VARIABLE, jvm.MAVEN_CENTRAL)}. If this machine does not "
        f"reach it, set {jvm.REPOSITORY_VARIABLE} to a mirror."
    )


def memory() -> str:
    """How much memory there is for state and Spark."""
    size = physical_memory()
    text = f"{size / _GIBIBYTE:.1f} GiB for this process"
    if size < _LEAST_MEMORY:
        raise Warned(
            f"{text}, of which Spark's Java process takes one. Raise the limit of the container, "
            "or use a machine with at least 2 GiB."
        )
    return text


def disk(key: str, place: Path) -> str:
    """How much room there is at a place, which need not exist.

    Args:
        key: The configuration key that names it.
        place: A folder.

    Raises:
        EnvironmentSetupError: It is full, or cannot be written.
    """
    existing = next(each for each in (place, *place.absolute().parents) if each.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise EnvironmentSetupError(
            f"{existing} cannot be written by this user, so {place} ({key}) cannot be used. Grant "
            "the right, or choose another directory."
        )
    free = shutil.disk_usage(existing).free
    text = f"{free / _GIBIBYTE:,.1f} GiB are free at {place} ({key})"
    remedy = "Free some, or choose a directory on another disk: a pipeline that cannot write ends."
    if free < _LEAST_FREE:
        raise EnvironmentSetupError(f"Only {text}. {remedy}")
    if free < _MUCH_FREE:
        raise Warned(f"Only {text}. {remedy}")
    return text
