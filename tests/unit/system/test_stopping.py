"""A request to end a process is never lost, whatever the process does when it comes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from streamreasoner.system.interrupts import interruptible, interrupts_return
from streamreasoner.system.stopping import SIGNALS, Stop, StopRequestedError, on_signals


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_in_a_destructor_is_a_request(number):
    """Python drops what a destructor raises; the request is made all the same."""
    noticed = threading.Event()

    class Held:
        """Something that is freed."""

    with on_signals() as stop:
        stop.running(noticed.set)
        held = Held()
        reference = weakref.ref(held, lambda _: signal.raise_signal(number))
        del held
        assert noticed.wait(60)
        assert reference() is None
        with pytest.raises(StopRequestedError):
            stop.check()


def test_what_runs_is_ended_once_whenever_the_request_comes():
    """Before the start is done, it is ended as soon as it is; later, at once; never twice."""
    ended = []
    early = Stop()
    early.request()
    early.running(lambda: ended.append("early"))
    late = Stop()
    late.running(lambda: ended.append("late"))
    late.request()
    late.request()

    assert ended == ["early", "late"]
    assert early.requested
    assert late.requested


def test_waiting_for_a_part_of_a_start_ends():
    """A part that is never done is not waited for; one that is done or fails says so."""
    stop = Stop()
    with ThreadPoolExecutor(1) as executor:
        assert stop.result(executor.submit(int, "3")) == 3
        with pytest.raises(ValueError, match="invalid literal"):
            stop.result(executor.submit(int, "x"))
        waiting = executor.submit(stop.result, Future())
        stop.running(lambda: None)
        stop.request()
        with pytest.raises(StopRequestedError):
            waiting.result()


def test_handlers_are_as_before_afterwards():
    """Only what runs within it is asked by signals."""
    before = [signal.getsignal(number) for number in SIGNALS]
    with on_signals():
        assert [signal.getsignal(number) for number in SIGNALS] != before

    assert [signal.getsignal(number) for number in SIGNALS] == before


STUCK = """
import ctypes, os, signal
from streamreasoner.system import stopping

stopping.GRACE_SECONDS = 0.1
with stopping.on_signals() as stop:
    stop.starting()
    os.kill(os.getpid(), signal.SIGTERM)
    ctypes.CDLL(None).pause()
    while True:
        pass
"""


def test_a_start_that_does_not_look_ends():
    """A start that is inside a library, or in a loop, does not keep the process."""
    ended = subprocess.run([sys.executable, "-c", STUCK], timeout=300, check=False)

    assert ended.returncode == 0


EARLY = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it in the background
sys.argv = ["streamreasoner", "{command}"]
import streamreasoner.cli
streamreasoner.cli.main = lambda: signal.raise_signal(signal.{name})
from streamreasoner.__main__ import main
main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("command", ["run", "serve", "broker", "check"])
def test_a_service_that_is_ended_while_it_is_imported_exits_with_0(command, name):
    """It has not begun. Another command has not done what it was asked for, so it fails."""
    text = EARLY.format(command=command, name=name)
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, check=False)

    assert (ended.returncode == 0) == (command != "check")


def test_an_interrupt_that_python_drops_is_raised_again():
    """The command ends, although a destructor was running when the interrupt came."""

    class Held:
        """Something that is freed."""

        def __del__(self):
            raise KeyboardInterrupt

    def command():
        held = Held()
        del held
        threading.Event().wait(60)

    with pytest.raises(KeyboardInterrupt), interrupts_return(), interruptible():
        command()
