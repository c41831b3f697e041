"""Golden plans: what `explain-plan` prints of a program, from its rules to its arrangements."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from programs.cases import read_all

from streamreasoner.plan import algebra
from streamreasoner.plan.lower.lowering import stages
from streamreasoner.plan.lower.steps import STEPS
from streamreasoner.plan.print.plans import explain_plan
from streamreasoner.plan.rewrite import REWRITES

GOLDEN = {name: case for name, case in read_all().items() if (case.folder / "plan.txt").exists()}
NODES = (
    algebra.Scan,
    algebra.Product,
    algebra.Join,
    algebra.Select,
    algebra.Antijoin,
    algebra.Extend,
    algebra.Project,
    algebra.Incomplete,
    algebra.Union,
    algebra.Reduce,
)
LINES = (
    "Δ ", "Δ not ", "for old ", "for new ", "if old ", "if new ", "if not old ", "if not new ",
    "let ", "if \\?", "derive ",
)  # fmt: skip
SECTIONS = (
    "rules", "strata", "lowering", "delta plans", "arrangements", "lattices", "reductions",
    "hidden predicates",
)  # fmt: skip


@pytest.mark.parametrize("case", GOLDEN.values(), ids=GOLDEN.keys())
def test_the_plan_is_the_golden_one(case):
    """A plan changes only when its golden file does: see `rewrite_plans.py`."""
    assert explain_plan(case.checked) == (case.folder / "plan.txt").read_text("utf-8")


def test_golden_plans_have_every_kind_of_node():
    """Each node of the algebra, each line of a delta plan and each section is in some plan."""
    texts = "".join((case.folder / "plan.txt").read_text("utf-8") for case in GOLDEN.values())

    for node in NODES:
        assert re.search(rf"^ *{node.__name__}\b", texts, re.MULTILINE)
    for line in LINES:
        assert re.search(rf"^ *{line}", texts, re.MULTILINE)
    for section in SECTIONS:
        assert f"== {section} ==\n" in texts


def test_every_step_and_rewrite_changes_a_golden_plan():
    """No step of lowering is idle: each has a rule in a golden program that it changes."""
    idle = {*STEPS, *REWRITES}
    for case in GOLDEN.values():
        for rule in case.checked.rules:
            trees = list(stages(rule))
            idle -= {after.step for before, after in pairwise(trees) if after.tree != before.tree}

    assert idle == set()
