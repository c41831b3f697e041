"""The changes that the shell prints sum to the facts that it lists at the end."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from transcripts import run

RULES = """@prefix ex: <http://example.org/> .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
[?x, ex:near, ?y] :- edge(?x, ?y), not edge(?y, ?x) .
least(?x, min(?y)) :- path(?x, ?y) .
degree(?x, count(?y)) :- path(?x, ?y) .
edge(1, 10) .
"""
STATED = ("edge(1, 10)", "path(1, 10)", "[1, ex:near, 10]", "least(1, 10)", "degree(1, 1)")
"""Facts present before the first command."""

LISTED = ("edge", "path", "triple", "least", "degree")

_TERMS = st.sampled_from(("1", "2", "10", "ex:a", '"b"'))
_PATHS = st.sampled_from(("edge", "edge", "edge", "path", "least"))
_UPDATES = st.tuples(
    st.sampled_from(("insert", "insert", "remove")), _PATHS, _TERMS, _TERMS, st.integers(1, 2)
).map(lambda drawn: "{} {}({}, {}) * {}.".format(*drawn))
_SCRIPTS = st.lists(
    st.one_of(_UPDATES, _UPDATES, _UPDATES, st.sampled_from(("commit", "commit", "rollback"))),
    max_size=20,
)


@given(_SCRIPTS)
def test_changes_sum_to_the_lists(script):
    """Lines with + and - sum to one for each listed fact, and to zero for all others."""
    questions = [f"list {predicate}" for predicate in LISTED]
    transcript = run(RULES, "\n".join([*script, "rollback", *questions])).splitlines()
    changes = Counter(STATED)
    for line in transcript:
        if line.startswith(("+ ", "- ")):
            fact = line[2:].partition("  # ")[0]
            changes[fact] += 1 if line.startswith("+") else -1

    assert {fact: number for fact, number in changes.items() if number} == dict.fromkeys(
        _listed(transcript), 1
    )


def _listed(transcript):
    """The facts between the echo of `list` and the count."""
    facts, listing = [], False
    for line in transcript:
        if line.startswith("> "):
            listing = line.startswith("> list ")
        elif listing and not line.endswith((" facts", " fact")):
            facts.append(line)
    return facts
