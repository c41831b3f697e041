"""Sizes order joins, and nothing else."""

from __future__ import annotations

import gzip

import pytest
from driver import Driver
from hypothesis import given
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import scenarios

from streamreasoner import reasoner
from streamreasoner.analysis import check_text
from streamreasoner.errors import DataError
from streamreasoner.plan.algebra import Column, Pattern, Value
from streamreasoner.plan.lower import lower
from streamreasoner.plan.sizes import estimate, key, measured

EX = "@prefix ex: <http://example.org/> .\n"
X, Y, A = Column("x"), Column("y"), Value("<http://example.org/a>")
NOTHING = frozenset()


def order(text, sizes):
    """The predicates that the plan of the first atom joins, in their order."""
    (stratum,) = lower(check_text(EX + text), sizes).strata
    return [join.pattern.predicate for join in stratum.plans[0].joins]


def test_bound_columns_and_constants_lower_an_estimate():
    """All facts if everything is open, one if nothing is, and less for each position in between."""
    sizes = {"edge": 10_000}
    everything = Pattern("edge", (X, Y))

    assert estimate(everything, NOTHING, sizes) == 10_000
    assert estimate(everything, frozenset("x"), sizes) == pytest.approx(100)
    assert estimate(Pattern("edge", (X, A)), NOTHING, sizes) == pytest.approx(100)
    assert estimate(everything, frozenset("xy"), sizes) == 1
    assert estimate(Pattern("edge", (X, A)), frozenset("x"), sizes) == 1
    assert estimate(Pattern("on", ()), NOTHING, sizes) == 1


def test_the_size_of_facts_with_constants_is_taken_where_it_is_known():
    """Told how many facts have the constants, an estimate does not guess it from the predicate."""
    pattern = Pattern("edge", (X, A))

    assert key(pattern) == "edge(_, <http://example.org/a>)"
    assert estimate(pattern, NOTHING, {"edge": 100, key(pattern): 99}) == pytest.approx(99)


def test_what_has_no_known_size_is_as_large_as_the_largest():
    """A derived predicate may hold everything."""
    assert estimate(Pattern("path", (X, Y)), NOTHING, {"edge": 7, "node": 3}) == pytest.approx(7)


def test_without_sizes_the_text_breaks_ties():
    """Two atoms with equally many bound positions are joined as they are written."""
    text = "h(?y, ?z) :- a(?x), large(?x, ?y), small(?x, ?z) ."

    assert order(text, None) == ["large", "small"]
    assert order(text, {"large": 10, "small": 10}) == ["large", "small"]


def test_the_smaller_relation_is_joined_first():
    """Expanding through a large relation waits until a small one has been through."""
    sizes = {"large": 1_000_000, "small": 10}

    assert order("h(?y, ?z) :- a(?x), large(?x, ?y), small(?x, ?z) .", sizes) == ["small", "large"]
    text = "h(?y) :- a(?x), large(?x, ?y, ?z), small(?x, ?z, ?w, ?v) ."
    assert order(text, None) == ["large", "small"]
    assert order(text, sizes) == ["small", "large"]


def test_an_atom_that_shares_no_variable_is_last_however_small():
    """A product is never cheaper than a join, because each row meets all facts."""
    sizes = {"large": 1_000_000, "tiny": 1}

    assert order("h(?y, ?z) :- a(?x), tiny(?z), large(?x, ?y) .", sizes) == ["large", "tiny"]


@given(scenarios(), st.data())
def test_sizes_do_not_change_the_trace(scenario, data):
    """Whatever sizes are told, true or not, the trace with its counts is the same."""
    names = st.sampled_from(sorted(scenario.checked.arities))
    sizes = data.draw(st.dictionaries(names, st.integers(0, 10**6)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reasoner, "lower", lambda checked: lower(checked, sizes))
        driver = Driver(scenario.checked)
    driver.run(scenario.epochs)

    assert driver.trace() == evaluate(scenario.checked, total(scenario.epochs))


def test_sizes_are_counted_in_files(tmp_path):
    """Facts are counted for every atom: all of its predicate, or those that have its constants."""
    (tmp_path / "edge.csv").write_text("<http://example.org/a>,1\n2,3\n", "utf-8")
    with gzip.open(tmp_path / "some.nt.gz", "wt") as file:
        for verb in ("p", "p", "q"):
            file.write(f"<http://example.org/s> <http://example.org/{verb}> _:o .\n")
    (tmp_path / "other.csv").write_text("1\n", "utf-8")
    plan = lower(
        check_text(EX + "h(?x) :- edge(?x, ?y), edge(ex:a, ?y), [?x, ex:p, ?y], not none(?x) .")
    )

    assert measured(plan, [tmp_path / "edge.csv", tmp_path / "some.nt.gz"]) == {
        "edge": 2,
        "edge(<http://example.org/a>, _)": 1,
        "triple(_, <http://example.org/p>, _)": 2,
    }
    assert measured(plan, [tmp_path / "other.csv"]) == {}


def test_a_file_that_is_not_there_is_one_message(tmp_path):
    """What cannot be counted is refused."""
    plan = lower(check_text(EX + "h(?x) :- edge(?x, _) ."))
    with pytest.raises(DataError, match="edge"):
        measured(plan, [tmp_path / "edge.csv"])
