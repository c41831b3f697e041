"""The command that starts Spark's JVM equals that of Spark's own launcher."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pyspark
import pytest

from streamreasoner.io.spark import launch
from streamreasoner.io.spark.launch import MODULE_OPTIONS
from streamreasoner.system import jvm

HOME = Path(pyspark.__file__).parent
SETTINGS = {"spark.driver.memory": "1g", "spark.jars.packages": ""}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache directory, and no environment variables for the scripts."""
    monkeypatch.setenv(jvm.CACHE_VARIABLE, str(tmp_path / "cache"))
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def directly(tmp_path):
    """Builds direct launches from settings."""
    made = []

    def make(settings=()):
        how = launch.directly("java", SETTINGS | dict(settings), tmp_path)
        if how is not None:
            made.append(how)
        return how

    yield make
    for how in made:
        how.class_data.close(exited=False)


def classes(command):
    """The entries of a command's class path."""
    return command[command.index("-cp") + 1].split(":")


def test_java_gets_the_options_of_sparks_launcher(directly):
    """Module options, jars, memory and main class are the same."""
    launcher = [jvm.java(), "-cp", str(HOME / "jars" / "*"), "org.apache.spark.launcher.Main"]
    launcher += ["org.apache.spark.deploy.SparkSubmit", "pyspark-shell"]
    environment = {"SPARK_HOME": str(HOME), "SPARK_SCALA_VERSION": "2.13"}
    result = subprocess.run(launcher, capture_output=True, text=True, check=True, env=environment)
    theirs = result.stdout.split("\0")
    assert tuple(word for word in theirs if word in MODULE_OPTIONS) == MODULE_OPTIONS
    assert not {word for word in theirs if word.startswith("--add")} - set(MODULE_OPTIONS)
    ours = directly().command
    assert "-Xmx1g" in ours
    assert "org.apache.spark.deploy.SparkSubmit" in ours
    assert sorted(classes(ours)) == sorted(map(str, HOME.glob("jars/*.jar")))


def test_jars_of_settings_are_on_the_class_path(directly, tmp_path):
    """Spark's jars come first, and Spark has nothing to copy."""
    mine = tmp_path / "jars" / "mine.jar"
    mine.parent.mkdir()
    mine.touch()
    (mine.parent / next(HOME.glob("jars/*.jar")).name).touch()
    direct = directly({"spark.jars": f"{mine.parent}/*"})
    entries = classes(direct.command)
    assert entries[-1] == str(mine)
    assert all(Path(entry).parent == HOME / "jars" for entry in entries[:-1])
    assert not [name for name in direct.settings if name.startswith("spark.jars")]


@pytest.mark.parametrize(
    "setting",
    [
        {"spark.jars": "hdfs:///x.jar"},
        {"spark.jars.packages": "org.example:x:1:classifier"},
        {"spark.jars.repositories": "https://example.org/"},
        {"spark.driver.extraLibraryPath": "/opt/lib"},
    ],
)
def test_settings_for_scripts_use_scripts(setting, directly):
    """Settings that only spark-submit supports are launched by spark-submit."""
    assert directly(setting) is None
    assert setting.items() <= launch.by_scripts(SETTINGS | setting).settings.items()


def test_an_environment_for_scripts_uses_scripts(monkeypatch, directly, tmp_path):
    """The scripts find Hadoop's configuration, for example."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert directly() is None


def test_settings_reach_the_process_in_a_private_file(tmp_path):
    """No value is on the command line, and every character is preserved."""
    shown = tmp_path / "shown"
    script = tmp_path / "java"
    script.write_text(
        "#!/bin/sh\n"
        f'while [ "$1" != --properties-file ]; do shift; done; cp -p "$2" {shown}; exit 1\n'
    )
    script.chmod(0o755)
    how = launch.Launch((str(script),), {"spark.secret key": "p:ä=s\\w#\nd!"})
    process_group = jvm.ProcessGroup()
    try:
        with (tmp_path / "log").open("wb") as log, pytest.raises(Exception, match="gateway"):
            launch.start(how, tmp_path, log, log.fileno(), process_group.id)
    finally:
        process_group.close()
    assert shown.read_text() == "spark.secret\\ key=p\\:ä\\=s\\\\w\\#\\nd\\!\n"
    assert stat.S_IMODE(shown.stat().st_mode) == 0o600
    assert not list(tmp_path.glob("tmp*"))
