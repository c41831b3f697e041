"""Turtle, compared with rdflib's reader of it."""

from __future__ import annotations

import pytest
import rdflib

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.errors import DataError
from streamreasoner.io.formats import registry, turtle
from streamreasoner.io.formats.reading.document import Document
from streamreasoner.io.formats.reading.graphs import oxigraph
from streamreasoner.rdf.dictionary import Dictionary

TEXT = """
@prefix a: <http://a/> .
@base <http://b/> .
<x> a a:C ; a:p 1, 1.5, "text"@en-GB, true .
@prefix late: <http://late/> .
late:y a:q <x>, (a:z) .
"""


def read(text):
    """The triples of a text, in its order."""
    dictionary = Dictionary()
    document = Document([text.encode()], "facts.ttl")
    blocks = [facts.args for facts in turtle.read_facts(document, dictionary)]
    terms = dictionary.terms(0, len(dictionary)).to_pylist()
    return [tuple(terms[i] for i in row) for block in blocks for row in block.tolist()]


def shape(triples):
    """Triples with one name for all blank nodes, whose labels are arbitrary."""
    return sorted(tuple("_:" if t.startswith("_:") else t for t in triple) for triple in triples)


def test_it_reads_what_rdflib_reads(monkeypatch):
    """Relative IRIs, prefixes, numbers, lists: the same triples, whatever the size of a batch."""
    expected = [
        tuple(map(to_ntriples, triple))
        for triple in rdflib.Graph().parse(data=TEXT, format="turtle")
    ]
    assert shape(read(TEXT)) == shape(expected)

    monkeypatch.setattr(oxigraph, "_BATCH", 2)
    assert shape(read(TEXT)) == shape(expected)


def test_a_mistake_is_named_with_its_line():
    """What precedes it may be returned; the error is not hidden."""
    with pytest.raises(DataError, match=r"^facts\.ttl:3:\d+: "):
        read("@prefix a: <http://a/> .\na:x a:p a:y .\na:x a:p .\n")


def test_prefixes_before_the_first_triple_are_declared(tmp_path):
    """Later ones are not read, and a file that is not Turtle declares none."""
    path = tmp_path / "facts.ttl"
    path.write_text(TEXT)
    assert registry.declared_prefixes(path) == {"a": "http://a/"}

    path.write_text("no turtle")
    assert registry.declared_prefixes(path) == {}
