"""Checked programs: normal form, arities, hash and diagnostics."""

from __future__ import annotations

import pytest

from streamreasoner import rulesets
from streamreasoner.errors import ProgramError
from streamreasoner.lang.parser import parse
from streamreasoner.lang.printer import print_literal, print_rule
from streamreasoner.program import check, check_text, load_program

PATH = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) .\n"


def test_normal_form_has_one_head_and_no_disjunction():
    """There is a rule for each pair of head and alternative, in the order of the text."""
    checked = check_text("p(?x), q(?x) :- a(?x), (b(?x) | c(?x), (d(?x) | e(?x))) .")

    assert [print_rule(rule) for rule in checked.rules] == [
        "p(?x) :- a(?x), b(?x) .",
        "p(?x) :- a(?x), c(?x), d(?x) .",
        "p(?x) :- a(?x), c(?x), e(?x) .",
        "q(?x) :- a(?x), b(?x) .",
        "q(?x) :- a(?x), c(?x), d(?x) .",
        "q(?x) :- a(?x), c(?x), e(?x) .",
    ]


def test_every_predicate_has_an_arity():
    """Predicates of rules and directives have one, and `triple` always does."""
    checked = check_text("@input weight/3, edge .\n@output path .\n" + PATH)

    assert dict(checked.arities) == {"triple": 3, "weight": 3, "path": 2, "edge": 2}
    assert checked.inputs == ("weight", "edge")
    assert checked.outputs == ("path",)


def test_facts_are_no_rules():
    """Facts are ground atoms, each once, in the order of the text; strata contain only rules."""
    checked = check_text("q(2), q(1) .\np(?x) :- q(?x) .\nr() .\nq(2) .")

    assert [print_literal(fact) for fact in checked.facts] == ["q(2)", "q(1)", "r()"]
    assert [print_rule(rule) for rule in checked.rules] == ["p(?x) :- q(?x) ."]
    assert checked.strata == ((0,),)
    assert dict(checked.arities) == {"triple": 3, "q": 1, "p": 1, "r": 0}


def test_the_arity_of_quads_is_known():
    """A declaration of `quad` needs no arity; if nothing names `quad`, it is not a predicate."""
    assert dict(check_text("@input quad .").arities) == {"triple": 3, "quad": 4}
    assert "quad" not in check_text(PATH).arities


def test_facts_belong_to_the_hash():
    """Another fact changes the hash, another order of the same facts does not."""
    assert check_text("p(1) . p(2) .").hash == check_text("p(2), p(1), p(1) .").hash
    assert check_text("p(1) . p(2) .").hash != check_text("p(1) .").hash


def test_the_hash_is_that_of_the_meaning():
    """Comments, prefixes, white space and order of rules do not change it; a constant does."""
    first, second = PATH.splitlines(keepends=True)
    same = f"@prefix ex: <http://example.org/> . # comment\n{second}\n{first}"

    assert check_text(PATH).hash == check_text(same).hash
    assert check_text(PATH).hash != check_text(PATH.replace("?z", "?x")).hash
    assert check_text(PATH).hash != check_text("@input weight/3 .\n" + PATH).hash
    assert len(check_text("").hash) == 64


def test_checking_a_parsed_program_is_checking_its_text():
    """`check(parse(text))` equals `check_text(text)`."""
    assert check(parse(PATH)) == check_text(PATH)


def test_errors_carry_their_diagnostics():
    """A ProgramError has the diagnostics as values, and their rendering as its message."""
    with pytest.raises(ProgramError) as caught:
        check_text("p(?x) :- q(?y) .\nq(?x, ?y) :- r(?x, ?y) .", "x.dl")

    assert [item.code for item in caught.value.diagnostics] == ["SR201", "SR210"]
    assert str(caught.value).startswith("x.dl:1:3: SR201 ")


@pytest.mark.parametrize("name", rulesets.names())
def test_packaged_rulesets_are_free_of_warnings(name):
    """A ruleset is found by its name and has no diagnostics."""
    assert load_program(name).warnings == ()


def test_rulesets_have_the_rules_of_their_specification():
    """ρDF has six rules; RDFS has the fourteen patterns that do not inspect literals."""
    for name, count in (("rho-df", 6), ("rdfs", 14)):
        checked = load_program(name)
        assert len(checked.rules) == count
        assert len(checked.strata) == 1
        assert dict(checked.arities) == {"triple": 3}
    with pytest.raises(KeyError):
        rulesets.text("owl")


def test_rules_are_given_as_path_name_or_text(tmp_path):
    """All three give the same program."""
    path = tmp_path / "my rules.dl"
    path.write_text("\ufeff" + PATH, encoding="utf-8")

    assert load_program(path) == load_program(PATH) == load_program(str(path))
    assert load_program(path).program.source == str(path)
    assert load_program("").rules == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("rho_df", "There is no ruleset and no rule file 'rho_df'. Did you mean 'rho-df'?"),
        (
            "nonsense",
            "rdfs, rdfs-axioms, rdfs-datatypes, rho-df; a rule file is given by its path.",
        ),
        ("missing/rules.dl", "There is no rule file 'missing/rules.dl'."),
        (".", "Rule file '.' cannot be read: Is a directory."),
    ],
)
def test_rules_that_cannot_be_found_give_one_message(given, words):
    """The message lists the rulesets, and suggests a similar name."""
    with pytest.raises(ProgramError) as caught:
        load_program(given)

    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_text_gives_one_message(tmp_path):
    """Bytes that are not UTF-8 are reported with their position."""
    path = tmp_path / "rules.dl"
    path.write_bytes(b"p(1) . \xff")

    with pytest.raises(ProgramError, match=r"is not UTF-8 text \(byte 7\)"):
        load_program(path)
