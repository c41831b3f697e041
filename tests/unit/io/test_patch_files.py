"""RDF Patch in files: the same updates as in a message, in blocks of any size."""

from __future__ import annotations

import gzip
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.errors import DataError
from streamreasoner.io.formats.rdf_patch import read_facts
from streamreasoner.io.formats.reading.document import Document
from streamreasoner.rdf.dictionary import Dictionary

EX = "http://example.org/"
CHANGES = st.tuples(st.sampled_from("AD"), st.integers(0, 3), st.sampled_from(["", " <u:g>"]))
# The outcome of a transaction, or None for changes without one.
PARTS = st.lists(
    st.tuples(st.sampled_from(["TC", "TA", None]), st.lists(CHANGES, max_size=5)), max_size=6
)


def line(change):
    """A line of a patch."""
    operation, number, graph = change
    return f"{operation} <u:{number}> <u:p> _:o{graph} .\n"


@given(parts=PARTS, chunk=st.integers(1, 60))
def test_a_patch_is_what_its_transactions_keep(parts, chunk):
    """Transactions may begin and end in any block of the file."""
    text, expected = "", Counter()
    for outcome, changes in parts:
        lines = "".join(map(line, changes))
        text += lines if outcome is None else f"TX .\n{lines}{outcome} .\n"
        for operation, number, graph in changes if outcome != "TA" else ():
            fact = (f"<u:{number}>", "<u:p>", "_:o", *graph.split())
            expected[fact] += 1 if operation == "A" else -1
    dictionary, found = Dictionary(), Counter()
    for facts in read_facts(Document([text.encode()]), dictionary, chunk):
        assert facts.predicate == ("quad" if facts.args.shape[1] == 4 else "triple")
        for ids, diff in zip(facts.args, facts.diff.tolist(), strict=True):
            found[tuple(dictionary.decode(ids).to_pylist())] += diff
    assert +found == +expected
    assert -found == -expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TX .\nA <u:s> <u:p> <u:o> .\n", "a.rdfp: The last transaction has neither TC nor TA"),
        ("A <u:s> <u:p> <u:o> .\nA <u:s> <u:p>\n", "a.rdfp: The last row has no end"),
        ("A e:s <u:p> <u:o> .\n", "a.rdfp:1: The prefix e: of e:s is unknown"),
    ],
)
def test_a_mistake_has_a_place(tmp_path, text, message):
    """The file, and the line unless it is missing."""
    path = tmp_path / "a.rdfp"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(read_facts(Document(path), Dictionary()))


def test_a_reasoner_takes_the_signs(tmp_path):
    """Deletions of a compressed patch retract what other files assert, in the same epoch."""
    facts, patch = tmp_path / "facts.nt", tmp_path / "patch.rdfp.gz"
    facts.write_text(f"<{EX}a> <{EX}p> <{EX}b> .\n<{EX}b> <{EX}p> <{EX}c> .\n", encoding="utf-8")
    changes = f'PA "" <{EX}> .\nD :a :p :b .\nA :c :p :d .\nD :d :p :d .\n'
    patch.write_bytes(gzip.compress(changes.encode()))
    reasoner = Reasoner.from_rules("path(?x, ?y) :- [?x, _, ?y] .")
    reasoner.load(facts, patch)
    assert {tuple(map(str, fact)) for fact in reasoner.facts("path")} == {
        (f"{EX}b", f"{EX}c"),
        (f"{EX}c", f"{EX}d"),
    }
