"""A real Prometheus for tests: found on PATH, or unpacked from the distribution's package.

Invariant: nothing is installed. The server runs as a child process on a free loopback port.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml
from debian_packages import UnavailableError, unpacked
from free_ports import free_port
from left_out import leave_out

DEADLINE_SECONDS = 300


def binary(name):
    """Path of `prometheus` or `promtool`; the test is left out, with a reason, if there is none."""
    if path := shutil.which(name):
        return path
    try:
        root = unpacked(["prometheus"], ["usr/bin/prometheus", "usr/bin/promtool"])
    except UnavailableError as error:
        leave_out(
            f"Prometheus is not on PATH, and {error} Install Prometheus (the programs prometheus "
            "and promtool)."
        )
    return str(root / "usr" / "bin" / name)


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
