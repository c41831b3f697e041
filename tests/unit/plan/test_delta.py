"""Delta plans: one per body atom, new before it, old after it, filters as early as possible."""

from __future__ import annotations

import pytest

from streamreasoner.plan.algebra import (
    Age,
    Antijoin,
    Arrangement,
    Delta,
    Join,
    PlanError,
    Product,
    Project,
    Scan,
    Select,
)
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.operands import Column, Comparison, Pattern, Same, Value
from streamreasoner.plan.program_plan import DeltaPlan, RulePlan
from streamreasoner.program import check_text
from streamreasoner.values.comparison import Operator

EX = "@prefix ex: <http://example.org/> .\n"
HEAD = Pattern("h", (Column("x"),))
LESS = Comparison(Column("z"), Operator.LT, Value('"1"'))


def plans(text):
    """The delta plans of a program of one stratum."""
    (stratum,) = lower(check_text(EX + text)).strata
    return stratum.plans


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("e(?y, ?o) :- l(?y, ?x), e(?x, ?p), e(?p, ?o).", ["x", None, "p"]),
        ("e(?p, ?o) :- s(?y, ?x), e(?y, ?p), e(?x, ?o).", [None, "y", "x"]),
        ("h(?x, ?w) :- e(?x, ?y), f(?y, ?z), g(?z, ?w), not n(?y).", ["y", None, "z", None]),
        # A single loop is all there is to share.
        ("h(?x, ?z) :- e(?x, ?y), e(?y, ?z).", [None, None]),
        ("h(?x, ?z) :- e(?x, ?y), e(?y, ?z), e(?z, ?y).", [None, None, None]),
        # Changes of one column that agree on it are the same fact.
        ("h(?w) :- a(?x), e(?x, ?y), e(?y, ?z), e(?z, ?w).", [None, None, None, "z"]),
        # What else of the change is read.
        ("h(?x, ?w) :- e(?x, ?y), f(?y, ?z), g(?z, ?w), ?x != ?w.", [None, None, None]),
        ("h(?x, ?w) :- e(?x, ?y), f(?y, ?z), g(?z, ?w), ?v = ?z + ?x.", [None, None, "z"]),
        # Some changes are left out before the first join.
        ("h(?x, ?w) :- e(?x, ?y), f(?y, ?z), g(?z, ?w), ?x > 1.", [None, None, "z"]),
        ("h(?x, ?w) :- t(?x, ?x, ?y), f(?y, ?z), g(?z, ?w).", [None, None, "z"]),
        # A join that only counts.
        ("h(?x, ?w) :- e(?x, ?y), f(?y, ?z), g(?z, ?w), a(_).", [None, None, None, None]),
    ],
)
def test_a_plan_whose_steps_read_one_column_shares_its_matches(rule, expected):
    """They are the same for all changes that agree on the column."""
    (stratum,) = lower(check_text(EX + rule)).strata
    assert [plan.shared_by(stratum.heads) for plan in stratum.plans] == expected


def test_every_atom_drives_a_plan_with_new_before_it_and_old_after_it():
    """Δ(A ⋈ B ⋈ C) = ΔA ⋈ old B ⋈ old C + new A ⋈ ΔB ⋈ old C + new A ⋈ new B ⋈ ΔC."""
    found = [
        (
            plan.delta.pattern.predicate,
            {join.scan.pattern.predicate: join.scan.age for join in plan.steps},
        )
        for plan in plans("h(?w, ?z) :- a(?w, ?x), b(?x, ?y), c(?y, ?z).")
    ]

    assert found == [
        ("a", {"b": Age.OLD, "c": Age.OLD}),
        ("b", {"a": Age.NEW, "c": Age.OLD}),
        ("c", {"a": Age.NEW, "b": Age.NEW}),
    ]


def test_joins_follow_bound_variables():
    """An atom that shares a variable is joined before one that does not, whatever their order."""
    plan = plans("h(?w, ?z) :- a(?w, ?x), c(?y, ?z), b(?x, ?y).")[0]

    assert [(each.predicate, each.key) for each in plan.arrangements] == [("b", (0,)), ("c", (0,))]


def test_filters_run_as_soon_as_their_columns_are_bound():
    """A comparison of one atom's variables comes before the join, one of two atoms' after it."""
    plan = plans("h(?x) :- a(?x, ?y), b(?y, ?z), ?x < 3, ?x != ?z.")[0]

    assert [type(step) for step in plan.steps] == [Select, Join, Select]


def test_arrangements_are_partial_on_constants_and_shared():
    """Two rules that look up the same triples by the same position share one arrangement."""
    found = {
        arrangement
        for plan in plans(
            "p(?x, ?z) :- e(?x, ?y), [?y, ex:knows, ?z].\n"
            "p(?x, ?z) :- p(?x, ?y), [?y, ex:knows, ?z], ?x != ?z.\n"
        )
        for arrangement in plan.arrangements
        if arrangement.predicate == "triple"
    }

    assert found == {Arrangement("triple", ((1, "<http://example.org/knows>"),), (0,))}


@pytest.mark.parametrize(
    "build",
    [
        lambda x, _: Project(Select(x, LESS), HEAD),
        lambda x, _: Project(x, Pattern("h", (Column("z"),))),
        lambda x, y: Project(Join(x, y), Pattern("h", (None,))),
        lambda x, y: DeltaPlan(Project(Join(y, x), HEAD)),
        lambda x, y: DeltaPlan(Project(Product((x, y)), HEAD)),
        lambda x, y: DeltaPlan(Project(Antijoin(x, y), HEAD)),
        lambda x, _: RulePlan(Project(Antijoin(x, Scan(Pattern("b", (None,)))), HEAD), ()),
        lambda x, _: DeltaPlan(Project(Select(x, Same("x", Column("y"))), HEAD)),
    ],
)
def test_a_plan_that_reads_what_is_not_bound_or_is_no_chain_above_a_delta_cannot_be_built(build):
    """Unbound columns, open heads and nodes that no backend has a leaf for are refused."""
    left = Delta(Pattern("a", (Column("x"), Column("y"))))
    with pytest.raises(PlanError):
        build(left, Scan(Pattern("b", (Column("z"), None)), Age.OLD))
