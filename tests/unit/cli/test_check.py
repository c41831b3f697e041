"""The command `check`."""

from __future__ import annotations

import pytest
import typer

from streamreasoner.cli.offline.check import check


def test_a_correct_program_gives_one_line(capsys):
    """The summary counts rules, strata, predicates and warnings."""
    check("rho-df")

    assert capsys.readouterr().out == "rho-df.dl: 6 rules, 1 stratum, 1 predicate, 0 warnings\n"


def test_facts_and_imports_are_counted_where_there_are_any(capsys):
    """Rules and facts are those of all files, each fact once."""
    check('@import "rho-df" .\n@output p .\np(1), p(1), p(2) .\np(?x) :- [?x, _, _] .')

    assert capsys.readouterr().out == (
        "<rules>: 1 import, 2 facts, 7 rules, 2 strata, 2 predicates, 0 warnings\n"
    )


def test_the_triples_of_a_rule_set_are_facts(capsys, tmp_path):
    """What DATA states is not a rule, although it is derived."""
    path = tmp_path / "policy.srl"
    path.write_text(
        "DATA { <a:a> <a:b> 1, 2 . <a:c> <a:b> 3 } RULE { ?x <a:d> 1 } WHERE { ?x <a:b> ?y }"
    )
    check(str(path))

    assert capsys.readouterr().out.startswith(f"{path}: 3 facts, 1 rule, ")


def test_warnings_go_to_standard_error(capsys):
    """A warning is printed, and the program is accepted."""
    check("node(?x) :- edge(?x, ?y) .")
    captured = capsys.readouterr()

    assert captured.out == "<rules>: 1 rule, 1 stratum, 3 predicates, 1 warning\n"
    assert captured.err.startswith("<rules>:1:22: SR501 ")


def test_mistakes_go_to_standard_error_and_exit_with_one(capsys, tmp_path):
    """The output is the message of the error."""
    path = tmp_path / "wrong.dl"
    path.write_text("path(?x) :- edge(?y) .\n", encoding="utf-8")

    with pytest.raises(typer.Exit) as caught:
        check(str(path))

    assert caught.value.exit_code == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{path}:1:6: SR201 ")
