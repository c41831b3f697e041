"""The command `explain-plan`."""

from __future__ import annotations

from inspect import signature

import pytest
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import ProgramError
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.print.plans import explain_plan

RULES = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"


def run(*arguments):
    """The command's result; errors of the user reach the caller."""
    return CliRunner().invoke(app, ["explain-plan", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def rules(tmp_path):
    """A file of rules."""
    path = tmp_path / "rules.dl"
    path.write_text(RULES, encoding="utf-8")
    return path


def test_all_stages_are_printed(rules):
    """Without options, every non-empty section is printed."""
    result = run(rules)

    assert result.exit_code == 0
    names = [line for line in result.stdout.splitlines() if line.startswith("==")]
    assert names == [
        "== rules ==",
        "== strata ==",
        "== lowering ==",
        "== delta plans ==",
        "== arrangements ==",
    ]


def test_a_stage_can_be_chosen(rules):
    """`--stage delta` prints strata and delta plans."""
    assert run(rules, "--stage", "delta").stdout.startswith("== strata ==\nS1  ")


def test_no_option_prints_plans_that_do_not_run(rules):
    """There is no option for file sizes: they would order joins differently than the engine."""
    assert run(rules, "--data", rules).exit_code == 2
    assert [*signature(lower).parameters, "stage"] == list(signature(explain_plan).parameters)


def test_mistakes_of_the_user_are_errors(tmp_path):
    """Invalid rules and missing files raise their own errors."""
    wrong = tmp_path / "wrong.dl"
    wrong.write_text("p(?x) :- q(?y) .\n", encoding="utf-8")
    with pytest.raises(ProgramError):
        run(wrong)
    assert run("rho-df", "--stage", "nothing").exit_code == 2
