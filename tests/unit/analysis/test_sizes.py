"""Programs within the limits of the language are planned; larger ones get a diagnostic."""

from __future__ import annotations

import pytest

from streamreasoner.analysis.sizes import beyond_limits
from streamreasoner.errors import ProgramError
from streamreasoner.lang import limits
from streamreasoner.lang.parser import parse
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program import check_text, load_program


def body(count):
    """A chain of edges."""
    return ", ".join(f"edge(?x{i}, ?x{i + 1})" for i in range(count))


def refusal(rules):
    """The one diagnostic of a program."""
    with pytest.raises(ProgramError) as refused:
        check_text("@input edge/2 .\n" + rules)
    [diagnostic] = refused.value.diagnostics
    return diagnostic


def test_a_body_of_the_most_atoms_has_a_plan_for_each():
    """Each plan joins all atoms along the chain."""
    plan = lower(check_text(f"@input edge/2 .\npath(?x0) :- {body(limits.ATOMS)} ."))
    [rule] = plan.strata[-1].rules

    assert len(rule.plans) == limits.ATOMS
    assert {len(each.steps) for each in rule.plans} == {limits.ATOMS - 1}
    assert all(arrangement.key for each in rule.plans for arrangement in each.arrangements)


def test_a_rule_of_the_most_of_everything_is_planned():
    """The planner can handle every limit at once."""
    count = limits.CONDITIONS // 2
    tests = ", ".join(f"?x{i % 9} != {i}" for i in range(count))
    sums = ", ".join(f"?y{i + 1} = ?y{i} + {i}" for i in range(limits.CONDITIONS // 2))
    sums = ", ".join(sums.split(", ")[: (limits.VARIABLES - 60) // 2])
    negated = ", ".join(f"not edge(?x0, {i})" for i in range(limits.ATOMS - 40))
    rules = f"path(?x0) :- {body(39)}, edge(_, ?y0), {tests}, {sums}, {negated} ."

    assert lower(check_text(f"@input edge/2 .\n{rules}")).strata


@pytest.mark.parametrize("head", ["low(?x)", "low(count(?x))", "low(sum(?x), min(?x))"])
def test_equal_rules_of_the_most_conditions_are_planned(head):
    """Trees may be too deep for comparisons that recurse."""
    tests = ", ".join(f"?x < {number}" for number in range(limits.CONDITIONS))
    absent = ", ".join(f"not edge(?x, {number})" for number in range(limits.ATOMS - 1))
    rule = f"{head} :- edge(?x, _), {tests}, {absent} .\n"

    plan = lower(check_text(f"@input edge/2 .\n{rule}{rule}"))

    rules = [rule.source for stratum in plan.strata for rule in stratum.rules]
    assert {0, 1} <= set(rules)


def test_wide_atoms_are_planned():
    """Atoms with the most arguments and variables have a plan."""
    names = ", ".join(f"?x{i}" for i in range(limits.VARIABLES))
    wide = (
        f"@input wide/{limits.ARGUMENTS} .\np(?x0) :- wide({names}), wide({names}), wide({names}) ."
    )

    assert lower(check_text(wide)).strata


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (f"path(?x0) :- {body(limits.ATOMS + 1)} .", "at most 100 atoms"),
        (
            "p(?x) :- edge(?x, _), " + ", ".join(f"?x != {i}" for i in range(251)) + " .",
            "at most 250 comparisons",
        ),
        (
            "p(?x) :- edge(?x, _), " + ", ".join(f"?x != abs({i})" for i in range(250)) + " .",
            "at most 250 variables",
        ),
        ("wide(" + ", ".join("1" for _ in range(251)) + ") .", "at most 250 arguments"),
        ("@input wide/" + "9" * 5000 + " .", "at most 250 arguments"),
    ],
)
def test_what_is_larger_is_refused(rules, words):
    """The diagnostic names the limit."""
    found = refusal(rules)

    assert (found.code, words in found.message) == ("SR208", True)


def repeated(text, count):
    """A list whose items differ in a number."""
    return ", ".join(text.format(i) for i in range(count))


@pytest.mark.parametrize(
    ("limit", "rule"),
    [
        (limits.ATOMS, lambda count: f"p(?x0) :- {body(count)} ."),
        (limits.ATOMS, lambda count: f"p(1) :- e(1), {repeated('not e({})', count - 1)} ."),
        (limits.CONDITIONS, lambda count: f"p(?x) :- e(?x), {repeated('?x != {}', count)} ."),
        (limits.VARIABLES, lambda count: f"p(f({repeated('?x{}', count - 1)})) :- e(1) ."),
        (limits.VARIABLES, lambda count: f"p(f({repeated('abs({})', count - 1)})) :- e(1) ."),
        (limits.ARGUMENTS, lambda count: f"p({repeated('{}', count)}) ."),
        (limits.ARGUMENTS, lambda count: f"p(1) :- (e(1) | e({repeated('{}', count)})) ."),
        (limits.ARGUMENTS, lambda count: f"@output p/{count} ."),
    ],
)
def test_what_is_not_reported_is_within_each_limit(limit, rule):
    """Of each part there may be as many as the limit says; one more is reported, once."""
    assert [*beyond_limits(parse(rule(limit)))] == []
    (found,) = beyond_limits(parse(rule(limit + 1)))
    assert (found.code, f"at most {limit} " in found.message) == ("SR208", True)


def test_a_long_sum_is_refused_at_its_place():
    """The parser refuses nesting that is too deep."""
    found = refusal("p(?y) :- edge(?x, _), ?y = " + " + ".join(["?x"] * 400) + " .")

    assert (found.code, found.span.line) == ("SR108", 2)


def test_a_file_that_is_too_large_is_refused(tmp_path):
    """The message says where to put the facts instead."""
    path = tmp_path / "facts.dl"
    path.write_text("edge(1, 2) .\n" * (limits.FILE_BYTES // 13 + 1), encoding="utf-8")

    with pytest.raises(ProgramError, match="more than 1,000,000 bytes; put its facts into a file"):
        load_program(path)


@pytest.mark.parametrize("text", ["p" * 300_000, "p " + " " * 300_000 + ":", "not" * 100_000])
def test_long_words_are_refused(text):
    """A long text that is not a rule gets a diagnostic."""
    with pytest.raises(ProgramError, match=r"SR10[12]"):
        check_text(text)
