"""Random edges of a small cyclic graph, and what the oracle derives from them."""

from __future__ import annotations

from collections import Counter

import oracle

from streamreasoner.program import check_text

RULES = """
@prefix ex: <http://example.org/> .
[?x, ex:reaches, ?y] :- [?x, ex:next, ?y] .
[?x, ex:reaches, ?z] :- [?x, ex:reaches, ?y], [?y, ex:reaches, ?z] .
"""


def random_edges(rng, count):
    """Updates (arguments of a triple, diff), asserted more often than retracted."""
    for _ in range(count):
        a, b = (f"<http://example.org/n{rng.randrange(6)}>" for _ in range(2))
        yield (a, "<http://example.org/next>", b), rng.choice((1, 1, 1, -1, -1))


def expected(sent, rules=RULES):
    """The derived facts of the sum of all updates."""
    sums = Counter()
    for args, diff in sent:
        sums["triple", args] += diff
    return oracle.derived(oracle.evaluate(check_text(rules), sums))
