"""Notes of a large epoch's progress: what identifies the epoch."""

from __future__ import annotations

from itertools import combinations

from streamreasoner.backends.spark.epoch.progress import digest
from streamreasoner.lang import limits
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program import check_text

ATOMS = ", ".join(f"edge(?x{i}, ?x{i + 1})" for i in range(limits.ATOMS))
CONDITIONS = ", ".join(f"?x{i % limits.ATOMS} != {i}" for i in range(limits.CONDITIONS))


def planned(rules):
    """A program's plan."""
    return lower(check_text(f"@input edge/2 .\n{rules}"))


def test_programs_of_the_largest_rules_have_a_digest():
    """Their delta plans nest deeper than Python recurses."""
    largest = f"loop(?x0) :- {ATOMS}, {CONDITIONS} ."
    other = largest.replace(f"!= {limits.CONDITIONS - 1}", "!= -1")

    assert digest(planned(largest), 1) == digest(planned(largest), 1)
    assert digest(planned(largest), 1) != digest(planned(other), 1)


def test_all_that_determines_an_epoch_is_in_its_digest():
    """Programs that differ anywhere, and other input, have other digests."""
    programs = [
        "",
        "path(?x, ?y) :- edge(?x, ?y) .",
        "path(?y, ?x) :- edge(?x, ?y) .",
        "path(?x, ?y) :- edge(?x, ?y), ?x != ?y .",
        "path(?x, ?y) :- edge(?x, ?y), not edge(?y, ?x) .",
        "path(?x, max(?y)) :- edge(?x, ?y) .",
        "path(?x, min(?y)) :- edge(?x, ?y) .",
        "path(?x, count(?y)) :- edge(?x, ?y) .",
        "path(?x, sum(?y)) :- edge(?x, ?y) .",
    ]
    digests = [digest(planned(rules), 1, 2) for rules in programs]
    digests += [digest(planned(""), *epoch) for epoch in ((1, 3), (2, 2), (1, 2, 2))]

    assert all(first != second for first, second in combinations(digests, 2))
