"""Printed delta plans: nested loops that can be read as the rule that they evaluate."""

from __future__ import annotations

import re

from hypothesis import given
from unit.plan.bags import rows
from unit.plan.small_rules import PRESENTS, READ_BACK, RULES, SOME, lowered, rule

from streamreasoner.plan.algebra import Antijoin, Arrangement, Extend, Join, Select
from streamreasoner.plan.counted import counted
from streamreasoner.plan.delta.differentiate import differentiate
from streamreasoner.plan.lower.lowering import lowered as rewritten
from streamreasoner.plan.operands import Column
from streamreasoner.plan.order.left_deep import left_deep
from streamreasoner.plan.print.loops import loops
from streamreasoner.plan.print.parts import Text

TEXT = Text({})


def printed(plan):
    """The lines of a plan, stripped, and the arrangements by name; each line is nested."""
    names = {each: f"A{at}" for at, each in enumerate(dict.fromkeys(plan.arrangements))}
    lines = list(loops(plan, TEXT, names, ()))
    assert [len(line) - len(line.lstrip()) for line in lines] == [
        2 * at for at in range(len(lines))
    ]
    return [line.strip() for line in lines], {name: each for each, name in names.items()}


def plans(text):
    """The delta plans of a rule."""
    return [left_deep(delta) for delta in differentiate(rewritten(rule(text)))]


@SOME
@given(READ_BACK, PRESENTS)
def test_the_lines_of_a_plan_are_the_rule(text, present):
    """Without ages and arrangements, each plan of a rule says what the rule says."""
    present["some_a"] = list({args[:1] for args in present["a"]})
    expected = rows(lowered(text), present)
    for plan in plans(text):
        lines, _ = printed(plan)

        assert rows(_read(lines), present) == expected


@SOME
@given(RULES)
def test_a_line_says_what_its_node_does(text):
    """The delta is first and the head last; facts are read in their age."""
    for plan in plans(text):
        (first, *lines, last), _ = printed(plan)

        assert first.startswith("Δ not " if plan.delta.negated else "Δ ")
        assert last == f"derive {TEXT.pattern(plan.head)}"
        for (step, bound), line in zip(plan.bound_steps, lines, strict=True):
            match step:
                case Join():
                    word = "for" if Arrangement.of(step.scan.pattern, bound) else "if"
                    word = "times" if counted(step.scan.pattern, bound, ()) else word
                    assert line.startswith(f"{word} {step.scan.age.value} ")
                case Antijoin():
                    assert line.startswith(f"if not {step.scan.age.value} ")
                case Select():
                    assert line.startswith("if ")
                case Extend():
                    assert line.startswith("if " if step.checks else "let ")


@SOME
@given(RULES)
def test_a_join_looks_up_the_columns_of_the_lines_above(text):
    """A loop names the arrangement whose key is bound; without another column it is a test."""
    for plan in plans(text):
        lines, arrangements = printed(plan)
        for at, (step, line) in enumerate(zip(plan.steps, lines[1:], strict=False), start=1):
            if isinstance(step, Join):
                above = set(re.findall(r"[?#]\w+", " ".join(lines[:at])))
                arguments = step.scan.pattern.arguments
                key = tuple(
                    position
                    for position, each in enumerate(arguments)
                    if isinstance(each, Column) and TEXT.column(each.name) in above
                )
                name = re.search(r" in (\w+)$", line)
                if len(key) + len(step.scan.pattern.constants) == len(arguments):
                    assert name is None
                else:
                    pattern = step.scan.pattern
                    assert arrangements[name[1]] == Arrangement(
                        pattern.predicate, pattern.constants, key
                    )


def _read(lines):
    """The tree of the rule that the lines are; computed columns are variables."""
    *body, head = lines
    parts = [
        re.sub(r"^(Δ|for|if|let|times) | in A\d+$|, shared by \S+$", "", line) for line in body
    ]
    parts = [re.sub(r"^(not |)(old|new) ", r"\1", part) for part in parts]
    text = f"{head.removeprefix('derive ')} :- {', '.join(parts)} ."
    text = text.replace(":=", "=").replace("==", "=").replace("a[0,_]", "some_a")
    return lowered(re.sub(r"#(\d+)", r"?value\1", text))
