"""The command `explain-plan`."""

from __future__ import annotations

from inspect import signature

import pytest
from typer.testing import CliRunner

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.cli import app
from streamreasoner.engine.cost_model import explained
from streamreasoner.errors import ProgramError
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.load import load_program

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
        "== evaluating anew ==",
    ]


def test_a_stage_can_be_chosen(rules):
    """`--stage delta` prints strata and delta plans."""
    assert run(rules, "--stage", "delta").stdout.startswith("== strata ==\nS1  ")


def test_data_decide_no_plan(rules, tmp_path):
    """They add the numbers that decide what is evaluated anew, and nothing else."""
    edges = tmp_path / "edge.csv"
    edges.write_text("".join(f"{i},{i + 1}\n" for i in range(100)), encoding="utf-8")
    reasoner = Reasoner(load_program(rules))
    reasoner.load(edges)
    model = reasoner.session.engine.cost_model()

    assert not model.is_guess
    assert run(rules, "--stage", "anew").stdout.splitlines()[1:] == [*explained(None)]
    without, data = run(rules).stdout, run(rules, "--data", edges).stdout
    lines = [*explained(model)]
    assert data == without + "".join(f"{line}\n" for line in lines[len([*explained(None)]) :])
    assert f"asserted 100, derivations {model.derivations:,}" in lines
    assert list(signature(lower).parameters) == ["checked"]


def test_mistakes_of_the_user_are_errors(tmp_path):
    """Invalid rules and missing files raise their own errors."""
    wrong = tmp_path / "wrong.dl"
    wrong.write_text("p(?x) :- q(?y) .\n", encoding="utf-8")
    with pytest.raises(ProgramError):
        run(wrong)
    assert run("rho-df", "--stage", "nothing").exit_code == 2
