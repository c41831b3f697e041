"""The image: its steps, as far as they can be checked without a container engine."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

from streamreasoner.native.image import find

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _steps():
    """The instructions as (instruction, arguments), continued lines joined."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in joined.splitlines()]


STEPS = _steps()


def _last(instruction):
    return [arguments for name, arguments in STEPS if name == instruction][-1]


def _sources():
    """Paths that the build takes from the repository."""
    for name, arguments in STEPS:
        if name == "COPY":
            *sources, _ = [word for word in arguments.split() if not word.startswith("--")]
            yield from sources
        for mount in re.findall(r"--mount=type=bind,(\S+)", arguments):
            options = dict(option.split("=") for option in mount.split(","))
            if "from" not in options:
                yield options["source"]


def test_what_is_copied_exists_and_is_sent():
    """Every source of the build is in the repository and is not ignored."""
    ignore = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert ignore[0] == "*"
    sent = [line[1:] for line in ignore if line.startswith("!")]
    sources = [source.removeprefix("./") for source in _sources()]
    assert len(sources) >= 5
    for source in sources:
        assert (ROOT / source).exists()
        assert any(fnmatch.fnmatch(source, pattern) for pattern in sent)


def test_the_image_runs_as_an_unprivileged_user():
    """The last USER is a number that is not root, the one that compose uses."""
    user = _last("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert compose["services"]["reasoner"]["user"] == user


def test_the_entry_point_is_a_command_of_the_project():
    """What the image starts is installed by the wheel, and its default command has a file."""
    entry = json.loads(_last("ENTRYPOINT"))
    assert f"deploy/entrypoint.py {entry[-1]}" in _last("COPY")
    text = (DEPLOY / "entrypoint.py").read_text(encoding="utf-8")
    [script] = PROJECT["project"]["scripts"]
    assert f'return ["{script}", *words]' in text
    command = json.loads(_last("CMD"))
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert compose["services"]["reasoner"]["command"] == command


def test_health_is_asked_where_the_exporter_listens():
    """The health check of the image asks the port of the deployed configuration."""
    (check,) = [arguments for name, arguments in STEPS if name == "HEALTHCHECK"]
    config = tomllib.loads((DEPLOY / "streamreasoner.toml").read_text(encoding="utf-8"))
    assert f"http://127.0.0.1:{config['server']['port']}/healthz" in check
    assert _last("EXPOSE") == str(config["server"]["port"])


def test_requirements_are_locked_with_hashes():
    """Wheels are built from the lock file, hashes required, and nothing else is downloaded."""
    commands = [arguments for name, arguments in STEPS if name == "RUN" and "pip" in arguments]
    assert "--require-hashes" in commands[0]
    assert all("--no-index" in command for command in commands[1:])
    for build in PROJECT["build-system"]["requires"]:
        assert build in (ROOT / "requirements/run.txt").read_text(encoding="utf-8")


def test_the_python_of_the_image_is_supported():
    """Both stages use one Python, and it is the one that the project asks for at least."""
    images = [arguments.split()[0] for name, arguments in STEPS if name == "FROM"]
    assert len(set(images)) == 1
    version = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert images[0].startswith(f"python:{version}-slim")


def test_what_the_container_writes_is_in_volumes():
    """State and caches are directories of the user, declared as volumes; the rest is read-only."""
    volumes = json.loads(_last("VOLUME"))
    environment = dict(
        pair.split("=", 1)
        for name, arguments in STEPS
        if name == "ENV"
        for pair in arguments.split()
    )
    for key in ("HOME", "STREAMREASONER_CACHE_DIR", "NUMBA_CACHE_DIR"):
        assert any(environment[key].startswith(volume) for volume in volumes)
    config = tomllib.loads((DEPLOY / "streamreasoner.toml").read_text(encoding="utf-8"))
    assert any(config["state"]["directory"].startswith(f"{volume}/") for volume in volumes)


def test_the_jars_of_the_configuration_are_those_of_the_image():
    """Spark takes the jars from where the build put them, and resolves none at a start."""
    config = tomllib.loads((DEPLOY / "streamreasoner.toml").read_text(encoding="utf-8"))
    options = config["spark"]["options"]
    assert options["spark.jars.packages"] == ""
    folder = options["spark.jars"].removesuffix("/*")
    assert any(f"prepare.py jars {folder}" in arguments for name, arguments in STEPS)


def test_kernels_are_compiled_into_the_image(tmp_path):
    """The build runs `warm` as the user of the image, after which the cache has the kernels."""
    assert ("RUN", "streamreasoner warm") in STEPS
    kernels = find()
    assert kernels is not None
    shutil.copy(kernels, tmp_path)
    command = [sys.executable, "-m", "streamreasoner", "warm"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    said = subprocess.run(
        command, env=environment, check=True, timeout=900, capture_output=True, text=True
    ).stdout
    assert "has the kernels already" in said
