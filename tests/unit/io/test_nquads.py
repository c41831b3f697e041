"""N-Quads, compared with pyoxigraph, and as blocks of ids."""

from __future__ import annotations

import gzip
import lzma

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import DataError
from streamreasoner.io.formats import nquads
from streamreasoner.io.formats.reading.document import Document
from streamreasoner.io.formats.reading.lines import BadLine, quads
from streamreasoner.rdf.dictionary import Dictionary

S = b"<http://a/s> <http://a/p> "
G = b" <http://a/g> "

ACCEPTED = [
    b"",
    b" # comment",
    S + b"<http://a/o> .",
    S + b"<http://a/o>" + G + b".",
    S + b"<http://a/o>" + G + b". # comment",
    b"<http://a/s><http://a/p><http://a/o><http://a/g>.",
    S + b"<http://a/o> _:g .",
    S + b"_:o _:g .",
    S + b"_:o.p _:g.h . # x .",
    S + b"_:o<http://a/g>.",
    S + b"_:o .",
    S + b'"x"' + G + b".",
    S + b'"x"<http://a/g>.',
    S + b'"<http://a/o> ." <http://a/g>.',
    S + b'"x"@EN' + G + b".",
    S + b'"x"@en_:g.',
    S + b'"1"^^<http://a/d>' + G + b".",
    S + b'"\\u00e9"^^<http://a/d>_:g\t.\r',
    S + b"<http://a/o> <http://a/\\u00E9> .",
]

REFUSED = [
    S + G,
    S + b"<http://a/o>" + G,
    S + b'<http://a/o> "g" .',
    S + b"<http://a/o>" + G + G + b".",
    S + b"<http://a/o> <g> .",
    S + b"<http://a/o> _: .",
    S + b"<http://a/o> _:g..",
    S + b"<http://a/o> . " + G + b".",
    S + b"_:o. <http://a/g> .",
    S + b"_:o.<http://a/g> .",
    S + b"<http://a/o>" + G + b"; .",
    S + b"<http://a/o> <http://a/\xc3> .",
    b'"s" <http://a/p> <http://a/o>' + G + b".",
    b"<http://a/s> _:p <http://a/o>" + G + b".",
    S + b"<<( <http://a/s> <http://a/p> )>>" + G + b".",
    b"@prefix a: <http://a/> .",
]
REFUSED_HERE_ONLY = {REFUSED[-2]}
"""Syntax that RDF 1.2 adds."""


def judge(line):
    """Tuples of one line by pyoxigraph, None if it refuses the line."""
    try:
        found = list(pyoxigraph.parse(line, format=pyoxigraph.RdfFormat.N_QUADS))
    except SyntaxError:
        return None
    default = pyoxigraph.DefaultGraph()
    return [
        tuple(map(str, tuple(quad)[: 3 if quad.graph_name == default else 4])) for quad in found
    ]


def blocks_of(source, dictionary=None, **options):
    """Facts of a document, block by block."""
    document = Document(source, **options)
    return list(nquads.read_facts(document, Dictionary() if dictionary is None else dictionary))


def read(text):
    """Tuples of a document block by block, triples first."""
    dictionary = Dictionary()
    blocks = [facts.args for facts in blocks_of([text], dictionary)]
    terms = dictionary.terms(0, len(dictionary)).to_pylist()
    return [tuple(terms[i] for i in row) for block in blocks for row in block.tolist()]


@pytest.mark.parametrize("line", ACCEPTED)
def test_accepted_lines(line):
    """A valid line gives what pyoxigraph reads; no fourth term means the default graph."""
    expected = [tuple(map(_canonical, found)) for found in judge(line)]

    assert quads(line) == expected
    assert read(line) == expected


def _canonical(term):
    """Pyoxigraph keeps the case of language tags."""
    return term.replace("@EN", "@en")


@pytest.mark.parametrize("line", REFUSED)
def test_refused_lines(line):
    """A bad line is refused as pyoxigraph does, adds no term and leaves its neighbours alone."""
    good = S + b"<http://a/o>" + G + b".\n"
    dictionary = Dictionary()
    bad: list[BadLine] = []
    blocks = blocks_of([good + line + b"\n" + good], dictionary, bad_lines=bad)

    assert line in REFUSED_HERE_ONLY or judge(line) is None
    assert [entry.line for entry in bad] == [2]
    assert bad[0].reason.endswith(".")
    assert [block.args.tolist() for block in blocks] == [[[0, 1, 2, 3], [0, 1, 2, 3]]]
    assert len(dictionary) == 4


nodes = st.sampled_from(["<http://a/1>", "<http://a/2>", "_:a", "_:b.c", "_:é"])
literals = st.builds(
    lambda text, tail: f'"{text}"{tail}',
    st.sampled_from(["", "x", "<http://a/1> .", "é", '\\n\\"', "_:a"]),
    st.sampled_from(["", "@en", "@en-gb", "^^<http://a/d>"]),
)
statements = st.tuples(
    nodes,
    st.sampled_from(["<http://a/p>", "<http://a/q>"]),
    st.one_of(nodes, literals),
    st.one_of(st.just(""), nodes),
).map(lambda terms: tuple(filter(None, terms)))


@given(st.lists(statements, max_size=12), st.sampled_from(["\n", "\r\n", "\r", "\n# c\n\n"]))
def test_round_trip(document, end):
    """Reading returns what was written: triples and quads, each in the order of lines."""
    text = "".join(" ".join(terms) + f" .{end}" for terms in document).encode()

    assert read(text) == sorted(document, key=len)


def test_blocks_are_of_one_arity():
    """Lines without a graph become blocks of three columns, the others of four."""
    text = S + b"_:a .\n" + S + b"_:a" + G + b".\n" + S + b"_:b .\n"
    blocks = [(facts.predicate, facts.args.tolist()) for facts in blocks_of([text])]

    assert blocks == [("triple", [[0, 1, 2], [0, 1, 4]]), ("quad", [[0, 1, 2, 3]])]


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)]
)
def test_packed_files(tmp_path, suffix, pack):
    """Plain, gzip and xz files give the same quads."""
    path = tmp_path / f"facts.nq{suffix}"
    path.write_bytes(pack(S + b"<http://a/o>" + G + b".\n"))

    assert [block.args.tolist() for block in blocks_of(path)] == [[[0, 1, 2, 3]]]


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_broken_archives(tmp_path, suffix):
    """A file that is not what its suffix says is a DataError naming it."""
    path = tmp_path / f"facts.nq{suffix}"
    path.write_bytes(b"not packed at all, but long enough to look at")

    with pytest.raises(DataError, match=rf"facts\.nq\{suffix}: cannot be read"):
        blocks_of(path)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (b'<http://a/o> "g" .', "At character 40 the graph, an <IRI> or a _:blankNode, or the dot"),
        (b"<http://a/o>" + G + b"x .", "At character 53 the dot that ends a quad is missing"),
        (b"<http://a/o> <g> .", "The graph at character 40: Term '<g>'"),
        (b"<http://a/o>" + G + b". x", "After the dot at character 53 only a comment may follow"),
    ],
)
def test_errors_name_file_and_line(tmp_path, rest, message):
    """Strict reading stops at the first bad line, and says where it is and what is wrong."""
    path = tmp_path / "facts.nq"
    path.write_bytes(S + b"<http://a/o> .\n\n# c\n" + S + rest + b"\n")

    with pytest.raises(DataError, match=rf"facts\.nq:4: {message}"):
        blocks_of(path)
