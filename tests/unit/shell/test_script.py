"""Scripts and their transcripts."""

from __future__ import annotations

from transcripts import run

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.program import check_text
from streamreasoner.shell.execute import Session
from streamreasoner.shell.script import run_script

RULES = "path(?x, ?y) :- edge(?x, ?y) ."


def test_a_transcript_echoes_all_lines():
    """Comments, blank lines and multi-line commands are echoed, each before its output."""
    assert run(RULES, "# go\n\ninsert edge(1, 2),\n  edge(2, 3).\ncount edge # none\n") == (
        "> # go\n"
        "\n"
        "> insert edge(1, 2),\n"
        ">   edge(2, 3).\n"
        "> count edge # none\n"
        "0 facts\n"
        "2 updates not committed.\n"
    )


def test_a_script_stops_at_the_first_error():
    """The error is part of the transcript, and no later command runs."""
    assert run(RULES, "lst edge\ncount edge") == (
        "> lst edge\nerror: There is no command 'lst'. Did you mean 'list'?\n"
    )


def test_a_script_can_go_on_after_an_error():
    """The result still reports the error."""
    source_rules = []
    session = Session(Reasoner(check_text(RULES)))

    assert not run_script(session, ["list pth", "count edge"], source_rules.append, keep_going=True)
    assert "".join(source_rules) == (
        "> list pth\n"
        "<input>:1:6: SR211 the program has no predicate 'pth'\n"
        "  list pth\n"
        "       ^^^\n"
        "  = help: did you mean 'path'?\n"
        "> count edge\n"
        "0 facts\n"
    )


def test_a_script_ends_with_quit():
    """No command after `quit` runs."""
    assert run(RULES, "quit\nlst edge") == "> quit\n"


def test_the_folder_of_the_rules_is_where_a_script_runs(tmp_path):
    """Paths are relative to the rules, and positions name the rules without a folder."""
    (tmp_path / "rules.dl").write_text(RULES, encoding="utf-8")
    (tmp_path / "edge.csv").write_text("1,2\n", encoding="utf-8")

    assert run(tmp_path / "rules.dl", "explain path(1, 2)", "edge.csv") == (
        "edge: +1\n"
        "path: +1\n"
        "2 changes; 3 iterations\n"
        "> explain path(1, 2)\n"
        "path(1, 2)\n"
        "│ rules.dl:1: path(?x, ?y) :- edge(?x, ?y)\n"
        "└── edge(1, 2)  asserted\n"
    )
