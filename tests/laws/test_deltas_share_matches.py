"""Changes that share the matches of a plan derive what they derive one by one.

The rules join three atoms, mostly of their own stratum, so that plans of many shapes share; the
number of times that a block of changes did is counted.
"""

from __future__ import annotations

import pytest
from driver import Driver
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import evaluate, total
from strategies import checked, numbers, programs_of, updates_of
from thorough import THOROUGH

from streamreasoner.backends.columnar import backend, parallel
from streamreasoner.backends.columnar.kernels.joining import blocks
from streamreasoner.backends.columnar.kernels.records import layout

RULES = (
    "p(?x, ?y) :- e(?x, ?y) .",
    "q(?x, ?x) :- e(?x, _) .",
    "p(?y, ?o) :- f(?y, ?x), p(?x, ?p), p(?p, ?o) .",
    "p(?p, ?o) :- g(?y, ?x), p(?y, ?p), p(?x, ?o) .",
    "p(?x, ?w) :- p(?x, ?y), f(?y, ?z), p(?z, ?w) .",
    "q(?x, ?y) :- p(?z, ?x), q(?z, ?w), p(?w, ?y) .",
    "q(?x, ?y) :- p(?x, ?y), q(?y, ?z), f(?z, ?w), ?z != ?w .",
    "q(?x, 1) :- p(?x, ?y), p(?y, ?z), f(?z, ?w), not g(?w, ?y) .",
    "q(?w, ?x + 1) :- p(?x, 2), p(2, ?y), p(?y, ?z), f(?z, ?w), ?x < 2 .",
    "t(?x, ?y, ?y) :- e(?x, ?y) .",
    "t(?a, ?b, ?x) :- t(?a, ?b, ?c), p(?c, ?x), q(?x, _) .",
    "p(?a, ?z) :- t(?a, ?b, ?b), p(?b, ?x), q(?x, ?z) .",
    "[?x, <urn:p>, ?z] :- [?x, <urn:p>, ?y], p(?y, ?w), p(?w, ?z) .",
    "[?x, ?p, ?y] :- p(?x, ?p), f(?x, ?y) .",
    "p(?x, ?z) :- [?x, ?p, ?y], [?y, ?q, ?w], p(?w, ?z) .",
)
INPUT = "@input e/2, f/2, g/2, p/2, q/2, t/3 ."
TERMS = numbers(4)
COMPLETE = [(name, (left, right), 1) for name in "ef" for left in TERMS for right in TERMS]
UPDATES = updates_of("eefgp", TERMS)
PROGRAMS = programs_of(INPUT, RULES, min_size=4)
EPOCHS = st.lists(st.tuples(PROGRAMS, st.lists(UPDATES, min_size=1, max_size=2)), max_size=2)


def shared(driver):
    """How often a block of changes has shared the matches of a plan."""
    return int(driver.session.engine._backend._state.scalars[layout.SHARED])  # noqa: SLF001


@pytest.mark.parametrize("threads", [False, True])
def test_the_trace_is_that_of_changes_one_by_one(threads):
    """Updates and rules come and go; rows of matches fill their buffer several times over."""
    times = []

    @settings(max_examples=500 if THOROUGH else 24)
    @given(PROGRAMS, UPDATES, EPOCHS, st.integers(4, 12), st.integers(1, 5))
    @example(checked("\n".join((INPUT, RULES[0], RULES[4]))), COMPLETE, [], 12, 5)
    def law(first, updates, epochs, words, chunk):
        with pytest.MonkeyPatch.context() as sizes:
            sizes.setattr(blocks, "WORDS", words)
            if threads:
                sizes.setattr(backend.ColumnarBackend, "large", 1)
                sizes.setattr(parallel, "CHUNK", chunk)
                sizes.setattr(parallel, "LIMIT", chunk + words)
            driver, accepted = Driver(first), []
            for checked, batches in [(first, [updates]), *epochs]:
                driver.change(checked)
                for batch in batches:
                    driver.apply(batch)
                    accepted.append(batch)

                    assert driver.trace() == evaluate(checked, total(accepted))
            driver.apply([(*fact, -sign) for batch in accepted for *fact, sign in batch])

            assert not driver.trace()
        times.append(shared(driver))

    law()

    if not threads:  # the joining thread counts by itself
        assert sum(map(bool, times)) > 1
