"""Deltas of trees sum to the new rows minus the old ones, in whatever order they are joined."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st
from oracle.arithmetic import numeral
from unit.plan.bags import Change, rows

from streamreasoner.plan.algebra import Age, Antijoin, Delta, Join, Project, Scan, walk
from streamreasoner.plan.delta.differentiate import differentiate
from streamreasoner.plan.lower.lowering import lowered
from streamreasoner.plan.order.left_deep import left_deep
from streamreasoner.program import check_text


def tree(text):
    """The tree of the only rule of a program."""
    (rule,) = check_text(text).rules
    return lowered(rule)


FACTS = [("b", numeral(x)) for x in (1, 2)]
FACTS += [("a", numeral(x), numeral(y)) for x in (1, 2) for y in (1, 2)]
TREES = [
    tree("h(?x, ?z) :- a(?x, ?y), a(?y, ?z), b(?z) ."),
    tree("h(?x) :- b(?x), b(?y), a(1, ?z), ?y < ?z ."),
    tree("h(?x, ?y) :- b(?x), not a(?x, ?y), b(?y), not a(?y, ?x) ."),
    tree("h(?x) :- a(?x, ?y), a(?y, _), not b(?x), ?x != ?y, not a(?y, _) ."),
    tree("h(?v) :- a(?x, ?y), b(?y), ?v = ?x + ?y, ?v < 4, not b(?v / 2) ."),
    tree("h(?x) :- a(?x, ?x), not b(1), not b(?x) ."),
]


def changed(whole, before, after):
    """A change from some facts to others; negated projections follow."""
    projections = [node for node in walk(whole.input) if isinstance(node, Project)]
    change = Change(defaultdict(list))
    for present, facts in ((change.before, before), (change, after)):
        for predicate, *args in facts:
            present[predicate].append(tuple(args))
        for projection in projections:
            present[projection.head.predicate] = list(rows(projection, present))
    return change


@given(st.sets(st.sampled_from(FACTS)), st.sets(st.sampled_from(FACTS)))
def test_deltas_sum_to_the_new_rows_minus_the_old_ones(before, after):
    """Σ differentiate(tree) = tree(new) - tree(old), and the order of a plan changes no row."""
    for whole in TREES:
        present = changed(whole, before, after)
        expected = rows(whole, present)
        expected.subtract(rows(whole, present.before))
        found = Counter()
        for delta in differentiate(whole):
            derived = rows(delta, present)
            found.update(derived)

            assert rows(left_deep(delta).tree, present) == derived
        assert found == expected


def test_each_atom_reads_the_new_state_before_it_and_the_old_state_after_it():
    """Δ(A ⋈ B) = ΔA ⋈ old B + new A ⋈ ΔB."""
    whole = tree("h(?x) :- a(?x), b(?x) .")
    first, second = whole.patterns

    assert [each.input for each in differentiate(whole)] == [
        Join(Delta(first), Scan(second, Age.OLD)),
        Join(Scan(first, Age.NEW), Delta(second)),
    ]


def test_the_delta_of_a_negated_atom_is_joined_with_the_opposite_sign():
    """Δ(A ▷ B) = ΔA ▷ old B - new A ⋈ ΔB."""
    whole = tree("h(?x) :- a(?x), not b(?x) .")
    (positive,), (negated,) = whole.patterns, whole.negated

    assert [each.input for each in differentiate(whole)] == [
        Antijoin(Delta(positive), Scan(negated, Age.OLD)),
        Join(Scan(positive, Age.NEW), Delta(negated, negated=True)),
    ]
