"""Without rules, an update in SPARQL makes the triples and quads that pyoxigraph makes."""

from __future__ import annotations

import pyoxigraph
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from streamreasoner import Reasoner, Update
from streamreasoner.api.nodes import from_ntriples
from streamreasoner.rdf.terms import canonical

EX = "http://e.x/"
PREFIX = f"PREFIX : <{EX}>\n"
NODES = st.sampled_from([":a", ":b", ":c"])
PREDICATES = st.sampled_from([":p", ":q"])
VALUES = st.sampled_from([":a", ":b", ":c", "1", '"x"@en'])
GRAPHS = st.sampled_from([":g", ":h"])
VARIABLES = st.sampled_from(["?x", "?y", "?z"])
TRIPLES = st.tuples(NODES, PREDICATES, VALUES)
PATTERNS = st.tuples(NODES | VARIABLES, PREDICATES | VARIABLES, VALUES | VARIABLES)
TARGETS = st.sampled_from(["DEFAULT", "GRAPH :g", "GRAPH :h"])


def group(triples):
    """Triples, some of them in graphs, as the text between braces."""
    parts = st.lists(triples.map(" ".join), max_size=2).map(" . ".join)
    named = st.tuples(GRAPHS, parts).map(lambda pair: f"GRAPH {pair[0]} {{ {pair[1]} }}")
    return st.tuples(parts, st.lists(named, max_size=1).map(" ".join)).map(
        lambda both: f"{both[0]}{' . ' if all(both) else ''}{both[1]}"
    )


DATA = st.tuples(st.sampled_from(["INSERT", "DELETE"]), group(TRIPLES)).map(
    lambda each: f"{each[0]} DATA {{ {each[1]} }}"
)
MODIFY = st.tuples(
    st.sampled_from(["", "WITH :g "]),
    st.sampled_from(["", "DELETE"]),
    group(PATTERNS),
    group(PATTERNS),
    st.sampled_from(["", "USING :g ", "USING :h USING NAMED :g "]),
    group(PATTERNS),
).map(
    lambda each: (
        f"{each[0]}{f'DELETE {{ {each[2]} }} ' if each[1] else ''}INSERT {{ {each[3]} }} "
        f"{each[4]}WHERE {{ {each[5]} }}"
    )
)
DELETE_WHERE = group(PATTERNS).map(lambda pattern: f"DELETE WHERE {{ {pattern} }}")
CLEAR = st.tuples(
    st.sampled_from(["CLEAR SILENT", "DROP SILENT"]), TARGETS | st.sampled_from(["NAMED", "ALL"])
).map(" ".join)
# The source has something, as oxigraph knows graphs without facts.
TRANSFER = st.tuples(st.sampled_from(["ADD", "MOVE", "COPY"]), TARGETS, TARGETS).map(
    lambda each: (
        f"INSERT DATA {{ {'' if each[1] == 'DEFAULT' else each[1]} {{ :a :p :b }} }} ;\n"
        f"{each[0]} {each[1].removeprefix('GRAPH ')} TO {each[2].removeprefix('GRAPH ')}"
        if each[1] != "DEFAULT"
        else f"{each[0]} DEFAULT TO {each[2].removeprefix('GRAPH ')}"
    )
)
REQUESTS = st.lists(
    st.one_of(DATA, MODIFY, DELETE_WHERE, CLEAR, TRANSFER), min_size=1, max_size=4
).map(lambda operations: PREFIX + " ;\n".join(operations))
QUADS = st.lists(
    st.tuples(TRIPLES, st.none() | GRAPHS).map(
        lambda pair: (*pair[0], *([] if pair[1] is None else [pair[1]]))
    ),
    max_size=8,
    unique=True,
)


@settings(max_examples=20_000 if THOROUGH else 36)
@given(QUADS, st.lists(REQUESTS, min_size=1, max_size=2))
def test_an_update_makes_what_oxigraph_makes(quads, requests):
    """Request by request, each of which is one epoch."""
    reasoner = Reasoner.from_rules("@input triple/3, quad/4 .")
    store = pyoxigraph.Store()
    lines = "".join(f"{' '.join(map(full, quad))} .\n" for quad in quads)
    store.load(lines, format=pyoxigraph.RdfFormat.N_QUADS)
    reasoner.apply(
        Update("quad" if len(quad) == 4 else "triple", tuple(from_ntriples(full(t)) for t in quad))
        for quad in quads
    )
    for epoch, request in enumerate(requests, 1):
        store.update(request)
        assert reasoner.update(request).epoch == epoch
        assert present(reasoner) == {
            tuple(canonical(str(term)) for term in quad if str(term) != "DEFAULT") for quad in store
        }


def full(term):
    """A term in N-Triples syntax."""
    if term.startswith(":"):
        return f"<{EX}{term[1:]}>"
    return f'"{term}"^^<http://www.w3.org/2001/XMLSchema#integer>' if term.isdigit() else term


def present(reasoner):
    """The present triples and quads."""
    return {
        tuple(row.values())
        for predicate in ("triple", "quad")
        for row in reasoner.facts(predicate).to_arrow().to_pylist()
    }
