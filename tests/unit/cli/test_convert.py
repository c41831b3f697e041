"""`convert`: rules in another notation."""

from __future__ import annotations

from typer.testing import CliRunner

from streamreasoner import Reasoner, Term, Update
from streamreasoner.cli import app
from streamreasoner.errors import DataError, ProgramError
from streamreasoner.program import load_program
from streamreasoner.program.checked import check_source

RULES = """@prefix ex: <http://example.org/> .
[ex:a, ex:to, ex:b] .
@rule "http://example.org/far" [?x, ex:far, ?y], [?y, ex:size, ?n * 2] :-
    ([?x, ex:to, ?y] | [?y, ex:from, ?x]), [?y, ex:n, ?n], ?n != ?x, ?n > 1, not is_iri(?n),
    not [?x, ex:near, _], not { [?x, ex:via, ?z], contains(?z, "x") }, not asserted [_, ex:q, ?x] .
"""


def convert(*arguments):
    """The result of the command."""
    return CliRunner().invoke(app, ["convert", *map(str, arguments)])


def test_rules_are_written_as_a_rule_set_and_back(tmp_path):
    """In a file or on standard output; the rule set is one, and its rules are the same program."""
    rules, rule_set = tmp_path / "rules.dl", tmp_path / "rules.srl"
    rules.write_text(RULES.replace(", not asserted [_, ex:q, ?x]", ""))
    assert convert(rules, "--to", "srl", "--output", rule_set).exit_code == 0
    text = rule_set.read_text()
    assert "DATA { ex:a ex:to ex:b }" in text
    assert text.count("RULE <http://example.org/far> {") == 4
    assert "NOT { FILTER(?n = ?x) }" in text
    back = convert(rule_set, "--to", "dl")
    assert back.exit_code == 0
    (tmp_path / "back.dl").write_text(back.output)
    assert load_program(tmp_path / "back.dl").hash == load_program(rule_set).hash


NODES = """@prefix ex: <http://example.org/> .
[blank("claim"), ex:of, ?x], [?x, ex:has, <<( blank("claim") ex:on blank("day") )>>] :-
    [?x, ex:p, ?y] .
"""


def test_new_nodes_are_those_of_a_solution_in_both(tmp_path):
    """Heads that share one stay one rule, which is written once; `_` would make more of them."""
    rules = tmp_path / "rules.dl"
    rules.write_text(f"{NODES}{NODES.partition(chr(10))[2]}")
    text = convert(rules, "--to", "srl").output
    found = []
    for program in (load_program(rules), check_source(text, "rules.srl")):
        reasoner = Reasoner(program)
        triples = [
            (f"<urn:{s}>", "<http://example.org/p>", f'"{o}"') for s, o in ("aa", "ab", "bb")
        ]
        reasoner.apply([Update("triple", tuple(map(Term.parse, each))) for each in triples])
        found.append(len(reasoner.session.engine.facts("triple")))
    assert found == [9, 9]
    rules.write_text(NODES.replace("?y]", "_]"))
    assert "SR273 SPARQL-RL does not have `_` in a rule that makes" in str(
        convert(rules, "--to", "srl").exception
    )


def test_a_rule_set_is_written_as_rules_and_back(tmp_path):
    """Its rules may derive triples of any predicate: it asks for its strata by itself."""
    rule_set, rules = tmp_path / "rules.srl", tmp_path / "rules.dl"
    rule_set.write_text("RULE { ?x ?p ?x } WHERE { ?x ?p ?y NOT { <urn:a> <urn:q> <urn:z> } }")
    for path in (rule_set, rules):
        assert convert(rule_set, "--to", "dl", "--output", rules).exit_code == 0
        back = convert(path, "--to", "srl").output

        found = check_source(back, "back.srl")
        assert {*found.rules} == {*load_program(rule_set).rules}
        assert not any(found.guarded)


def test_what_cannot_be_said_is_refused_with_its_place(tmp_path):
    """One message, with the code, the line and what to do."""
    rules = tmp_path / "rules.dl"
    rules.write_text(RULES)
    result = convert(rules, "--to", "srl")
    assert isinstance(result.exception, ProgramError)
    assert "rules.dl:5:76: SR273 SPARQL-RL does not have asserted facts that the" in str(
        result.exception
    )


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    """In one line, without a traceback."""
    rules = tmp_path / "rules.dl"
    rules.write_text(RULES)
    error = convert(rules, "--to", "dl", "--output", tmp_path / "none/rules.dl").exception

    assert isinstance(error, DataError)
    assert "none/rules.dl: cannot be written" in str(error)
