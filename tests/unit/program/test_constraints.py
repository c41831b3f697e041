"""Constraints of a program and the texts of their violations."""

from __future__ import annotations

import pytest

from streamreasoner.program.checked import check_text
from streamreasoner.program.edit import canonical_program

EX = "@prefix ex: <http://example.org/> .\n"
RULE = "!late(?x, ?days) :- order(?x), due(?x, ?days), not shipped(?x) .\n"
ARGS = ["<http://example.org/o1>", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>']


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("", "late(ex:o1, 3)"),
        ('@message late(?order, ?n) "{?order}: {?n} days, {?n}!" .', "ex:o1: 3 days, 3!"),
        ('@message late(_, ?é) "{ ?é} {?é} {?} {{?é}}" .', "{ ?é} 3 {?} {3}"),
        ('@message late(_, _) "\\"late\\"\\n" .', '"late"\n'),
    ],
)
def test_a_violation_has_a_text(directive, expected):
    """Placeholders stand for terms as the rule language writes them; the rest is kept."""
    checked = check_text(EX + RULE + directive)

    assert checked.constraints["late"].message(ARGS) == expected
    assert canonical_program(checked, "again").constraints["late"].message(ARGS) == expected


def test_the_mark_belongs_to_the_program_but_the_text_does_not():
    """A program without the mark is another one; messages do not determine a state."""
    message = '@message late(?x, _) "{?x}" .'

    assert check_text(RULE).hash == check_text(RULE + message).hash
    assert check_text(RULE).hash != check_text(RULE[1:]).hash
    assert check_text(RULE).rules[0].body == check_text(RULE[1:]).rules[0].body


@pytest.mark.parametrize(
    ("directives", "published"),
    [
        ("", {"triple", "order", "due", "shipped", "part"}),
        ("@hidden part, order .", {"triple", "due", "shipped"}),
        ("@hidden part . @output part .", {"part"}),
    ],
)
def test_what_is_published(directives, published):
    """Neither constraints nor hidden predicates are, unless an @output names them."""
    checked = check_text(f"{RULE}part(?x) :- order(?x) .\n{directives}")

    assert checked.published == published
    assert canonical_program(checked, "again").published == published
    assert checked.hash == check_text(f"{RULE}part(?x) :- order(?x) .").hash


def test_a_constraint_counts_as_used():
    """No @output names it, and none is missing."""
    text = "@output path .\npath(?x) :- edge(?x) .\nfar(?x) :- edge(?x) .\n!near(?x) :- far(?x) .\n"

    assert check_text(text).warnings == ()
