"""A class-data archive is recorded once and used by later processes with the same jars."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pyspark
import pytest

from streamreasoner.system import jvm
from streamreasoner.system.class_data import ClassData

IVY = next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache directory."""
    monkeypatch.setenv(jvm.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(class_data, jar):
    """Run a short Java process; returns where it loaded one of its classes from."""
    command = [jvm.java(), "-cp", str(jar), "-Xlog:class+load", *class_data.flags]
    command += ["org.apache.ivy.Main", "-version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return next(line for line in said.splitlines() if "org.apache.ivy.Main source" in line)


def test_a_second_process_maps_the_classes_of_the_first(cache, tmp_path):
    """The first one records; the next ones map its classes."""
    jar = shutil.copy(IVY, tmp_path)
    first = ClassData("ivy", jvm.java(), [Path(jar)], tmp_path)
    assert first.recording
    assert "shared objects file" not in run(first, jar)
    assert list(cache.glob("*.jsa")) == []
    first.close(exited=True)
    second = ClassData("ivy", jvm.java(), [Path(jar)], tmp_path)
    assert not second.recording
    assert "shared objects file" in run(second, jar)


def test_a_process_that_was_killed_leaves_no_archive(cache, tmp_path):
    """Its partial recording is discarded, and the next process records."""
    first = ClassData("ivy", jvm.java(), [IVY], tmp_path)
    (tmp_path / "classes.jsa").write_bytes(b"half")
    first.close(exited=False)
    assert list(cache.glob("*.jsa")) == []
    second = ClassData("ivy", jvm.java(), [IVY], tmp_path)
    assert second.recording
    second.close(exited=False)


def test_one_process_records_at_a_time(cache, tmp_path):
    """A second one starts without an archive."""
    assert cache
    first = ClassData("ivy", jvm.java(), [IVY], tmp_path)
    second = ClassData("ivy", jvm.java(), [IVY], tmp_path)
    assert (first.recording, second.recording, second.flags) == (True, False, ())
    first.close(exited=False)


def test_a_changed_jar_has_another_archive(cache, tmp_path):
    """An archive matches the exact jars."""
    assert cache
    jar = Path(shutil.copy(IVY, tmp_path))
    first = ClassData("ivy", jvm.java(), [jar], tmp_path)
    (tmp_path / "classes.jsa").write_bytes(b"whole")
    first.close(exited=True)
    assert ClassData("ivy", jvm.java(), [jar], tmp_path).flags_of_readers
    os.utime(jar, (0, 0))
    second = ClassData("ivy", jvm.java(), [jar], tmp_path)
    assert second.flags_of_readers == ()
    second.close(exited=False)


def test_archives_expire(cache, tmp_path):
    """Only those of the latest four class paths are kept, because archives are large."""
    for number in range(6):
        jar = Path(shutil.copy(IVY, tmp_path / f"{number}.jar"))
        data = ClassData("ivy", jvm.java(), [jar], tmp_path)
        (tmp_path / "classes.jsa").write_bytes(b"whole")
        data.close(exited=True)
    assert len(list(cache.glob("ivy-*.jsa"))) == 4


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch):
    """The process starts without an archive."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(jvm.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    assert ClassData("ivy", jvm.java(), [IVY], tmp_path).flags == ()
