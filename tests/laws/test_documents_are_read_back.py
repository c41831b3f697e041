"""What is written as a document is read as the same graph, with all terms of RDF 1.2."""

from __future__ import annotations

import io
import re
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from conformance.rows import difference
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner import Reasoner
from streamreasoner.cli.offline.closure import print_closure
from streamreasoner.io.codec.decode import NO_LIMITS, Codec
from streamreasoner.io.files.documents import Reading, load
from streamreasoner.io.formats.registry import of_name
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import canonical, quoted

RULES = "@output triple, quad/4 ."
NAMES_OF = {"triple": "spo", "quad": "spog"}
PREFIXES = {"e": "http://e.x/"}
NAMES = st.sampled_from("abc")
IRIS = NAMES.map("<http://e.x/{}>".format)
RESOURCES = IRIS | NAMES.map("_:{}".format)
TEXTS = st.text(st.sampled_from('"\\\n\r\t <>)(@-_:é\u2028'), max_size=5).map(quoted)
LITERALS = st.one_of(
    TEXTS,
    st.builds("{}@{}".format, TEXTS, st.sampled_from(["en", "en--ltr", "ar-eg--rtl"])),
    TEXTS.map("{}^^<http://e.x/datatype>".format),
)
TERMS = st.recursive(
    RESOURCES | LITERALS,
    lambda inner: st.builds("<<( {} {} {} )>>".format, RESOURCES, IRIS, inner),
    max_leaves=4,
).map(canonical)
TRIPLES = st.sets(st.tuples(RESOURCES, IRIS, TERMS), max_size=6)
QUADS = st.sets(st.tuples(RESOURCES, IRIS, TERMS, IRIS), max_size=6)


def reasoner_of(facts):
    """A reasoner with triples and quads."""
    reasoner = Reasoner.from_rules(RULES)
    for predicate, names in NAMES_OF.items():
        rows = [fact for fact in facts if len(fact) == len(names)]
        if rows:
            columns = dict(zip(names, zip(*rows, strict=True), strict=True))
            reasoner.apply_arrow(pa.table(columns), predicate)
    return reasoner


def written(facts, name):
    """Facts as a document."""
    stream = io.BytesIO()
    session = reasoner_of(facts).session
    predicates = [
        each for each, names in NAMES_OF.items() if any(len(names) == len(f) for f in facts)
    ]
    print_closure(session, predicates, of_name(name), stream, PREFIXES, inferred=False)
    return stream.getvalue()


def received(values, name):
    """The facts that messages say."""
    count = len(values)
    batch = pa.table(
        {
            "topic": ["t"] * count,
            "partition": [0] * count,
            "offset": [*range(count)],
            "key": pa.nulls(count, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "timestamp": pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * count),
            "headers": pa.nulls(count),
        }
    )
    dictionary = Dictionary()
    options = replace(NO_LIMITS, default=of_name(name))
    decoded = Codec(dictionary, None, options).decode(batch)
    assert decoded.rejected == ()
    return {
        tuple(dictionary.decode(row).to_pylist()) for each in decoded.updates for row in each.args
    }


def loaded(text, name):
    """The facts of a document that is a file."""
    dictionary = Dictionary()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "document")
        path.write_bytes(text)
        blocks = [*load(path, dictionary, Reading(of_name(name)))]
    return {tuple(dictionary.decode(row).to_pylist()) for facts in blocks for row in facts.args}


@given(triples=TRIPLES, quads=QUADS)
def test_documents_are_read_as_written(triples, quads):
    """As files and as messages; Turtle and TriG announce the version where it is needed."""
    for name, facts in (
        ("turtle", triples),
        ("ntriples", triples),
        ("trig", triples | quads),
        ("nquads", triples | quads),
        ("json", triples | quads),
    ):
        text = written(facts, name)
        is_new = any(re.search(r'^<<|"@[a-z-]+--[lr]t[lr]$', fact[2]) for fact in facts)
        assert text.startswith(b"VERSION") == (is_new and name in {"turtle", "trig"})
        if name == "json":
            assert received(text.splitlines(), name) == facts
        elif text:
            assert loaded(text, name) == received([text], name) == facts


@given(triples=TRIPLES)
def test_rdf_xml_is_read_as_written(triples):
    """Up to names of blank nodes, which are of the document, as XML has others."""
    answer = reasoner_of(triples).query("CONSTRUCT WHERE { ?s ?p ?o }")
    text = answer.serialize("rdf-xml")
    found = loaded(text, "rdf-xml")
    assert difference(triples, found) is None
    assert received([text], "rdf-xml") == found


@given(triples=TRIPLES, quads=QUADS, data=st.data())
def test_lines_are_messages_of_their_own(triples, quads, data):
    """However lines are spread over messages, and in which order, they say the same."""
    facts = triples | quads
    lines = data.draw(st.permutations(written(facts, "nquads").splitlines(keepends=True)))
    cuts = data.draw(st.sets(st.integers(0, len(lines))))
    bounds = [0, *sorted(cuts), len(lines)]
    values = [b"".join(lines[start:end]) for start, end in pairwise(bounds)]
    with_version = [data.draw(st.sampled_from([b"", b'VERSION "1.2"\n'])) + each for each in values]
    assert received(values, "nquads") == received(with_version, "nquads") == facts
