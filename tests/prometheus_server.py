"""A real Prometheus for tests: found on PATH, or unpacked from the distribution's package.

Invariant: nothing is installed. The package is downloaded with private state of apt, unpacked into
the cache directory, and the server runs as a child process on a free loopback port.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml

from streamreasoner.system import jvm

DEADLINE_SECONDS = 300


def binary(name):
    """Path of `prometheus` or `promtool`; the test is skipped, with a reason, if there is none."""
    if path := shutil.which(name):
        return path
    unpacked = jvm.cache_directory() / "prometheus-package"
    if not unpacked.is_dir():
        _download(unpacked)
    return str(unpacked / "usr" / "bin" / name)


def _download(target):
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        pytest.skip(
            f"Prometheus is not on PATH, and {', '.join(missing)} are missing to fetch Debian's "
            "package: install Prometheus (the programs prometheus and promtool)."
        )
    scratch = target.with_name(f".{target.name}-{os.getpid()}")
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (scratch / folder).mkdir(parents=True, exist_ok=True)
    try:
        _apt(scratch, "update")
        _apt(scratch, "download", "prometheus")
        (package,) = scratch.glob("prometheus_*.deb")
        subprocess.run(["dpkg-deb", "-x", package, scratch / "root"], check=True)
        (scratch / "root").rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _apt(scratch, *command):
    options = {
        "Dir::State": scratch / "state",
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": scratch / "cache",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "1",
    }
    arguments = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
    run = subprocess.run(
        ["apt-get", "-q", *arguments, *command],
        cwd=scratch,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        pytest.skip(
            "Prometheus is not on PATH and Debian's package of it cannot be fetched: install it "
            f"(the programs prometheus and promtool). apt-get reports: {run.stderr.strip()[-500:]}"
        )


def free_port():
    """A free loopback port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def localised(folder, target, *, scrape="1s"):
    """Copy a deployed configuration with its rules, scraping `target`; returns its path."""
    source = Path(__file__).parents[1] / "deploy" / "prometheus"
    shutil.copytree(source, folder, dirs_exist_ok=True)
    path = folder / "prometheus.yml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    config["global"] |= {
        "scrape_interval": scrape,
        "scrape_timeout": scrape,
        "evaluation_interval": scrape,
    }
    (job,) = config["scrape_configs"]
    job["static_configs"] = [{"targets": [target]}]
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


class Prometheus:
    """A running Prometheus server, as a context manager.

    Args:
        config: Its configuration file.
        directory: Where its data and log go.
    """

    def __init__(self, config, directory):
        self._config = config
        self._directory = directory
        self._address = f"127.0.0.1:{free_port()}"
        self._process = None

    def __enter__(self):
        with (self._directory / "prometheus.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    binary("prometheus"),
                    f"--config.file={self._config}",
                    f"--storage.tsdb.path={self._directory / 'data'}",
                    f"--web.listen-address={self._address}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._await_ready()
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(DEADLINE_SECONDS)

    def values(self, expression, seconds):
        """Every value of an expression within the last seconds: {labels: [float, ...]}."""
        now = time.time()
        answer = self._get("query_range", query=expression, start=now - seconds, end=now, step=1)
        return {
            tuple(sorted(series["metric"].items())): [float(value) for _, value in series["values"]]
            for series in answer["result"]
        }

    def value(self, expression):
        """The current value of an expression with one series, None if it has none."""
        result = self._get("query", query=expression)["result"]
        assert len(result) <= 1, result
        return float(result[0]["value"][1]) if result else None

    def _get(self, path, **parameters):
        url = f"http://{self._address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            with error:
                pytest.fail(f"{parameters}: {error.read().decode()}")

    def _await_ready(self):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"http://{self._address}/-/ready", timeout=60):
                    return
            except OSError:
                log = (self._directory / "prometheus.log").read_text()
                assert self._process.poll() is None, log
                assert time.monotonic() < deadline, log
                time.sleep(0.05)
