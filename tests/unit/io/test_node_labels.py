"""Labels of blank nodes of documents: those that are written, and those that are made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.io.formats import registry
from streamreasoner.io.formats.reading.document import Document
from streamreasoner.io.formats.reading.graphs import oxigraph
from streamreasoner.rdf.dictionary import Dictionary

LIKE_RANDOM = "abcdef0123456789abcdef0123456789"
TEXTS = {
    "turtle": (
        f"@prefix e: <http://e/> . e:a e:p [ e:q [] ], (1 2), _:{LIKE_RANDOM} . _:ab e:p _:x.y ."
    ),
    "trig": (
        f"@prefix e: <http://e/> . [] {{ e:a e:p [] . _:{LIKE_RANDOM} e:p _:ab . _:x.y e:p 1 }}"
    ),
    "json-ld": (
        f'{{"@id": "_:{LIKE_RANDOM}", "http://e/p": [{{"http://e/q": 1}}, {{"@id": "_:ab"}},'
        ' {"@id": "_:x.y"}]}'
    ),
    "rdf-xml": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
        f'<rdf:Description rdf:nodeID = "{LIKE_RANDOM}"><e:p><rdf:Description/></e:p>'
        "<e:p rdf:nodeID='ab'/><e:p rdf:nodeID='x.y'/></rdf:Description></rdf:RDF>"
    ),
}
WRITTEN = {f"_:{LIKE_RANDOM}", "_:ab", "_:x.y"}


def read(name, text, sizes=()):
    """The facts of a text that arrives in pieces of these sizes, and the rest."""
    pieces, rest = [], text.encode()
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    dictionary = Dictionary()
    document = Document([each for each in (*pieces, rest) if each], base="http://base/")
    format_ = next(each for each in registry.DOCUMENTS if each.name == name)
    return {
        tuple(dictionary.decode(row).to_pylist())
        for facts in registry.read_facts(format_, document, dictionary)
        for row in facts.args
    }


def nodes(facts):
    """The blank nodes of facts."""
    return {term for fact in facts for term in fact if term.startswith("_:")}


@pytest.mark.parametrize("name", TEXTS)
@given(sizes=st.lists(st.integers(1, 40), max_size=12))
def test_the_same_text_has_the_same_labels(name, sizes):
    """However its bytes arrive, so that retracting a file retracts what it asserted."""
    once = read(name, TEXTS[name])

    assert read(name, TEXTS[name], sizes) == once
    assert nodes(once) > WRITTEN


@pytest.mark.parametrize("name", TEXTS)
def test_other_texts_have_other_labels(name):
    """A node without a label in one text is not a node of another."""
    other = TEXTS[name].replace("http://e/", "http://f/")

    assert nodes(read(name, TEXTS[name])) & nodes(read(name, other)) == WRITTEN


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_node_keeps_its_label_between_batches(monkeypatch, batch):
    """Triples about one node stay about one node, whatever is read at a time."""
    monkeypatch.setattr(oxigraph, "_BATCH", batch)
    facts = read("turtle", "<http://e/a> <http://e/p> (1 2 3), [ <http://e/q> [] ] .")

    assert len(facts) == 9
    assert len(nodes(facts)) == 5
    assert facts == read("turtle", "<http://e/a> <http://e/p> (1 2 3), [ <http://e/q> [] ] .")
