"""Types of messages and records are known before threads read them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import streamreasoner

PACKAGE = Path(streamreasoner.__file__).parent
UNREADY = """
import importlib
import sys

import msgspec

def learns(struct):
    called = []
    sys.setprofile(lambda frame, *_: called.append(frame.f_code.co_name))
    msgspec.json.Decoder(struct)
    sys.setprofile(None)
    return "get_class_annotations" in called

class Unknown(msgspec.Struct):
    number: int

assert learns(Unknown)
modules = sys.argv[1:]
for module in modules:
    importlib.import_module(module)
structs = [each for each in msgspec.Struct.__subclasses__() if each.__module__ in modules]
assert {each.__module__ for each in structs} == set(modules)
print(*(each.__name__ for each in structs if learns(each)), end="")
"""


def test_structs_are_ready_when_they_are_imported():
    """Their types are learned once, by default when one is read: a second thread then crashes.

    Pipelines read the journal of an object store with several threads.
    """
    modules = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        if re.search(r"msgspec\.Struct\b", path.read_text("utf-8"))
    ]
    ended = subprocess.run(
        [sys.executable, "-c", UNREADY, *modules], capture_output=True, text=True, check=False
    )

    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)
