"""Safety: without a report, every variable is bound and every fact is ground."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.analysis.safety import unsafe
from streamreasoner.lang.parser import parse

HEADS = ("h(1)", "h(?x)", "h(?x, ?y)", "h(?z + 1)", "h(count(?y))")
LITERALS = (
    *("e(?x)", "e(?y, _)", "e(?y, ?z)", "e(?z + 1)", "e(?x, ?x * ?w)", "not e(?x)", "not e(_, ?z)"),
    *("?x = 1", "?y = ?x", "?y = ?x + 1", "?x = ?y - 1", "?z + 1 = ?w", "?w = -?z", "?z = ?z"),
    *("?x = ?y * ?z", "?x < ?y", "?w != 1", "is_iri(?y)", "not is_iri(?w)"),
)


def names(text):
    """The variables of a text."""
    return {*re.findall(r"\?\w", text)}


def bound(body):
    """The variables that atoms and equations bind, found by trying until nothing changes."""
    atoms = [literal[2:-1].split(", ") for literal in body if literal.startswith("e(")]
    found = {argument for atom in atoms for argument in atom if argument in names(argument)}
    sides = [literal.split(" = ") for literal in body if " = " in literal]
    for _ in body:
        for left, right in (*sides, *(side[::-1] for side in sides)):
            found |= {left} & names(left) if names(right) <= found else set()
    return found


@given(st.sampled_from(HEADS), st.lists(st.sampled_from(LITERALS), min_size=1, max_size=5))
def test_a_rule_is_reported_iff_a_variable_is_unbound(head, body):
    """Or if it has no atom, as the program gives it one; no more than unbound variables."""
    found = [*unsafe(parse(f"{head} :- {', '.join(body)} ."))]
    unbound = names(" ".join((head, *body))) - bound(body)
    has_atom = any(literal.startswith("e(") for literal in body)

    assert bool(found) == (bool(unbound) or not has_atom)
    assert len(found) <= max(len(unbound), 1)
    assert {item.code for item in found} <= {"SR201", "SR202", "SR204", "SR207"}
    assert ("SR204" in {item.code for item in found}) == (not unbound and not has_atom)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('h(1, "x", <urn:a>, _:b) .', []),
        ("h(), h(1) .", []),
        ("h(?x), h(_) .", ["SR205", "SR205"]),
        ("h(1 + 1, abs(1), 1) .", []),
        ("h(1 + ?x, abs(_), 1) .", ["SR205", "SR205"]),
        ("h(?x) :- e(?x, _), not e(_, ?x) .", []),
        ("h(_) :- e(?x) .", ["SR203"]),
        ("h(count(_)) :- e(?x) .", ["SR203"]),
        ("h(?x) :- e(?x), ?x != _ .", ["SR203"]),
        ("h(?x) :- e(?x), is_iri(_) .", ["SR203"]),
        ("h(?x) :- e(?x, _ + 1) .", ["SR203"]),
        ("h(?y) :- e(?x), ?y = ?z + 1, ?z = ?y - 1 .", ["SR207"]),
        ("h(?y) :- e(?x), ?y = ?z * ?w, ?w = ?w + 1 .", ["SR202", "SR207"]),
        ("h(?x) :- (e(?x) | e(?y)) .", ["SR201"]),
        ("h(?x) :- (e(?x) | e(?y), ?x = ?y) .", []),
    ],
)
def test_each_mistake_is_reported_once(text, codes):
    """In facts, wildcards and cycles; each alternative of a body binds on its own."""
    assert [item.code for item in unsafe(parse(text))] == codes
