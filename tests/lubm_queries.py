"""The 14 queries of LUBM, and their answers asked in each way there is."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph

from streamreasoner.api.nodes import from_ntriples, to_ntriples
from streamreasoner.api.updates import Update
from streamreasoner.lang.ast import TRIPLE

FOLDER = Path(__file__).parents[1] / "examples" / "lubm"
QUERIES = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("queries/*.rq"))}
"""The queries of the example, by name."""


def apply(reasoner, facts, multiplicity):
    """Apply triples in N-Triples syntax as one epoch."""
    reasoner.apply(Update(TRIPLE, tuple(map(from_ntriples, each)), multiplicity) for each in facts)


def closure(reasoner):
    """Oxigraph's store of the present triples."""
    store = pyoxigraph.Store()
    lines = (f"{' '.join(map(to_ntriples, each))} ." for each in reasoner.facts(TRIPLE))
    # Types of literals are generalized RDF, which Oxigraph has not.
    text = "\n".join(line for line in lines if not line.startswith('"'))
    store.bulk_load(text.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    return store


def counts(reasoner):
    """How many answers each query has: kept up to date, asked once, and asked of Oxigraph."""
    store, found = closure(reasoner), {}
    for name, query in QUERIES.items():
        expected = sorted(tuple(map(str, row)) for row in store.query(query))
        for rows in (reasoner.facts(name), reasoner.query(query)):
            assert sorted(tuple(map(to_ntriples, row)) for row in rows) == expected
        found[name] = len(expected)
    return found
