"""All that a start needs, checked one by one. Invariant: a running pipeline is not disturbed.

| finding | what is looked at |
|---|---|
| versions, java, memory | this machine |
| configuration, program | files, and whether they fit each other |
| jars, disk | what a start downloads, and where it writes |
| state | lock, first load, format, semantics, and whether program and input fit |
| server | address and port, if nothing runs |
| brokers, rights, app_id, topics, published | Kafka |
| schema registry | if a format needs one |
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.config import load
from streamreasoner.counts import counted
from streamreasoner.format_names import REGISTRY_FORMATS
from streamreasoner.io.formats.schemas.connect import connect
from streamreasoner.server.listening import listen
from streamreasoner.state.lock import holder
from streamreasoner.state.objects.held import refresh
from streamreasoner.state.version import FORMAT, SEMANTICS
from streamreasoner.system.extras import require
from streamreasoner.upkeep import machine
from streamreasoner.upkeep.cluster import examine_cluster
from streamreasoner.upkeep.finding import examine
from streamreasoner.upkeep.offline import check_program, check_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamreasoner.config import Config
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.upkeep.finding import Finding


def examine_machine() -> Iterator[Finding]:
    """What is found without a configuration."""
    yield from examine("versions", machine.versions)
    yield from examine("java", machine.java)
    yield from examine("memory", machine.memory)


def examine_pipeline(path: Path) -> Iterator[Finding]:
    """What is found of the pipeline of a configuration file."""
    patient = _Patient(path)
    yield from examine("configuration", patient.configuration)
    config = patient.config
    if config is None:
        return
    yield from examine("program", patient.program)
    yield from examine("jars", lambda: machine.jars(config))
    for key, place in (
        ("state.directory", config.state.directory),
        ("state.checkpoint_directory", config.state.checkpoint_directory),
    ):
        yield from examine("disk", partial(machine.disk, key, place))
    yield from examine("state", patient.state)
    yield from examine("server", lambda: _server(config))
    yield from examine_cluster(config, patient.last)
    if not config.formats.isdisjoint(REGISTRY_FORMATS):
        yield from examine("schema registry", lambda: _registry(config))


class _Patient:
    """A pipeline: what one check has found is what another needs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.config: Config | None = None
        self._program: CheckedProgram | None = None
        self.last: int | None = None

    def configuration(self) -> str:
        self.config = load(self._path)
        return str(self._path)

    def program(self) -> str:
        self._program = check_program(_given(self.config))
        warnings = counted(len(self._program.warnings), "warning")
        return f"{_given(self.config).rules.program}, {warnings}"

    def state(self) -> str:
        config = _given(self.config)
        refresh(config.state)
        process = holder(config.state.directory)
        lock = f"in use by process {process}" if process else "not in use"
        self.last = check_state(config, self._program)
        if self.last is None:
            return f"none yet in {config.state.directory}, {lock}"
        return (
            f"{config.state.directory} has format {FORMAT} and semantics {SEMANTICS}, "
            f"{counted(self.last + 1, 'epoch')}, {lock}"
        )


def _given(config: Config | None) -> Config:
    if config is None:
        raise AssertionError
    return config


def _server(config: Config) -> str:
    server = config.server
    if server.facts:
        require("server", "server.facts = true")
    if server.port == 0:
        return "none (server.port is 0)"
    if process := holder(config.state.directory):
        return f"not tried, as process {process} runs"
    listen(server).close()
    return f"{server.host}:{server.port} is free"


def _registry(config: Config) -> str:
    connect(config.schema_registry).close()
    return f"answers at {config.schema_registry.url}"
