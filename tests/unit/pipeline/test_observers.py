"""Observers as one: every event reaches each of them, and does nothing where it is not observed."""

from __future__ import annotations

import inspect

import pytest

from streamreasoner.io.observer import Observers, PipelineObserver, timed

EVENTS = [
    name
    for name, _ in inspect.getmembers(PipelineObserver, inspect.isfunction)
    if not name.startswith("_")
]


class Recorder:
    """Records what is called on it, whatever it is."""

    def __init__(self, name, calls):
        self.name, self.calls = name, calls

    def __getattr__(self, event):
        return lambda *arguments, **named: self.calls.append((self.name, event, arguments, named))


class Silent(PipelineObserver):
    """Observes no event."""


def arguments_of(event):
    """A different argument for each parameter of an event."""
    parameters = list(inspect.signature(getattr(PipelineObserver, event)).parameters)[1:]
    return {name: object() for name in parameters}


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_reaches_each_observer_in_order(event):
    """Its arguments are those of the caller, by position or by name."""
    calls, given = [], arguments_of(event)
    observers = Observers(Recorder("first", calls), Silent(), Recorder("last", calls))

    getattr(observers, event)(*given.values())
    getattr(observers, event)(**given)

    assert calls == [
        (name, event, *passed)
        for passed in ((tuple(given.values()), {}), ((), given))
        for name in ("first", "last")
    ]


def test_a_stage_that_fails_is_not_reported():
    """The time that a stage took is reported once it has ended."""
    calls = []
    observers = Observers(Recorder("only", calls))

    with pytest.raises(ValueError, match="no"), timed(observers, "store"):
        raise ValueError("no")
    with timed(observers, "publish"):
        assert calls == []

    [(_, event, (stage, seconds), _)] = calls
    assert (event, stage, seconds > 0) == ("stage", "publish", True)
