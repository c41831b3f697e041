"""Stopping a long-running command: either signal is Ctrl-C, and only while it runs."""

from __future__ import annotations

import signal
from contextlib import ExitStack

import pytest

from streamreasoner.system.interrupts import interruptible

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(params=[signal.SIG_IGN, signal.SIG_DFL])
def handler(request):
    """How both signals are handled before: a shell ignores SIGINT for background commands."""
    before = {number: signal.signal(number, request.param) for number in SIGNALS}
    yield request.param
    for number, previous in before.items():
        signal.signal(number, previous)


@pytest.mark.parametrize("number", SIGNALS)
def test_both_signals_interrupt_and_clean_up(handler, number):
    """What is cleaned up on the way out is; then the signals are handled as before."""
    stopped = ExitStack()
    left = []
    stopped.callback(left.append, number)
    with pytest.raises(KeyboardInterrupt), interruptible(), stopped:
        signal.raise_signal(number)

    assert left == [number]
    assert [signal.getsignal(each) for each in SIGNALS] == [handler] * 2


def test_without_a_signal_nothing_happens(handler):
    """Handlers are restored after a result and after another error."""
    with interruptible():
        assert signal.getsignal(signal.SIGTERM) != handler
    with pytest.raises(ZeroDivisionError), interruptible():
        1 / 0  # noqa: B018 - any error will do

    assert [signal.getsignal(each) for each in SIGNALS] == [handler] * 2
