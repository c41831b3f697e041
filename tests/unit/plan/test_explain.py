"""The output of `explain_plan`: readable, complete, and equal to what runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver import Driver
from hypothesis import given, settings
from strategies import scenarios

from streamreasoner.backends.columnar.compiler.numbering import Numbering
from streamreasoner.backends.columnar.compiler.program import compile_program
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.engine.cost_model import explained_encoding
from streamreasoner.lang import limits
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.print.plans import explain_plan
from streamreasoner.plan.print.stage import Stage
from streamreasoner.program import check_text
from streamreasoner.program.load import load_program

EX = "@prefix ex: <http://example.org/> .\n"
CLOSURE = EX + "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"


def explained(text, **options):
    """The plan of a rule text."""
    return explain_plan(check_text(text), **options)


def section(text, name):
    """The lines of a section."""
    (found,) = (block for block in text.split("\n\n") if block.startswith(f"== {name} ==\n"))
    return found.strip().splitlines()[1:]


def test_the_documentation_shows_what_is_printed():
    """The plans of docs/plans.md are exactly those of their programs, stage by stage."""
    text = (Path(__file__).parents[3] / "docs/plans.md").read_text("utf-8")
    programs, plans = (
        [block.split("```")[0] for block in text.split(f"```{kind}\n")[1:]]
        for kind in ("prolog", "text")
    )
    stages = (Stage.ALL, Stage.PARTS, Stage.HIERARCHIES)
    printed = [
        explained(program, stage=stage, weighed=explained_encoding(None))
        for program, stage in zip(programs, stages, strict=True)
    ]

    assert plans == printed


def test_what_is_never_encoded_is_copied_all_the_same():
    """RDFS has rules about every triple, which are named."""
    checked = load_program("rdfs")
    names = {f"R{number}": rule.name for number, rule in enumerate(checked.rules, 1)}

    first, none, others, *copied = explain_plan(checked, stage=Stage.HIERARCHIES).splitlines()

    assert (first, none) == ("== hierarchies ==", "none: all facts are stored")
    assert others == "copied, and always stored:"
    assert [names[each.split()[0]] for each in copied[::2]] == ["rdfs7", "rdfs9"]
    for each in copied[1::2]:
        words, readers = each.split(" by ")
        assert words == "  read at all classes"
        assert [names[reader] for reader in readers.split(", ")] == ["rdfD2", "rdfs4a", "rdfs4b"]


def test_what_is_read_to_order_negation_is_shown():
    """What *q* is in says what may be derived, whether that is listed or not."""
    rules = """\
        @input in/2, part/2, listed/1 .
        in(?x, ?s) :- in(?x, ?r), part(?r, ?s) .
        [?x, ?q, ?y] :- [?x, ex:p, ?y], in(?q, ?c), listed(?c) .
        [?x, ex:r, ?y] :- [?x, ex:p, ?y], not [?x, ex:q, ?y] .
    """

    text = explained(EX + rules, stage=Stage.HIERARCHIES)

    assert "  wanted@0(?c) :- listed(?c), part(_, ?c) ." in text
    assert "  wanted@0(?c) :- exists@0(" in text


@given(scenarios())
def test_every_program_has_a_plan_to_print(scenario):
    """Each rule, delta plan, lattice and reduction of any program has its line."""
    text = explain_plan(scenario.checked)
    plan = lower(scenario.checked)

    assert text == explain_plan(scenario.checked)
    assert text.count("\n  1. incomplete expression\n") == len(scenario.checked.rules)
    assert text.count("\n    Δ ") == sum(len(each.plans) for each in plan.strata)
    assert len(plan.lattices) == ("== lattices ==" in text and len(section(text, "lattices")))


@settings(max_examples=20)
@given(scenarios())
def test_what_is_printed_is_what_runs(scenario):
    """The backend has compiled the plans that are printed, whatever facts there are."""
    driver = Driver(scenario.checked)
    driver.run(scenario.epochs)
    intern = driver.session.dictionary.intern
    compiled = compile_program(lower(scenario.checked), Numbering(), intern)
    state = driver.session.engine._backend._state  # noqa: SLF001 - nothing else shows it

    for number in (layout.PLANS, layout.STEPS, layout.OPERANDS):
        assert (state.column(number) == compiled.columns[number]).all()


def test_a_rule_of_the_most_conditions_has_a_plan_to_print():
    """A tree may be deeper than Python recurses."""
    tests = [f"?x < {number}" for number in range(limits.CONDITIONS)]
    absent = [f"not h(?x, {number})" for number in range(limits.ATOMS - 1)]
    rule = f"f(?x) :- g(?x), {', '.join((*tests, *absent))} ."

    lines = section(explained(rule, stage=Stage.LOWER), "lowering")

    assert {f"Select {test}" for test in tests} <= {line.strip() for line in lines}


def test_a_stage_is_a_part_of_all():
    """`lower`, `delta` and `arrangements` print their sections as `all` does."""
    everything = explained(CLOSURE)

    assert explained(CLOSURE, stage=Stage.LOWER) in everything
    assert explained(CLOSURE, stage=Stage.ARRANGEMENTS) in everything
    for block in explained(CLOSURE, stage=Stage.DELTA).split("\n\n"):
        assert block in everything
    assert "lowering" not in explained(CLOSURE, stage=Stage.DELTA)


def test_reasons_say_what_a_stratum_waits_for():
    """Recursion, negation and aggregates are named, with their rules and strata."""
    text = explained(
        CLOSURE
        + "lonely(?x) :- node(?x), not path(?x, ?x) .\nmany(?x, count(?y)) :- path(?x, ?y) .\n"
    )

    assert section(text, "strata") == [
        "S1  R1, R2, recursive",
        "  R2 reads path(?x, ?y) of S1 (R1, R2)",
        "S2  R3",
        "  R3 negates path(?x, ?x) of S1 (R1, R2)",
        "S3  R4",
        "  R4 aggregates path(?x, ?y) of S1 (R1, R2)",
        "S4  reduction of many#count1",
    ]


def test_arrangements_tell_who_shares_them():
    """An arrangement of two rules is one line that names both plans; constants make it partial."""
    text = explained(
        EX
        + "p(?x, ?z) :- e(?x, ?y), [?y, ex:knows, ?z] .\n"
        + "q(?x, ?z) :- f(?x, ?y), [?y, ex:knows, ?z] .\n"
    )

    assert section(text, "arrangements")[0] == "A1  [key, ex:knows, _], partial: R1.1, R2.1"


def test_prefixes_of_imports_are_used_after_those_of_the_program():
    """A prefix with two meanings is printed as the program itself defines it."""
    text = explained('@import "rho-df" .\n' + EX + "p(?x) :- [?x, ex:q, _] .\n")

    assert "p(?x) :- [?x, ex:q, _] ." in text
    assert "rdfs:subClassOf" in text


@pytest.mark.parametrize("name", ["rho-df"])
def test_packaged_rulesets_can_be_explained(name):
    """The plan of a ruleset names all of its rules."""
    checked = load_program(name)
    text = explain_plan(checked)

    assert all(f"R{number}  " in text for number in range(1, len(checked.rules) + 1))
