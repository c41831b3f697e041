"""What two programs differ in: their rules, reductions and lattices."""

from __future__ import annotations

from strategies import checked

from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.program_change import program_change

PATH = "path(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) .\n"
DEGREE = "degree(?x, count(?y)) :- edge(?x, ?y) .\n"
NEAR = "near(?x, min(?y)) :- edge(?x, ?y) .\n"
BACK = "edge(?y, ?x) :- path(?x, ?y) .\n"


def change(before, after):
    """The change from one text to another."""
    return program_change(lower(checked(before)), lower(checked(after)))


def signs(found):
    """The signs and heads of the rules that a change evaluates."""
    return [(each.sign, each.rule.tree.head.predicate) for each in found.evaluations]


def test_a_program_does_not_differ_from_itself():
    """Nothing is evaluated, retracted or settled again."""
    found = change(PATH + DEGREE + NEAR, NEAR + DEGREE + PATH)

    assert (found.evaluations, found.reductions, found.lattices) == ((), (), ())


def test_what_only_one_program_has():
    """Rules of both signs, reductions of the former program, and lattices of either."""
    there, back = change(DEGREE + NEAR, PATH), change(PATH, DEGREE + NEAR)

    assert sorted(signs(there)) == sorted((-sign, head) for sign, head in signs(back))
    assert signs(there)[-1] == (1, "path")
    assert [each.head.predicate for each in there.reductions] == ["degree"]
    assert back.reductions == ()
    assert [each.pattern.predicate for each in there.lattices] == ["near"]
    assert back.lattices == there.lattices


def test_a_rule_whose_premises_move_is_evaluated_anew():
    """Facts that its own stratum derives have iterations, and those of lower strata have none."""
    assert signs(change(PATH, PATH + BACK)) == [(-1, "path"), (1, "path"), (1, "edge")]


def test_predicates_of_the_former_program_stay():
    """Their facts are still in the state; hidden ones stay hidden."""
    before, found = lower(checked(DEGREE)), change(DEGREE, PATH)

    assert found.after.arities.items() >= before.arities.items()
    assert before.hidden
    assert found.after.hidden >= before.hidden
