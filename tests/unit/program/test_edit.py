"""Statements added to a program and removed from it: a removal undoes an addition."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from streamreasoner.errors import ProgramError
from streamreasoner.lang.ast import Prefix
from streamreasoner.program.checked import check_text
from streamreasoner.program.edit import canonical_program, with_rules, without_rules
from streamreasoner.program.text import canonical_text

BASE = """
@prefix ex: <http://example.org/> .
@input parent/2 .
@output ancestor .
ancestor(?x, ?y) :- parent(?x, ?y) .
ancestor(?x, ?z) :- ancestor(?x, ?y), parent(?y, ?z) .
"""
MORE = {
    "output": "root(?x) :- parent(?x, _), not parent(_, ?x) .\n@output root .",
    "output with another": "@output root, ancestor .\nroot(?x) :- parent(?x, _) .",
    "output of its base": "@output parent .\nroot(?x) :- parent(?x, _) .",
    "input": "@input age/2 .\nold(?x) :- age(?x, ?n), ?n > 60 .",
    "hidden": "@hidden step .\nstep(?x) :- parent(?x, _) .\nfar(?x) :- step(?x) .",
    "constraint": '@message odd(?x) "{?x} is odd" .\n!odd(?x) :- parent(?x, ?x) .',
    "columns": "@columns odd(?number) .\nodd(?x) :- parent(?x, ?x) .",
    "rule with a name": '@rule "up" up(?y, ?x) :- parent(?x, ?y) .',
    "facts": "limit(10) .\nlimit(10) .\nbound(2 * 5) .",
    "rule twice": "up(?y, ?x) :- parent(?x, ?y) .\nup(?y, ?x) :- parent(?x, ?y) .",
    "prefix": "@prefix ex: <http://example.com/> .\nnear(?x) :- parent(ex:a, ?x) .",
    "aggregate": "@output children .\nchildren(?x, count(?y)) :- parent(?x, ?y) .",
    "declared alone": "@input other/3 .\n@output other .",
}
TEXTS = pytest.mark.parametrize("more", MORE.values(), ids=MORE.keys())


def whole(program):
    """A program as a pipeline has it: one text."""
    return canonical_program(program, "program in effect")


PLACES = pytest.mark.parametrize("place", [lambda each: each, whole])


def text(program):
    """What a program says, however it is abbreviated."""
    [one] = whole(program).programs
    directives = tuple(each for each in one.directives if not isinstance(each, Prefix))
    return canonical_text([replace(one, directives=directives)])


@TEXTS
@PLACES
def test_a_removal_undoes_an_addition_however_often_it_was_made(more, place):
    """Added once or twice it is there once, and removed once it is gone, as if never added."""
    base = check_text(BASE)
    once = place(with_rules(base, more, "more.dl"))
    twice = place(with_rules(once, more, "more.dl"))

    assert text(twice) == text(once) != text(base)
    assert text(place(without_rules(twice, more, "more.dl"))) == text(base)


@TEXTS
def test_what_is_gone_is_not_removed_again(more):
    """The second removal names what is missing, and changes nothing."""
    gone = without_rules(with_rules(check_text(BASE), more, "more.dl"), more, "more.dl")
    with pytest.raises(ProgramError, match=r"The program has no such (rule|declaration):\n  "):
        without_rules(gone, more, "more.dl")


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_texts_are_removed_in_any_order(order):
    """What is left is what the others say, whichever goes first."""
    texts = [
        "root(?x) :- parent(?x, _), not parent(_, ?x) .\n@output root .",
        "late(?x) :- root(?x) .\n@output late .\n@hidden root .",
        "@output root, leaf .\nleaf(?x) :- parent(_, ?x), not parent(?x, _) .",
    ]
    program = check_text(BASE)
    for each in texts:
        program = whole(with_rules(program, each, "more.dl"))
    for number in order:
        program = whole(without_rules(program, texts[number], "more.dl"))

    assert text(program) == text(check_text(BASE))


def test_a_declared_predicate_without_rules_keeps_what_is_published():
    """Without the declaration, everything else would be published at once."""
    rule = "ancestor(?x, ?y) :- parent(?x, ?y) .\n"
    program = check_text(f"@output ancestor .\n{rule}other(?x) :- parent(?x, _) .")
    left = whole(without_rules(program, rule, "rule.dl"))

    assert left.outputs == ("ancestor",)
    assert left.arities["ancestor"] == 2
    assert text(whole(with_rules(left, f"@output ancestor .\n{rule}", "rule.dl"))).count("@") == 1


def test_a_declaration_is_removed_alone():
    """A text without rules is about its declarations, whatever rules their predicates have."""
    program = check_text(BASE)
    added = whole(with_rules(program, "@output parent .", "more.dl"))

    assert added.outputs == ("ancestor", "parent")
    assert without_rules(added, "@output ancestor .", "more.dl").outputs == ("parent",)
    assert without_rules(program, "@output ancestor .", "more.dl").outputs == ()


def test_a_ruleset_is_removed_by_its_import_alone():
    """What a text imports stays with other statements, because other rules may need it."""
    base = check_text(BASE)
    extra = 'deep(?x) :- [?x, _, _] .\n@import "rho-df" .'
    added = whole(with_rules(whole(with_rules(base, extra, "a.dl")), extra, "a.dl"))
    without = whole(without_rules(added, "deep(?x) :- [?x, _, _] .", "a.dl"))

    assert len(added.rules) == len(without.rules) + 1 > len(base.rules) + 1
    assert text(without_rules(added, extra, "a.dl")) == text(without)
    assert text(without_rules(without, '@import "rho-df" .', "b.dl")) == text(base)
    with pytest.raises(ProgramError, match=r"no such rule:\n  .*"):
        without_rules(base, '@import "rho-df" .', "b.dl")


def test_expiry_is_added_again_and_stays():
    """The expiry of a state is fixed, so it is neither a change nor removed with other rules."""
    expiry = '@expires parent(_, _) after "PT1M" .'
    program = whole(check_text(BASE + expiry))
    more = f"{expiry}\nroot(?x) :- parent(?x, _) ."
    added = whole(with_rules(program, more, "more.dl"))

    assert added.expiries == program.expiries
    assert text(without_rules(added, more, "more.dl")) == text(program)


def test_a_text_of_rules_may_have_the_name_of_what_it_was_made_of():
    """A pipeline is sent the rules of a rule set or a query under the name of its file."""
    base, more = check_text(BASE), "[?x, <urn:p>, ?x] :- [?x, <urn:q>, _] ."
    for name in ("policy.srl", "late.rq", "shapes.ttl"):
        added = with_rules(base, more, name, "text/plain")
        assert text(without_rules(added, more, name, "text/plain")) == text(base)
