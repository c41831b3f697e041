"""Helm for tests: found on PATH, or built from its source with Go, once, into the cache.

Invariant: nothing is installed, and a chart is rendered without a cluster.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import yaml
from left_out import leave_out

from streamreasoner.system import jvm

CHART = Path(__file__).parents[1] / "deploy" / "helm" / "streamreasoner"
MODULE = "helm.sh/helm/v3/cmd/helm@v3.19.5"
# What Helm takes for the version of the cluster, as there is none.
KUBERNETES = "1.30.0"
_INSTALL = "Install Helm 3 (https://helm.sh), or Go 1.24 or later, with which it is built."


@functools.cache
def binary():
    """Path of `helm`; the test is left out, with a reason, if there is none."""
    if path := shutil.which("helm"):
        return path
    folder = jvm.cache_directory() / MODULE.replace("/", "-")
    if not os.access(folder / "helm", os.X_OK):
        if shutil.which("go") is None:
            leave_out(f"Neither Helm nor Go is on PATH. {_INSTALL}")
        scratch = folder.with_name(f".{folder.name}-{os.getpid()}")
        built = subprocess.run(
            ["go", "install", MODULE],
            env={**os.environ, "GOBIN": str(scratch)},
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode != 0:
            leave_out(f"Helm cannot be built: {built.stderr.splitlines()[-1]}. {_INSTALL}")
        folder.mkdir(parents=True, exist_ok=True)
        (scratch / "helm").replace(folder / "helm")  # another process may have built, and run, it
        scratch.rmdir()
    return str(folder / "helm")


def helm(*words):
    """What a command of Helm prints; it must succeed."""
    run = subprocess.run([binary(), *map(str, words)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def rendered(*options):
    """The objects of the chart with these options, by kind and name."""
    text = helm("template", "reasoner", CHART, "--kube-version", KUBERNETES, *options)
    documents = [each for each in yaml.safe_load_all(text) if each]
    objects = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    assert len(objects) == len(documents)
    return objects
