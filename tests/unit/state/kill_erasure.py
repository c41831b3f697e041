"""Erase a term, and die at each durable write: `kill_erasure.py STATE COPIES STEP`.

Each child works on a copy of the state of its own, and kills itself at one flush or deletion: the
number STEP, twice STEP and so on. Prints the copies.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

from streamreasoner.state.erasure.request import Request, used_ids
from streamreasoner.state.erasure.steps import erase
from streamreasoner.state.erasure.stopped import StoppedState

state, copies, step = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
request = Request(terms=("<http://example.org/anna>",))


def run(tables, last):
    """Erase the term."""
    stopped = StoppedState.open(tables, "test-application", (last, last))
    for _ in erase(stopped, request, used_ids(stopped, request), [tables.parent / "spark"]):
        pass


def dying(function, countdown):
    """The function, which kills the process when it has been called often enough."""

    def call(*args, **named):
        countdown[0] -= 1
        if countdown[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **named)

    return call


number = step
while True:
    place = copies / str(number)
    shutil.copytree(state, place)
    child = os.fork()
    if child == 0:
        left = [number]
        os.fsync, os.unlink, os.link = (dying(f, left) for f in (os.fsync, os.unlink, os.link))
        run(place / "tables", int(sys.argv[4]))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status == 0:
        break
    assert os.WIFSIGNALED(status), status
    sys.stdout.write(f"{place}\n")
    sys.stdout.flush()
    number += step
