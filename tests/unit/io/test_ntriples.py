"""The N-Triples scanner, compared with the exact parser and with pyoxigraph."""

from __future__ import annotations

import gzip
import lzma

import numpy as np
import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import DataError
from streamreasoner.io.formats.ntriples import read
from streamreasoner.io.formats.reading.lines import BadLine, triples
from streamreasoner.rdf.dictionary import Dictionary

S = b"<http://a/s> <http://a/p> "

ACCEPTED = [
    b"",
    b" \t",
    b"# comment",
    b"  # comment <http://a/s>",
    S + b"<http://a/o> .",
    S + b"<http://a/o> . # comment",
    S + b"<http://a/o>. ",
    S + b"<http://a/o> .\r",
    b"\t<http://a/s>\t<http://a/p>\t<http://a/o>\t.\t",
    b"<http://a/s><http://a/p><http://a/o>.",
    b"_:a <http://a/p> _:b .",
    b"_:a<http://a/p>_:b.",
    b"_:a.b <http://a/p> _:b.c. # d .",
    S + "_:é .".encode(),
    S + "<http://a/é> .".encode(),
    S + b"<http://a/\\u00E9> .",
    S + b"<http://a/%41> .",
    S + b"<urn:x> .",
    S + b"<http://[::1]/> .",
    S + b'"" .',
    S + b'"x".',
    S + b'"x\\ty\\"z\\\\" .',
    S + b'"\\u00e9\\U0001F600" .',
    S + '"é\U0001f600\ufffd" .'.encode(),
    S + '"\ufffe\x00\x7f\t\'" .'.encode(),
    S + b'"<a> . \\" # b" .',
    S + b'"x"@en .',
    S + b'"x"@en-GB.',
    S + b'"x"^^<http://a/d> .',
    S + b'"x"^^<http://www.w3.org/2001/XMLSchema#string> .',
    S + b'"1"^^<http://www.w3.org/2001/XMLSchema#integer>.',
    S + b'"x" @en .',
    S + b'"x" ^^ <http://a/d> .',
]

REFUSED = [
    b"x",
    b"<http://a/s>",
    S,
    S + b"<http://a/o>",
    S + b"<http://a/o> ;",
    S + b"<http://a/o> . x",
    S + b"<http://a/o> .\x0c",
    S + b"<http://a/o> . " + S + b"<http://a/o> .",
    S + b"<http://a/o> <http://a/g> .",
    b'"x" <http://a/p> <http://a/o> .',
    b"<http://a/s> _:p <http://a/o> .",
    b'<http://a/s> "p" <http://a/o> .',
    b"a <http://a/p> <http://a/o> .",
    b" \xef\xbb\xbf" + S + b"<http://a/o> .",
    S + b"<o> .",
    S + b"<> .",
    S + b"<http://a/o .",
    S + b"<http://a/ o> .",
    S + b"<http://a/\\u0020> .",
    S + b"<http://a/\\n> .",
    S + b"<http://a/%zz> .",
    S + b"<http://a/%4> .",
    S + b"<http://a/{o}> .",
    S + b"<http://a:b/> .",
    S + b"<http://a/#b#c> .",
    S + b"<http://a/\xc3> .",
    S + b"_: .",
    S + b"_:-a .",
    S + b"1 .",
    S + b"true .",
    S + b"'x' .",
    S + b'"""x""" .',
    S + b'"x .',
    S + b'"x\\" .',
    S + b'"x\\q" .',
    S + b'"\\ud800" .',
    S + b'"\\uD83D\\uDE00" .',
    S + b'"\\U00110000" .',
    S + b'"\xff" .',
    S + b'"\xed\xa0\x80" .',
    S + b'"\xc0\xaf" .',
    S + b'"\xf4\x90\x80\x80" .',
    S + b'"x"@ .',
    S + b'"x"@1 .',
    S + b'"x"@en- .',
    S + b'"x"@waytoolongtag .',
    S + b'"x"^^<d> .',
    S + b'"x"^^"d" .',
    S + b'"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .',
    b"@prefix a: <http://a/> .",
]


def decode(blocks, dictionary):
    """Triples of blocks as text."""
    ids = [row for block in blocks for row in block.tolist()]
    terms = dictionary.terms(0, len(dictionary)).to_pylist()
    return [tuple(terms[i] for i in row) for row in ids]


def scan(text, **options):
    """Triples of a document and the numbers of its bad lines."""
    dictionary = Dictionary()
    bad: list[BadLine] = []
    blocks = list(read([text], dictionary, bad_lines=bad, **options))
    return decode(blocks, dictionary), [line.line for line in bad]


def judge(line):
    """Triples of one line by pyoxigraph, None if it refuses the line."""
    try:
        quads = list(pyoxigraph.parse(line, format=pyoxigraph.RdfFormat.N_TRIPLES))
    except SyntaxError:
        return None
    return [(str(q.subject), str(q.predicate), str(q.object)) for q in quads]


