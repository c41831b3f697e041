"""Results out of range of integers and decimals have no value, wherever they are computed."""

from __future__ import annotations

from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import XSD, checked, epochs

from streamreasoner.program.checked import check_text

NUMBERS = (
    *(f'"{number}"^^<{XSD}integer>' for number in (1, 2, 3, -1, 0, 2**62, 2**63 - 1, 2**63 - 2)),
    *(f'"{number}"^^<{XSD}integer>' for number in (-(2**63), 1 - 2**63, -(2**62), 2**32, 64)),
    *(f'"{number}"^^<{XSD}decimal>' for number in (0.5, -0.5, f"{2**63 - 1}.5", f"-{2**63}.0")),
    *(f'"{number}"^^<{XSD}double>' for number in ("1E18", "1E300")),
    '"x"',
)
"""Numbers whose sums and products are in range, at its ends and out of range."""

PROGRAMS = (
    "r(?x + ?y) :- n(?x, ?y) .",
    "r(?x - ?y) :- n(?x, ?y) .",
    "r(?x * ?y) :- n(?x, ?y) .",
    "r(?x / ?y) :- n(?x, ?y) .",
    "r(?x ** ?y) :- n(?x, ?y) .",
    "r(-?x) :- n(?x, _) .\nr(abs(?y)) :- n(_, ?y) .",
    "r(?x) :- n(?x, ?y), ?x + ?y > 0 .",
    "r(?x) :- n(?x, ?y), not is_integer(?x + ?y) .",
    "r(?v) :- n(?x, ?y), ?v = ?x * 2 + ?y .",
    "r(?x, sum(?y)) :- n(?x, ?y) .",
    "r(?x, ?s + 1) :- s(?x, ?s) .\ns(?x, sum(?y)) :- n(?x, ?y) .",
    "r(?x) :- n(?x, _), not s(?x, _) .\ns(?x, sum(?y)) :- n(?x, ?y) .",
    "r(sum(?x), avg(?y), max(?y)) :- n(?x, ?y) .",
    "r(sum(?x * ?y)) :- n(?x, ?y) .",
    "r(min(?x + ?y)) :- n(?x, ?y) .",
    "r(?x, max(?y * 2)) :- n(?x, ?y) .",
    "r(?y + 1) :- m(?y) .\nm(?x * 2) :- n(?x, _) .",
    "r(?x + ?y) :- m(?x), n(?x, ?y) .\nm(?x) :- n(_, ?x) .",
    "r(?x, ?z * 2) :- n(?x, ?y), n(?y, ?z) .",
    "r(?x) :- n(?x, ?y), not m(?y + 1) .\nm(?x) :- n(?x, _) .",
    "d(?x, 0) :- n(?x, ?x) .\nd(?y, min(?d + ?y)) :- d(?x, ?d), n(?x, ?y) .",
)


@st.composite
def overflows(draw):
    """A program and epochs of large numbers."""
    number = st.sampled_from(NUMBERS)
    pairs = draw(st.lists(st.tuples(number, number), min_size=2, max_size=8))
    return draw(st.sampled_from(PROGRAMS)), draw(epochs([[("n", pair)] for pair in pairs]))


@given(overflows())
def test_a_result_out_of_range_has_no_value(scenario):
    """Every epoch succeeds, with the oracle's trace."""
    text, drawn_epochs = scenario
    program = checked(text)
    driver = Driver(program)
    for applied, epoch in enumerate(drawn_epochs, start=1):
        driver.run([epoch])

        assert driver.trace() == evaluate(program, total(drawn_epochs[:applied]))


def test_a_sum_comes_back_into_range():
    """A sum has no value while it exceeds 64 bits, and has one again afterwards."""
    greatest, unit = (f'"{number}"^^<{XSD}integer>' for number in (2**63 - 1, 1))
    driver = Driver(check_text("s(?g, sum(?x)) :- n(?g, ?x) ."))
    sums, overflows_so_far = [], []
    for fact, multiplicity in (
        (("<urn:g>", greatest), 1),
        (("<urn:g>", unit), 1),
        (("<urn:g>", unit), -1),
        (("<urn:g>", unit), 1),
        (("<urn:g>", greatest), -1),
    ):
        driver.apply([("n", fact, multiplicity)])
        sums.append([arguments[1] for predicate, arguments in driver.closure() if predicate == "s"])
        overflows_so_far.append(driver.session.engine.statistics().overflows)

    assert sums == [[greatest], [], [greatest], [], [unit]]
    assert overflows_so_far[0] == 0
    assert overflows_so_far[1] > 0


def test_a_group_without_a_result_survives_a_change_of_rules():
    """Removing and re-adding a reduction retracts nothing for a group without a result."""
    most = f'"{2**63 - 1}"^^<{XSD}integer>'
    with_sum = check_text("s(sum(?x)) :- n(?k, ?x) .\nm(?x) :- n(_, ?x) .")
    without = check_text("m(?x) :- n(_, ?x) .")
    facts = [("n", (key, most), 1) for key in ("<urn:a>", "<urn:b>")]
    driver = Driver(with_sum)
    driver.apply(facts)
    driver.change(without)
    driver.change(with_sum)

    assert driver.trace() == evaluate(with_sum, total([facts]))
    driver.apply([("n", ("<urn:a>", most), -1)])

    assert ("s", (most,)) in driver.closure()
