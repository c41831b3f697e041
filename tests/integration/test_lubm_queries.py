"""The queries of LUBM over LUBM itself: published answers, and a university that changes.

The data is next to the repository, see benchmarks/harness.py; without it the tests are skipped.
"""

from __future__ import annotations

import random

import pytest
from lubm_queries import QUERIES, apply, counts
from thorough import THOROUGH

from benchmarks import harness
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.io.formats.ntriples import read
from streamreasoner.program import load_program
from streamreasoner.rdf.dictionary import Dictionary

pytestmark = pytest.mark.skipif(
    not harness.DATA.exists(),
    reason=f"{harness.DATA} with the LUBM data is absent; see benchmarks/harness.py",
)
at_length = pytest.mark.skipif(not THOROUGH, reason="takes minutes; part of `make test-thorough`")

PUBLISHED = {
    1: (4, 0, 6, 34, 719, 7790, 67, 7790, 208, 4, 224, 15, 1, 5916),
    10: (4, 28, 6, 34, 719, 99566, 67, 7790, 2540, 4, 224, 15, 33, 75547),
}
"""Answers of Q1 to Q14 for data of the generator's seed 0, by number of universities."""


@pytest.mark.parametrize("scale", [1, pytest.param(10, marks=at_length)])
def test_answers_are_as_many_as_published(scale):
    """Asked once, of the closure under OWL 2 RL."""
    reasoner = Reasoner.from_rules("owl-rl")
    reasoner.load(*harness.lubm(scale))

    assert tuple(len(reasoner.query(each)) for each in QUERIES.values()) == PUBLISHED[scale]


def triples():
    """The triples of univ-bench and LUBM(1), each once."""
    dictionary, found = Dictionary(), {}
    for file in harness.lubm(1):
        for block in read(file, dictionary):
            columns = (dictionary.decode(block[:, i]).to_pylist() for i in range(3))
            found.update(dict.fromkeys(zip(*columns, strict=True)))
    return list(found)


@at_length
def test_all_ways_agree_through_changes():
    """A random tenth of the university goes and comes back, twice."""
    chance = random.Random(3)
    facts = triples()
    reasoner = Reasoner(load_program("rho-df"))
    apply(reasoner, facts, 1)
    for name, query in QUERIES.items():
        reasoner.add_query(name, query)
    first = counts(reasoner)
    assert sum(map(bool, first.values())) > len(first) // 2
    for _ in range(2):
        some = chance.sample(facts, len(facts) // 10)
        apply(reasoner, some, -1)
        assert counts(reasoner) != first
        apply(reasoner, some, 1)
        assert counts(reasoner) == first
