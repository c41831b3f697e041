"""Limits of a process that are too low are named, with what raises them."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHECK = """
import resource
from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.io.spark.session import check_java
resource.setrlimit(resource.{name}, ({soft}, {hard}))
try:
    check_java()
    print("fine:", resource.getrlimit(resource.{name})[0])
except EnvironmentSetupError as error:
    print(error)
"""


def checked(name, soft, hard):
    """What the check of a start says in a process with a limit."""
    text = CHECK.format(name=name, soft=soft, hard=hard)
    run = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=300
    )
    return run.stdout


@pytest.mark.parametrize(
    ("name", "limit", "says"),
    [
        ("RLIMIT_NOFILE", 256, r"may open 256 files only; .* (`ulimit -n 4096`"),
        ("RLIMIT_AS", 2 << 30, "address space of this process is limited to 2.0 GiB"),
    ],
)
def test_a_limit_that_is_too_low_is_named(name, limit, says):
    """Java would report a missing file of its own, or print no version."""
    assert says.replace(".* ", "Spark needs 512. Raise the limit ") in checked(name, limit, limit)


def test_open_files_are_raised_to_what_is_allowed():
    """The soft limit of a shell is not a reason to refuse a start."""
    assert checked("RLIMIT_NOFILE", 256, 2048) == "fine: 2048\n"
