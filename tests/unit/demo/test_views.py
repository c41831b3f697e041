"""The views of the demo show the given totals, changes and verdict."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from streamreasoner.demo.dashboard import Dashboard, spark
from streamreasoner.demo.ontology import TYPE, name, sentence, short
from streamreasoner.demo.plain import PlainView, percentiles, summary_lines, verdict_lines
from streamreasoner.demo.tally import History, Totals
from streamreasoner.demo.university import Change, EventKind
from streamreasoner.demo.verdict import CollectionComparison, StateComparison

EQUAL = StateComparison(
    3, 0.001, (CollectionComparison("output", 5, 5, ()), CollectionComparison("trace", 9, 9, ()))
)
DIFFERENT = StateComparison(
    3, 0.001, (CollectionComparison("output", 4, 5, ("Ada a Person: 0 kept",)),)
)


@pytest.fixture(params=[(80, 24), (130, 40), (40, 10)])
def console(request):
    """A terminal of some size that records its output."""
    width, height = request.param
    return Console(file=io.StringIO(), width=width, height=height, force_terminal=True, record=True)


def drawn(dashboard, console):
    """The screen as text."""
    console.print(dashboard.render())
    return console.export_text()


def test_names_are_short():
    """Facts of the university are shortened to read like a sentence; other terms are not."""
    assert sentence((name("Ada1"), TYPE, name("Lecturer"))) == "Ada1 a Lecturer"
    assert short("<http://example.org/other>") == "<http://example.org/other>"
    assert short('"x"') == '"x"'


def test_sparks_follow_the_values():
    """The highest value has the highest bar, zero the lowest; only the last values are shown."""
    assert spark([9, 0, 1, 4], 3) == "▁▅█"
    assert spark([], 3) == ""
    assert spark([0, 0], 3) == "▁▁"


def test_history_has_a_value_per_second():
    """Several totals within a second are not counted twice."""
    history = History()
    for elapsed, updates in ((0, 0), (0.5, 10), (1, 40), (1.5, 60), (3, 80)):
        history.add(Totals(asserted_in=updates, plus=2 * updates), elapsed)

    assert list(history.updates) == [40, 20]
    assert list(history.changes) == [80, 40]


def test_percentiles_are_in_milliseconds():
    """Median and 95th percentile are shown, or dashes if there are none."""
    assert percentiles(np.array([0.1, 0.2, 0.3])) == "p50 200 ms p95 290 ms"
    assert percentiles(np.empty(0)) == "p50 - p95 -"


def test_the_verdict_is_plain():
    """It says whether both are equal, with the number of rows of each and the first differences."""
    assert "is equal to" in [*verdict_lines(EQUAL)][-1]
    assert "DIFFERS from" in [*verdict_lines(DIFFERENT)][-1]
    assert any("Ada a Person: 0 kept" in line for line in verdict_lines(DIFFERENT))


def test_plain_prints_totals_once_a_second(capsys):
    """However often totals arrive, it prints a line per second, with the rate since the last."""
    view = PlainView()
    for elapsed in (0, 0.2, 1.1, 1.5, 2.1):
        view.show(Totals(asserted_in=int(100 * elapsed)), elapsed)

    lines = capsys.readouterr().out.splitlines()
    assert [line.split("in ")[1].split("  ")[0] for line in lines] == [
        "110 (+100/s)",
        "210 (+100/s)",
    ]


def test_plain_tells_schema_changes_and_not_every_enrolment(capsys):
    """Other events are too frequent to print."""
    view = PlainView()
    view.announce(EventKind.EVERYDAY, "Ada1 leaves")
    view.announce(EventKind.SCHEMA, "Lecturer subClassOf Faculty withdrawn: 4 derived facts go")

    out = capsys.readouterr().out
    assert "schema: Lecturer subClassOf Faculty withdrawn: 4 derived facts go" in out
    assert "Ada1" not in out


def test_the_start_is_a_list_of_steps(console):
    """Each step of the start is on the screen, with its duration once it is done."""
    dashboard = Dashboard(60, console)
    dashboard.step("broker", 1.0)
    dashboard.step("broker", 3.5, 2.5)
    dashboard.step("spark", 3.5)
    dashboard.close()

    text = drawn(dashboard, console)
    assert "broker" in text
    assert "2.5 s" in text
    assert "spark" in text


def test_a_long_step_counts_its_parts(console, capsys):
    """The screen always says how many are done, and plain text every ten seconds."""
    dashboard = Dashboard(60, console)
    dashboard.step("kernels", 1.0)
    dashboard.progress("kernels", 2.0, 30, 75)
    dashboard.close()
    assert "30 of 75" in drawn(dashboard, console)

    plain = PlainView()
    for now in range(1, 32):
        plain.progress("kernels", float(now), now, 75)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "10 of 75 ...",
        "20 of 75 ...",
        "30 of 75 ...",
    ]


def test_the_newest_changes_are_at_the_bottom_of_the_screen(console):
    """If there are more changes than lines, the newest ones are shown."""
    changes = tuple(Change((f"<a:{n}>", TYPE, name("C")), 1, 0) for n in range(100))
    dashboard = Dashboard(60, console)
    dashboard.show(Totals(latest=changes, plus=100), 1)

    text = drawn(dashboard, console)
    if console.height > 20:
        assert "+ <a:99> a C" in text
    assert "<a:0> a C" not in text


def test_schema_changes_are_on_the_screen():
    """A wide terminal shows a schema change and its consequences in full."""
    console = Console(file=io.StringIO(), width=130, height=40, record=True)
    dashboard = Dashboard(60, console)
    dashboard.announce(
        EventKind.SCHEMA, "Lecturer subClassOf Faculty withdrawn: 4 derived facts go"
    )
    dashboard.show(Totals(), 1)

    assert "Lecturer subClassOf Faculty withdrawn: 4 derived facts go" in drawn(dashboard, console)


def test_the_result_is_printed_after_the_screen(console):
    """The totals of the run and the verdict remain on the terminal."""
    dashboard = Dashboard(60, console)
    result = [*verdict_lines(EQUAL)][-1]
    dashboard.conclude([*summary_lines(Totals(asserted_in=12), 60, 9.5), result], equal=True)

    text = " ".join(console.export_text().split())
    assert "12 updates in" in text
    assert "9.5 s after the start" in text
    assert result in text


def test_the_shutdown_is_announced_below_the_result(console, capsys):
    """What takes a while after the result is said before it begins."""
    dashboard = Dashboard(60, console)
    for view in (dashboard, PlainView()):
        view.conclude(["equal"], equal=True)
        view.stop("Stopping the broker.")

    for text in (console.export_text(), capsys.readouterr().out):
        assert text.split() == ["equal", "Stopping", "the", "broker."]
