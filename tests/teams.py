"""Teams of processes that hold parts: real ones, each of which serves one state after the other."""

from __future__ import annotations

import atexit
import gc
import secrets
import subprocess
import sys
import threading
import weakref
from functools import partial

from streamreasoner.backends.parts import wire
from streamreasoner.backends.parts.backend import PartsBackend
from streamreasoner.backends.parts.elsewhere import PartsElsewhere, Team
from streamreasoner.backends.parts.here import parts_here
from streamreasoner.backends.parts.worker import serve
from streamreasoner.backends.store import divided_elsewhere
from streamreasoner.engine.session import Store
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.value_columns import Values

HOST = "127.0.0.1"
_SERVE = """
import sys
from contextlib import suppress
from streamreasoner.backends.parts import wire
from streamreasoner.backends.parts.worker import serve
print("free", flush=True)
for line in sys.stdin:
    port, key = line.split()
    with suppress(*wire.LOST):
        serve((sys.argv[2], int(port)), bytes.fromhex(key), int(sys.argv[1]), sys.argv[2])
    print("free", flush=True)
"""
_free = {}
"""Processes without a state, by the number of parts."""


class Processes:
    """Processes for a number of parts."""

    def __init__(self, count):
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-c", _SERVE, str(number), HOST],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(count)
        ]
        atexit.register(self.end)

    def wait(self):
        """Wait until each has left its earlier state, or has ended; whether all of them live."""
        return all(process.stdout.readline() for process in self.processes)

    def team(self, dictionary):
        """A team of them; they are free again when it is closed."""
        key, count = secrets.token_bytes(16), len(self.processes)
        with wire.listen(HOST, key, count) as listener:
            for process in self.processes:
                process.stdin.write(f"{wire.port(listener)} {key.hex()}\n")
                process.stdin.flush()
            return Team.gathered(listener, count, dictionary)

    def end(self):
        """Stop them."""
        for process in self.processes:
            process.kill()
            process.wait()


def store_elsewhere(count, kind=PartsBackend, **options):
    """A store whose state is in other processes."""
    gc.collect()  # earlier states are in circles, and hold processes
    dictionary = Dictionary()

    def backend(plan):
        processes = _free_ones(count)
        team = processes.team(dictionary)
        place = partial(PartsElsewhere, team)
        made = kind(plan, dictionary, place, **options)
        made.processes = processes.processes
        weakref.finalize(made, _release, team, processes)
        return made

    return Store(dictionary, backend)


def store_here(count, kind=PartsBackend):
    """A store whose state is in parts of this process."""
    gc.collect()  # earlier states are in circles, and hold address space
    dictionary = Dictionary()
    place = parts_here(dictionary, Values(dictionary), count)
    return Store(dictionary, lambda plan: kind(plan, dictionary, place))


def backend_in_threads(plan, dictionary, count=2):
    """A backend whose parts are in threads, over the same connections as in processes."""
    key = secrets.token_bytes(16)
    with wire.listen(HOST, key, count) as listener:
        for number in range(count):
            driver = HOST, wire.port(listener)
            threading.Thread(target=serve, args=(driver, key, number, HOST), daemon=True).start()
        team = Team.gathered(listener, count, dictionary)
    made = divided_elsewhere(team, dictionary).backend(plan)
    weakref.finalize(made, team.close)
    return made


def _free_ones(count):
    free = _free.setdefault(count, [])
    while free:
        processes = free.pop()
        if processes.wait():
            return processes
        processes.end()
    processes = Processes(count)
    assert processes.wait()
    return processes


def _release(team, processes):
    team.close()
    _free[len(team)].append(processes)