def is_utf8(line):
    """Whether the bytes are UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("line", ACCEPTED)
def test_accepted_lines(line):
    """Scanner and parser give for a valid line the triples that pyoxigraph reads."""
    found, bad = scan(line)

    assert bad == []
    assert found == judge(line)
    assert found == triples(line)


@pytest.mark.parametrize("line", REFUSED)
def test_refused_lines(line):
    """A bad line is refused as pyoxigraph does, adds no term and leaves its neighbours alone."""
    good = S + b"<http://a/o> .\n"
    dictionary = Dictionary()
    bad: list[BadLine] = []
    blocks = list(read([good + line + b"\n" + good], dictionary, bad_lines=bad))

    assert judge(line) is None
    assert [entry.line for entry in bad] == [2]
    assert bad[0].reason.endswith(".")
    assert sum(map(len, blocks)) == 2
    assert len(dictionary) == 3


@pytest.mark.parametrize("line", [*ACCEPTED, *REFUSED])
def test_known_terms_are_judged_alike(line):
    """The result for a line is the same if the dictionary already has all its terms."""
    text = b"\n".join([*ACCEPTED, line, line])
    found, bad = scan(text)
    alone, refused = scan(line)
    expected = scan(b"\n".join(ACCEPTED))[0]

    assert found == expected + alone + alone
    assert len(bad) == 2 * len(refused)


terms = st.sampled_from(
    [
        b"<http://a/s>",
        b"<http://a/p>",
        b"<a>",
        "<http://a/é>".encode(),
        b"<http://a:1/%41#>",
        b"_:b",
        b"_:b.",
        b'"x"',
        b'"x"@en',
        b'"x"@EN',
        b'"x\\n"',
        b'"\\u0041"',
        b'"1"^^<http://a/d>',
        b'"',
        b"<",
        b">",
        b".",
        b"^^",
        b"@",
        b"#",
        b"\\",
        b"\r",
        b"\xff",
        b"",
    ]
)
lines = st.one_of(
    st.builds(
        lambda parts, gaps, end: b"".join(p + g for p, g in zip(parts, gaps, strict=True)) + end,
        st.lists(terms, min_size=3, max_size=3),
        st.lists(st.sampled_from([b" ", b"", b"\t ", b"  "]), min_size=3, max_size=3),
        st.sampled_from([b".", b" .", b". ", b". # c", b"", b". .", b".\r"]),
    ),
    st.binary(max_size=40).filter(lambda line: b"\n" not in line),
)


@given(st.lists(lines, max_size=12), st.integers(1, 64))
def test_scanner_is_the_exact_path(document, chunk_bytes):
    """Scanner and exact parser agree on any lines, however small the chunks are."""
    expected, refused = [], []
    for number, line in enumerate(document, start=1):
        try:
            expected.extend(triples(line))
        except DataError:
            refused.append(number)

    assert scan(b"\n".join(document), chunk_bytes=chunk_bytes) == (expected, refused)


@given(st.lists(lines, min_size=1, max_size=8))
def test_valid_lines_of_pyoxigraph_are_valid(document):
    """What pyoxigraph accepts gives the same triples, except comments that are not UTF-8."""
    for line in document:
        judged = judge(line)
        if judged is not None and is_utf8(line):
            assert triples(line) == judged


def test_blocks_do_not_depend_on_pieces():
    """Ids do not depend on how the input is split into pieces and chunks."""
    text = b"".join(S + b'"%d" .\n' % i for i in range(2000)) + S + b"<http://a/last> ."
    whole = np.concatenate(list(read([text], Dictionary())))
    pieces = [text[i : i + 7] for i in range(0, len(text), 7)]
    cut = np.concatenate(list(read(pieces, Dictionary(), chunk_bytes=100)))

    assert whole.shape == (2001, 3)
    assert np.array_equal(whole, cut)


def test_lines_longer_than_a_chunk():
    """A literal of several megabytes is one term."""
    text = S + b'"' + b"x" * 3_000_000 + b'" .\n' + S + b'"y" .\n'
    blocks = list(read([text], Dictionary(), chunk_bytes=1000))

    assert np.concatenate(blocks).tolist() == [[0, 1, 2], [0, 1, 3]]


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)]
)
def test_packed_files(tmp_path, suffix, pack):
    """Plain, gzip and xz files give the same triples."""
    path = tmp_path / f"facts.nt{suffix}"
    path.write_bytes(pack(S + b"<http://a/o> .\n" + S + b'"x" .\n'))
    dictionary = Dictionary()

    assert np.concatenate(list(read(path, dictionary))).tolist() == [[0, 1, 2], [0, 1, 3]]


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_broken_archives(tmp_path, suffix):
    """A file that is not what its suffix says is a DataError naming it."""
    path = tmp_path / f"facts.nt{suffix}"
    path.write_bytes(b"not packed at all, but long enough to look at")

    with pytest.raises(DataError, match=rf"facts\.nt\{suffix}: cannot be read"):
        list(read(path, Dictionary()))


def test_truncated_archives(tmp_path):
    """A gzip file that ends too early is an error, not a short document."""
    path = tmp_path / "facts.nt.gz"
    path.write_bytes(gzip.compress(S + b"<http://a/o> .\n")[:-9])

    with pytest.raises(DataError, match="cannot be read"):
        list(read(path, Dictionary()))


def test_missing_files(tmp_path):
    """A missing file raises a DataError naming it."""
    with pytest.raises(DataError, match=r"nowhere\.nt: cannot be opened \(No such file"):
        list(read(tmp_path / "nowhere.nt", Dictionary()))


def test_errors_name_file_and_line(tmp_path):
    """Strict reading stops at the first bad line, and says where it is."""
    path = tmp_path / "facts.nt"
    path.write_bytes(S + b"<http://a/o> .\n\n# c\n" + S + b"<o> .\n")

    with pytest.raises(DataError, match=r"facts\.nt:4: The object at character 27: Term '<o>'"):
        list(read(path, Dictionary()))


def test_carriage_returns_end_lines():
    """A carriage return alone separates triples, as in the grammar."""
    found, bad = scan(S + b"<http://a/o> .\r" + S + b'"x" .\r\r\n' + S + b'"y" .\r\n')

    assert [triple[2] for triple in found] == ["<http://a/o>", '"x"', '"y"']
    assert bad == []
