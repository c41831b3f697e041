"""Reasons for the order of strata: all that a stratum waits for, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from hypothesis import example, given
from hypothesis import strategies as st
from unit.plan.small_rules import SOME

from streamreasoner.errors import ProgramError
from streamreasoner.lang.ast import Aggregate, Atom, Constant, Negation
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.print.reasons import Reasons
from streamreasoner.program import check_text

POOL = (
    "p(?x) :- e(?x, _) .",
    "p(?x) :- p(?y), e(?y, ?x) .",
    "p(1) :- q(2), e(_, _) .",
    "q(?x) :- p(?x), q(?x) .",
    "q(2) :- e(?x, _), p(1) .",
    "q(?x) :- pair(?x, 3), pair(?x, 2) .",
    "pair(1, 2) :- q(_) .",
    "pair(?x, ?y) :- p(?x), p(?y), not e(?x, ?y) .",
    "r(?x) :- e(?x, _), not q(?x) .",
    "r(?x) :- r(?y), e(?y, ?x) .",
    "s(?x, count(?y)) :- r(?x), e(?x, ?y) .",
    "t(?x, min(?y)) :- e(?x, ?y) .",
    "t(?x, min(?y + 1)) :- t(?x, ?y), p(?x) .",
    "u(?x) :- s(?x, 2), not p(2), not r(?x) .",
    "u(3) :- t(3, _), not r(3) .",
    "w(1) :- e(_, _) .",
    "w(2) :- e(?x, _), not w(1) .",
    "w(3) :- w(2), not u(3) .",
    "v(sum(?x), max(?x)) :- u(?x), t(?x, _) .",
)


@lru_cache(maxsize=1000)
def _checked(texts):
    try:
        return check_text("\n".join(texts))
    except ProgramError:  # a rule depends on itself through a negation
        return None


PROGRAMS = (
    st.lists(st.sampled_from(POOL), min_size=1, max_size=8, unique=True)
    .map(lambda texts: _checked(tuple(texts)))
    .filter(lambda checked: checked is not None)
)


@SOME
@given(PROGRAMS)
@example(_checked(tuple(text for text in POOL if text.startswith("w("))))
def test_a_stratum_has_a_reason_for_each_atom_that_rules_derive(checked):
    """A reason names the atom, the rules whose heads can be its facts, and their strata."""
    plan = lower(checked)
    reasons = Reasons(checked, plan, {})
    derived_in = [_derived_in(plan, index, rule) for index, rule in enumerate(checked.rules)]
    for number, stratum in enumerate(plan.strata, start=1):
        expected = Counter()
        for index in {rule.source for rule in stratum.rules if not rule.added}:
            for how, atom in {*_atoms(checked.rules[index])}:
                sources = frozenset(
                    (derived_in[other], other)
                    for other, rule in enumerate(checked.rules)
                    if _have_a_common_fact(atom, rule.head)
                )
                expected[index, how, atom.predicate, sources] += bool(sources)
        found = Counter(map(_read, reasons.of(number)))

        assert found == +expected
        assert reasons.is_recursive(number) == any(
            at == number for *_, sources in found for at, _ in sources
        )


@SOME
@given(PROGRAMS)
def test_a_reason_points_back(checked):
    """What is read is derived in the same stratum or before, what is negated or counted before."""
    plan = lower(checked)
    reasons = Reasons(checked, plan, {})
    for number in range(1, len(plan.strata) + 1):
        for _, how, _, sources in map(_read, reasons.of(number)):
            assert max(at for at, _ in sources) <= number - (how != "reads")


def _read(line):
    """(rule, how, predicate, {(stratum, rule)}) of a reason, with rules counted from 0."""
    rule, how, predicate, rest = re.fullmatch(r"R(\d+) (\w+) (\w+)\(.*\) of (S.*)", line).groups()
    return (
        int(rule) - 1,
        how,
        predicate,
        frozenset(
            (int(stratum), int(label) - 1)
            for stratum, labels in re.findall(r"S(\d+) \(([^)]*)\)", rest)
            for label in re.findall(r"R(\d+)", labels)
        ),
    )


def _derived_in(plan, index, rule):
    """The stratum that completes the facts of a rule: its own, or that of its reduction."""
    aggregates = [each for each in rule.head.arguments if isinstance(each, Aggregate)]
    is_plain = not aggregates or [each.function for each in aggregates] == ["min"]
    (found,) = {
        number
        for number, stratum in enumerate(plan.strata, start=1)
        if any(head.predicate == rule.head.predicate for head in stratum.heads)
        and (not is_plain or any(each.source == index and not each.added for each in stratum.rules))
    }
    return found


def _atoms(rule):
    functions = [each.function for each in rule.head.arguments if isinstance(each, Aggregate)]
    for literal in rule.body:
        match literal:
            case Atom():
                yield "reads" if functions in ([], ["min"]) else "aggregates", literal
            case Negation(Atom() as atom):
                yield "negates", atom


def _have_a_common_fact(atom, head):
    """Whether their constants allow a fact of both."""
    return atom.predicate == head.predicate and all(
        left == right
        for left, right in zip(atom.arguments, head.arguments, strict=True)
        if isinstance(left, Constant) and isinstance(right, Constant)
    )
