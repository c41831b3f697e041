"""Parts in other processes: what they know of terms, and how they fail."""

from __future__ import annotations

import pytest
from driver import Driver
from oracle.arithmetic import numeral
from teams import store_elsewhere

from streamreasoner.backends.parts import wire
from streamreasoner.engine.ports import BudgetSpentError
from streamreasoner.errors import DictionaryFullError, MultiplicityOverflowError, PartsLostError
from streamreasoner.program import check_text

STEPS = "at(?y, ?n) :- at(?x, ?m), e(?x, ?y), ?n = ?m + 1 . far(?x) :- at(?x, ?n), ?n > 5 ."
CLOSURE = "p(?x, ?y) :- e(?x, ?y) . p(?x, ?z) :- p(?x, ?y), e(?y, ?z) ."


def edges(*starts, multiplicity=1):
    """Updates of edges of a chain."""
    return [("e", (numeral(x), numeral(x + 1)), multiplicity) for x in starts]


def test_a_term_of_one_part_is_known_to_the_others():
    """Heads bring terms that another part has made; they are compared and computed with."""
    one, other = (Driver(check_text(STEPS), store=store) for store in (None, store_elsewhere(3)))
    start = [("at", (numeral(0), numeral(100_000)), 1)]
    for epoch in (edges(*range(40)), start, edges(7, multiplicity=-1)):
        one.apply(epoch)
        other.apply(epoch)
        assert other.trace() == one.trace()


def test_an_error_of_a_part_undoes_the_epoch():
    """All parts exchange what they have, whichever fails, and go on after that."""
    driver = Driver(check_text(CLOSURE), store=store_elsewhere(3))
    driver.apply(edges(*range(10)))
    before = driver.trace()
    with pytest.raises(MultiplicityOverflowError, match="2\\^58"):
        driver.apply(edges(3, multiplicity=1 << 58))
    assert driver.trace() == before
    driver.apply(edges(*range(10), multiplicity=-1))
    assert not driver.trace()


def test_a_lost_process_is_an_error():
    """Whatever is asked then, the state is said to be restored, and nothing hangs."""
    driver = Driver(check_text(CLOSURE), store=store_elsewhere(2))
    driver.apply(edges(1))
    driver.session.engine._backend.processes[0].kill()  # noqa: SLF001 - nothing else has it
    for _ in range(2):
        with pytest.raises(PartsLostError, match="restored from its tables"):
            driver.apply(edges(2))


@pytest.mark.parametrize("steps", range(1, 7))
def test_a_process_that_is_lost_in_a_change_of_the_program_is_an_error(steps, monkeypatch):
    """Whichever step it does not take."""
    driver = Driver(check_text(CLOSURE), store=store_elsewhere(2))
    driver.apply(edges(*range(10)))
    backend = driver.session.engine._backend  # noqa: SLF001 - nothing else has it
    team, left = backend.parts._team, [*range(steps)]  # noqa: SLF001 - as above
    call = team.call_each

    def call_each(step, arguments):
        if left and not left.pop():
            backend.processes[1].kill()
        return call(step, arguments)

    monkeypatch.setattr(team, "call_each", call_each)
    with pytest.raises(PartsLostError, match="restored from its tables"):
        driver.change(check_text("q(?y, count(?x)) :- e(?x, ?y) . " + CLOSURE.replace("e(", "q(")))


def test_the_next_state_has_processes_that_live():
    """Also if one was killed the moment before its state was left."""
    for _ in range(5):
        driver = Driver(check_text(CLOSURE), store=store_elsewhere(2))
        driver.apply(edges(1))
        driver.session.engine._backend.processes[0].kill()  # noqa: SLF001 - nothing else has it
        del driver


@pytest.mark.parametrize(
    "error",
    [MultiplicityOverflowError(), DictionaryFullError("x"), BudgetSpentError(), ValueError("x")],
)
def test_an_error_is_sent_as_it_is(error):
    """Also one that could not be made again from what it was made of."""
    kind, message = wire.described(error)
    again = wire.again((kind, message))
    assert str(error) in str(again)
    assert isinstance(again, RuntimeError if type(error) is ValueError else type(error))
