"""Facts from files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from streamreasoner.errors import DataError
from streamreasoner.io.files.documents import Reading, load
from streamreasoner.io.formats.csv import cell_term
from streamreasoner.rdf.dictionary import Dictionary

XSD = "http://www.w3.org/2001/XMLSchema#"


def facts(path):
    """Facts of a file as text, with their predicates."""
    dictionary = Dictionary()
    found = []
    for block in load(path, dictionary):
        terms = dictionary.decode(block.args).to_pylist()
        arity = block.args.shape[1]
        rows = [tuple(terms[i : i + arity]) for i in range(0, len(terms), arity)]
        found.extend((block.predicate, *row) for row in rows)
    return found


def write(path, content):
    """Write a file with this content."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_ntriples(tmp_path):
    """N-Triples are facts of `triple`."""
    path = write(tmp_path / "a.nt", "<a:s> <a:p> <a:o> .\n")

    assert facts(path) == [("triple", "<a:s>", "<a:p>", "<a:o>")]


def test_nquads(tmp_path):
    """N-Quads are facts of `quad`; a line without a graph is a fact of `triple`."""
    text = "<a:s> <a:p> <a:o> <a:g> .\n<a:s> <a:p> <a:o> .\n<a:s> <a:p> 'x'@EN _:g .\n"
    path = write(tmp_path / "a.nq.gz", gzip.compress(text.replace("'", '"').encode()))

    assert facts(path) == [
        ("triple", "<a:s>", "<a:p>", "<a:o>"),
        ("quad", "<a:s>", "<a:p>", "<a:o>", "<a:g>"),
        ("quad", "<a:s>", "<a:p>", '"x"@en', "_:g"),
    ]


def test_bad_lines_can_be_collected(tmp_path):
    """Bad lines of N-Triples and N-Quads are reported by number, the others are facts."""
    good, bad = "<a:s> <a:p> <a:o> .\n", "<a:s> <a:p> .\n"
    for suffix in ("nt", "nq"):
        path = write(tmp_path / f"a.{suffix}", good + bad + good.replace("a:s", "a:t") + bad)
        lines = []
        blocks = list(load(path, Dictionary(), Reading(bad_lines=lines)))

        assert [line.line for line in lines] == [2, 4]
        assert sum(len(block.args) for block in blocks) == 2


def test_turtle(tmp_path):
    """Turtle abbreviations are expanded, literals are canonical."""
    text = '@prefix a: <a:> .\na:s a a:C ; a:p 1, "x"@EN, "\\u00e9" .\n'
    path = write(tmp_path / "a.ttl.gz", gzip.compress(text.encode()))

    assert [fact[3] for fact in facts(path)] == [
        "<a:C>",
        f'"1"^^<{XSD}integer>',
        '"x"@en',
        '"é"',
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a:s> <a:p> <a:o> .\n<a:s> <a:p> .\n", r"a\.ttl:2:13: "),
        (
            "<a:s> <a:p> << <a:s> <a:p> <a:o> .\n",
            r"a\.ttl:1:",
        ),
    ],
)
def test_bad_turtle(tmp_path, text, message):
    """The error for bad Turtle names file and line."""
    with pytest.raises(DataError, match=message):
        facts(write(tmp_path / "a.ttl", text))


def test_csv(tmp_path):
    """The file name is the predicate, records are facts, cells are typed by their form."""
    text = '<a:x>,1,"a, ""b"""\r\n\r\n"""é""@EN",-1.5,\r\n_:b,1e3,"two\nlines"\r\n'
    path = write(tmp_path / "edge.csv", "\ufeff" + text)

    assert facts(path) == [
        ("edge", "<a:x>", f'"1"^^<{XSD}integer>', '"a, \\"b\\""'),
        ("edge", '"é"@en', f'"-1.5"^^<{XSD}decimal>', '""'),
        ("edge", "_:b", f'"1e3"^^<{XSD}double>', '"two\\nlines"'),
    ]


@pytest.mark.parametrize(
    ("cell", "term"),
    [
        ("<not an iri>", '"<not an iri>"'),
        ('"open', '"\\"open"'),
        ("007", f'"007"^^<{XSD}integer>'),
        ("1.", '"1."'),
        (".5", f'".5"^^<{XSD}decimal>'),
        (" 1", '" 1"'),
        ("true", '"true"'),
        ("x", '"x"'),
    ],
)
def test_cells(cell, term):
    """A cell is a term, a number or a plain string."""
    assert cell_term(cell) == term


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", "a,b\nc\n", r"e\.csv:2: the record has 1 cells, but the first one has 2"),
        ("e.csv", 'a,b\n"c"d,e\n', r"e\.csv:2: not RFC 4180"),
        ("e.csv", 'a,b\n"c\n', r"e\.csv:2: not RFC 4180"),
        ("e.csv", b"a\n\xff\n", r"e\.csv:\d: not UTF-8"),
        ("triple.csv", "<a:s>,<a:p>\n", r"triple\.csv:1: a triple has 3 cells, not 2"),
        ("triple.csv", "<a:s>,<a:p>,1\n1,<a:p>,1\n", r"triple\.csv:2: the subject"),
        ("triple.csv", "<a:s>,_:p,1\n", r"triple\.csv:1: the subject"),
        ("quad.csv", "<a:s>,<a:p>,1\n", r"quad\.csv:1: a quad has 4 cells, not 3"),
        ("quad.csv", "<a:s>,<a:p>,1,_:g\n<a:s>,<a:p>,1,g\n", r"quad\.csv:2: .* its graph an"),
        ("quad.csv", "<a:s>,_:p,1,_:g\n", r"quad\.csv:1: the subject of a quad"),
        ("a.nq", '<a:s> <a:p> <a:o> "g" .\n', r"a\.nq:1: At character 19 the graph, an"),
        ("a.rdfs", "<rdf/>", r"a\.rdfs: the suffix is not that of a known format\. Known are \.nt"),
        ("a.csv.gz", "not packed", r"a\.csv\.gz: cannot be read"),
        ("a.ttl.gz", "not packed", r"a\.ttl\.gz: cannot be read"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    """Every bad file raises a DataError that names it, and the line if there is one."""
    with pytest.raises(DataError, match=message):
        facts(write(tmp_path / name, content))


def test_large_files_come_in_blocks(tmp_path):
    """A long CSV file comes in several blocks, in order."""
    path = write(tmp_path / "n.csv", "".join(f"{i}\n" for i in range(70_000)))
    dictionary = Dictionary()
    blocks = [block.args for block in load(path, dictionary)]

    assert len(blocks) == 2
    assert np.array_equal(np.concatenate(blocks)[:, 0], np.arange(70_000))
