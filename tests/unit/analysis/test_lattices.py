"""Aggregated heads that can be the same fact."""

from __future__ import annotations

import pytest

from streamreasoner.analysis.lattices import lattice_clashes
from streamreasoner.analysis.strata.dependency import Through, dependencies
from streamreasoner.lang.normal_form import is_lattice
from streamreasoner.lang.parser import parse

EX = "@prefix ex: <http://example.org/> .\n"


def heads(*texts):
    """Rules with these heads and one body."""
    text = "".join(f"{head} :- e(?x, ?y, ?n) .\n" for head in texts)
    return parse(EX + text).rules


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("d(?x, min(?n))", True),
        ("d(max(?n))", True),
        ("[?x, ex:d, min(?n)]", True),
        ("d(?x, min(?n, 5))", False),
        ("d(?x, count(?n))", False),
        ("d(?x, min(?n), max(?n))", False),
        ("d(?x, min(?n), count(?n))", False),
        ("d(?x, ?n)", False),
    ],
)
def test_a_min_or_max_on_its_own_is_a_lattice(head, expected):
    """Only a head with a single aggregate, which is min or max, is a lattice."""
    (rule,) = heads(head)

    assert is_lattice(rule.head) is expected


def test_only_lattices_see_facts_of_their_own_stratum():
    """All other aggregates need lower strata to be complete."""
    lattice, both, total = heads("d(min(?n))", "d(min(?n), max(?n))", "d(sum(?n))")
    source = parse("e(?x, ?y, ?n) :- f(?x, ?y, ?n) .").rules[0]

    for rule, through in (
        (lattice, Through.ATOM),
        (both, Through.AGGREGATE),
        (total, Through.AGGREGATE),
    ):
        assert dependencies((rule, source))[0][0].through is through


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("d(?x, min(?n))", "d(?x, min(?n + 1))", True),
        ("d(?x, min(?n))", "d(?y, ?n)", True),
        ("d(?x, min(?n))", "d(ex:a, 0)", True),
        ("d(?x, min(?n))", "d(?x, max(?n))", False),
        ("d(?x, min(?n))", "d(min(?n), ?x)", False),
        ("d(?x, min(?n))", "d(?x, count(?n))", False),
        ("d(?x, min(?n))", "d(min(?x), max(?n))", False),
        ("d(?x, min(?n))", "d(ex:a, min(?n))", False),
        ("d(ex:a, min(?n))", "d(ex:a, min(?n))", True),
        ("d(ex:a, min(?n))", "d(ex:b, max(?n))", True),
        ("[?x, ex:d, min(?n)]", "[?x, ex:e, max(?n)]", True),
        ("[?x, ex:d, min(?n)]", "[?x, ?y, min(?n)]", False),
        ("[?x, ex:d, min(?n)]", "[?x, ?y, ?n]", True),
        ("d(?x, count(?n))", "d(?x, sum(?n))", True),
        ("d(?x, count(?n))", "d(?x, count(distinct ?n))", True),
    ],
)
def test_lattices_that_unify_must_agree(one, other, agree):
    """A fact is in one group, so unifying heads agree in function, position and constants."""
    for rules in (heads(one, other), heads(other, one)):
        assert [item.code for item in lattice_clashes(rules, {})] == ([] if agree else ["SR234"])


def test_each_head_is_reported_once():
    """A head that disagrees with several others is reported once, at the later head."""
    found = list(lattice_clashes(heads("d(min(?n))", "d(min(?y))", "d(max(?n))"), {}))

    assert [item.span.line for item in found] == [4]
