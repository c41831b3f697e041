"""A real schema registry for tests: Apicurio Registry, whose API is compatible with Confluent's.

Invariant: the server runs as a child process on a free loopback port, keeps its schemas in memory,
and does not outlive the tests. It is downloaded once (109 MB) from the repository of the jars, into
the cache directory.
"""

from __future__ import annotations

import html
import importlib.util
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from free_ports import free_port

from streamreasoner.system import jvm

VERSION = "3.0.9"
"""The last one that runs on Java 17."""
DEADLINE_SECONDS = 300
_NAME = "apicurio-registry-app"
_IVY = f"""\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="local" module="registry"/><dependencies>
<dependency org="io.apicurio" name="{_NAME}" rev="{VERSION}" conf="default" transitive="false">
<artifact name="{_NAME}" type="tar.gz" ext="tar.gz" m:classifier="all"/>
</dependency></dependencies></ivy-module>
"""
# The parent of the server's POM is not everywhere, and the archive has all that it needs.
_SETTINGS = """\
<ivysettings><settings defaultResolver="maven"/><resolvers>
<ibiblio name="maven" m2compatible="true" usepoms="false" root="{root}"/>
</resolvers></ivysettings>
"""
_FLAGS = ("-Xms64m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def _installed():
    """The directory of the server, downloaded and unpacked if it is not there."""
    target = jvm.cache_directory() / f"{_NAME}-{VERSION}"
    if _is_whole(target):
        return target
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".registry-", dir=target.parent))
    try:
        (scratch / "ivy.xml").write_text(_IVY)
        root = html.escape(os.environ.get(jvm.REPOSITORY_VARIABLE, jvm.MAVEN_CENTRAL))
        (scratch / "settings.xml").write_text(_SETTINGS.format(root=root))
        pyspark = Path(importlib.util.find_spec("pyspark").submodule_search_locations[0])
        (ivy,) = pyspark.glob("jars/ivy-*.jar")
        command = [jvm.java(), "-jar", ivy, "-settings", scratch / "settings.xml"]
        command += ["-cache", scratch / "cache", "-ivy", scratch / "ivy.xml"]
        command += ["-types", "tar.gz", "-retrieve", f"{scratch}/[artifact].[ext]"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        archive = scratch / f"{_NAME}.tar.gz"
        assert archive.exists(), run.stdout + run.stderr
        with tarfile.open(archive) as opened:
            opened.extractall(scratch / "server", filter="data")
        assert _is_whole(scratch / "server"), "the archive lacks what runs"
        # Another worker may have been faster.
        if not target.is_dir():
            (scratch / "server").rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _is_whole(directory):
    """Whether a directory has what runs the server."""
    return any(directory.glob("*-runner.jar")) and any(directory.glob("lib/*.jar"))


class SchemaRegistryServer:
    """A running registry, as a context manager.

    Args:
        directory: Where its log goes.
        settings: More of its environment variables.
    """

    def __init__(self, directory, settings=()):
        self._log = directory / "schema-registry.log"
        self._settings = dict(settings)
        self._port = free_port()
        self._api = f"127.0.0.1:{self._port}/apis/ccompat/v7"
        self._group = self._process = None

    @property
    def url(self):
        """The address of its API."""
        return f"http://{self._api}"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Start with no schemas, and wait until it answers."""
        directory = _installed()
        (jar,) = directory.glob("*-runner.jar")
        self._group = jvm.ProcessGroup()
        settings = {
            "QUARKUS_HTTP_HOST": "127.0.0.1",
            "QUARKUS_HTTP_PORT": str(self._port),
            "QUARKUS_LOG_LEVEL": "WARN",
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [jvm.java(), *_FLAGS, "-jar", jar],
                cwd=directory,
                env={**os.environ, **settings, **self._settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=self._group.id,
            )
        self._await_ready()

    def stop(self):
        """End it at once."""
        self._group.close()
        self._process.wait(DEADLINE_SECONDS)

    def _await_ready(self):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"http://{self._api}/schemas/types", timeout=60):
                    return
            except urllib.error.HTTPError as error:
                error.close()
                return
            except OSError:
                log = self._log.read_text()
                assert self._process.poll() is None, log
                assert time.monotonic() < deadline, log
                time.sleep(0.05)
