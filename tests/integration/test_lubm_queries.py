"""The queries of LUBM as continuous queries over a university that changes.

The data is beside the repository, see benchmarks/harness.py; without it the test is skipped.
"""

from __future__ import annotations

import random

import pyoxigraph
import pytest
from lubm_queries import PREFIX, QUERIES
from thorough import THOROUGH

from benchmarks import harness
from streamreasoner.api.nodes import from_ntriples, to_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.io.formats.ntriples import read
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.program import load_program
from streamreasoner.rdf.dictionary import Dictionary

pytestmark = [
    pytest.mark.skipif(not THOROUGH, reason="takes minutes; part of `make test-thorough`"),
    pytest.mark.skipif(
        not harness.DATA.exists(),
        reason=f"{harness.DATA} with the LUBM data is absent; see benchmarks/harness.py",
    ),
]


def triples():
    """The triples of univ-bench and LUBM(1), each once."""
    dictionary, found = Dictionary(), {}
    for file in harness.lubm(1):
        for block in read(file, dictionary):
            columns = (dictionary.decode(block[:, i]).to_pylist() for i in range(3))
            found.update(dict.fromkeys(zip(*columns, strict=True)))
    return list(found)


def apply(reasoner, facts, multiplicity):
    """Apply triples as one epoch."""
    reasoner.apply(Update(TRIPLE, tuple(map(from_ntriples, each)), multiplicity) for each in facts)


def check(reasoner):
    """The answers of all queries are those of Oxigraph on the closure."""
    closure = pyoxigraph.Store()
    lines = (f"{' '.join(map(to_ntriples, each))} ." for each in reasoner.facts(TRIPLE))
    # Types of literals are generalized RDF, which Oxigraph has not.
    text = "\n".join(line for line in lines if not line.startswith('"'))
    closure.bulk_load(text.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    counts = {}
    for name, query in QUERIES.items():
        found = {tuple(map(to_ntriples, each)) for each in reasoner.facts(name)}
        expected = {tuple(map(str, row)) for row in closure.query(PREFIX + query)}
        assert found == expected
        counts[name] = len(found)
    return counts


def test_answers_are_those_of_an_engine_through_changes():
    """A random tenth of the university goes and comes back, twice."""
    chance = random.Random(3)
    facts = triples()
    reasoner = Reasoner(load_program("rho-df"))
    apply(reasoner, facts, 1)
    for name, query in QUERIES.items():
        reasoner.add_query(name, PREFIX + query)
    first = check(reasoner)
    assert sum(map(bool, first.values())) > len(first) // 2
    for _ in range(2):
        some = chance.sample(facts, len(facts) // 10)
        apply(reasoner, some, -1)
        assert check(reasoner) != first
        apply(reasoner, some, 1)
        assert check(reasoner) == first
