"""Java is found and its version checked before use; a download is complete or absent."""

from __future__ import annotations

import os

import pytest

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.shell.prompt import history_file
from streamreasoner.system import jvm


@pytest.fixture
def java(tmp_path, monkeypatch):
    """Installs a fake `java` that reports some version as the only command on PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    def install(version):
        command = tmp_path / "java"
        command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026' >&2\n")
        command.chmod(0o755)
        return str(command)

    return install


def test_no_java(java, monkeypatch, tmp_path):
    """The message says what to install and where Java was searched for."""
    assert java
    with pytest.raises(EnvironmentSetupError, match=r"no java on PATH.*17 to 23"):
        jvm.java(newest=23)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(EnvironmentSetupError, match=r"JAVA_HOME is .*nowhere"):
        jvm.java()


@pytest.mark.parametrize("version", ["17.0.15", "21", "23.0.1"])
def test_a_good_java(java, version):
    """The command is returned."""
    command = java(version)
    assert jvm.java(newest=23) == command


@pytest.mark.parametrize("version", ["1.8.0_292", "11.0.2", "24"])
def test_too_old_or_too_new(java, version):
    """The message names the version."""
    java(version)
    with pytest.raises(EnvironmentSetupError, match=r"Java (8|11|24) at .* not supported"):
        jvm.java(newest=23)


def test_a_java_that_reports_no_version(java, tmp_path):
    """A `java` that prints nothing is refused, and one that cannot start with what it says."""
    java("17")
    (tmp_path / "java").write_text("#!/bin/sh\n")
    with pytest.raises(EnvironmentSetupError, match="printed no version of Java, but: nothing"):
        jvm.java()
    (tmp_path / "java").write_text("#!/bin/sh\necho Could not reserve enough space >&2; exit 1\n")
    with pytest.raises(EnvironmentSetupError, match="but: Could not reserve enough space"):
        jvm.java()


def test_a_failed_download_leaves_nothing(monkeypatch, tmp_path):
    """No repository: the message names it, and the next attempt starts afresh."""
    monkeypatch.setenv(jvm.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setenv(jvm.REPOSITORY_VARIABLE, "http://127.0.0.1:1/")
    with pytest.raises(
        EnvironmentSetupError, match=r"Cannot download .* from http://127\.0\.0\.1:1/"
    ):
        jvm.jars("nothing", ["org.example:nothing:1"])
    assert not jvm.jars_directory("nothing", ["org.example:nothing:1"]).exists()
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".download")] == []


def test_a_download_that_lost_a_jar_is_not_used(monkeypatch, tmp_path):
    """Cleaners of caches delete single files; what is left is fetched again, or said to lack."""
    monkeypatch.setenv(jvm.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setenv(jvm.REPOSITORY_VARIABLE, "http://127.0.0.1:1/")
    modules = ["org.example:nothing:1"]
    directory = jvm.jars_directory("nothing", modules)
    directory.mkdir()
    (directory / "nothing-1.jar").touch()
    assert jvm.jars("nothing", modules) == directory
    (directory / "jars.txt").write_text("nothing-1.jar\nneeded-2.jar")
    assert not jvm.are_downloaded("nothing", modules)
    with pytest.raises(EnvironmentSetupError, match="Cannot download"):
        jvm.jars("nothing", modules)


def test_a_cache_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    """The message names the variable that moves it."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(jvm.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.raises(EnvironmentSetupError, match=jvm.CACHE_VARIABLE):
        jvm.ivy_settings()


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch):
    """A container may run as a user that the system does not know; the shell works without one."""
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", jvm.CACHE_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: (1 << 31) - 5)
    with pytest.raises(EnvironmentSetupError, match="Set STREAMREASONER_CACHE_DIR to a writable"):
        jvm.cache_directory()
    assert history_file() is None


def test_closing_a_process_group_kills_its_members(tmp_path):
    """A child that joined the group is gone after `close`."""
    import subprocess  # noqa: PLC0415

    process_group = jvm.ProcessGroup()
    child = subprocess.Popen(["/bin/sleep", "60"], process_group=process_group.id, cwd=tmp_path)
    assert os.getpgid(child.pid) == process_group.id
    process_group.close()
    assert child.wait(60) == -9
