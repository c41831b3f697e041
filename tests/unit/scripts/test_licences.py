"""Licences of dependencies: what is declared is read in every form, and exceptions are named."""

from __future__ import annotations

import subprocess
import sys
from email.message import Message
from pathlib import Path

import pytest
from licences import declared, needed, violation

ROOT = Path(__file__).parents[3]


def about(*fields):
    """The metadata of a distribution."""
    message = Message()
    for name, value in fields:
        message[name] = value
    return message


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([("License-Expression", "MIT OR Apache-2.0")], ["MIT", "Apache-2.0"]),
        ([("License-Expression", "Apache-2.0 WITH LLVM-exception AND BSD-2-Clause")],
         ["Apache-2.0", "BSD-2-Clause"]),
        ([("License", "MIT"), ("Classifier", "License :: OSI Approved :: MIT License")],
         ["MIT License"]),
        ([("License", "LGPL-2.1-or-later\n\nThe text of it")], ["LGPL-2.1-or-later"]),
        ([("Classifier", "License :: OSI Approved")], []),
        ([], []),
    ],
)  # fmt: skip
def test_a_licence_is_read_however_it_is_declared(fields, expected):
    """As an expression, by classifiers, or as text."""
    assert declared(about(*fields)) == expected


def test_what_asks_for_more_than_a_notice_is_refused():
    """Also next to one that is allowed, and if there is none; an exception is for one name."""
    assert violation("a", ["MIT License", "Apache-2.0"]) is None
    assert "has the licence GPL-3.0" in violation("a", ["MIT", "GPL-3.0"])
    assert "declares no licence" in violation("a", [])
    assert violation("crc32c", ["GNU Lesser General Public License (LGPLv2+)"]) is None
    assert "has the licence LGPL-2.1" in violation("a", ["LGPL-2.1"])
    assert "has the licence AGPL-3.0" in violation("crc32c", ["AGPL-3.0"])


def test_what_a_dependency_needs_is_needed():
    """With the extras that are asked for, and not with others."""
    assert "py4j" in {*needed(["pyspark"])}
    assert "crc32c" in {*needed(["kafka-python[crc32c]"])}
    assert "crc32c" not in {*needed(["kafka-python"])}


def test_the_licences_of_the_package_are_allowed():
    """And each that asks for more is named at the end of README.md."""
    command = [sys.executable, "scripts/licences.py"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (found.returncode, found.stdout.count("\n")) == (0, 1), found.stdout
    end = (ROOT / "README.md").read_text().rpartition("Licensed under")[2]
    assert all(f"`{name}`" in end for name in ("crc32c", "certifi"))
