"""The scanner of lines against the exact parser, line by line, with a dictionary that fills."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.rdf.kernels.headers import SmallDictionary, memory

from streamreasoner.errors import DataError
from streamreasoner.io.formats.reading import lines as exact
from streamreasoner.rdf.kernels import hash_table, term_header
from streamreasoner.rdf.kernels import line_scanner as scanner

SYNTAXES = st.sampled_from((0, scanner.GRAPHS, scanner.GRAPHS | scanner.SIGNS))
# Some begin like others.
SUBJECTS = st.sampled_from((b"<urn:a>", b"<urn:ab>", b"_:b", b"_:bc"))
OBJECTS = st.sampled_from((b"<urn:a>", b"_:b", b'"x"', b'"x \\" ."', b'"x"@en', b'"1"^^<urn:d>'))
GRAPHS = st.sampled_from((b"", b"", b" <urn:g>", b"\t_:g", b" <urn:a>"))
SIGNS = st.sampled_from((b"", b"A ", b"D\t", b" D  "))
GAPS = st.sampled_from((b" ", b"  ", b"\t"))
PLAIN = st.builds(
    lambda sign, s, first, p, second, o, g, last: sign + s + first + p + second + o + g + last,
    SIGNS, SUBJECTS, GAPS, st.sampled_from((b"<urn:p>", b"<urn:a>")), GAPS, OBJECTS, GRAPHS,
    st.sampled_from((b" .", b".", b" . ", b" .\r")),
)  # fmt: skip
OTHERS = st.one_of(
    st.sampled_from(
        (b"", b" ", b"# c", b"<urn:a> <urn:p> .", b"<urn:a> <urn:p> <urn:o>", b'"x" <urn:p> "y" .',
         b'<urn:a> <urn:p> "x"@EN .', b'<urn:n> <urn:m> "\\q" .', b"_:b<urn:p>_:b .", b"\xff",
         b'<urn:a> <urn:p> <urn:o> "g" .', b"TX .", b"A", b"A<urn:a> <urn:p> <urn:o> .")
    ),
    PLAIN.map(lambda line: line[:-3]),
)  # fmt: skip
TEXTS = st.lists(st.lists(st.one_of(PLAIN, OTHERS), max_size=6), min_size=1, max_size=4)


@given(TEXTS, SYNTAXES, st.integers(0, 9), st.booleans())
def test_lines_are_those_of_the_exact_parser(texts, syntax, limit, ended):
    """An encoded line has the parser's terms, an uncertain one adds none, and plain ones pass."""
    small, expected, model = SmallDictionary(limit, 64), [], {}
    # Other bytes stand between the texts; the last line of a text needs no line feed.
    encoded = [b"\n".join(lines) + (b"\n" if ended and lines else b"") for lines in texts]
    data = memory(b"<".join(encoded))
    ends = np.cumsum([len(text) + 1 for text in encoded]) - 1
    starts = ends - [len(text) for text in encoded]
    counts, cursor = np.zeros(len(texts), np.int64), np.zeros(scanner.CURSOR_LENGTH, np.int64)
    out = np.full((sum(map(len, texts)) + 1, scanner.ROW_LENGTH), -9, np.int32)
    uncertain = set()
    while (
        status := scanner.scan(
            small.header, cursor, data.ctypes.data, starts, ends, syntax, out, counts
        )
    ) != scanner.DONE:
        text, number = int(cursor[scanner.TEXT]), int(cursor[scanner.LINES])
        before = sum(len(line) + 1 for line in texts[text][:number])
        assert cursor[scanner.OFFSET] == starts[text] + before
        if status == hash_table.FULL:
            small.header[term_header.COUNT_LIMIT] += 1
        else:
            assert status == hash_table.UNCERTAIN
            uncertain.add((text, number))
            cursor[scanner.OFFSET] += len(texts[text][number]) + 1
            cursor[scanner.LINES] += 1
    expected_counts = []
    for text, lines in enumerate(texts):
        for number, line in enumerate(lines):
            if (text, number) not in uncertain:
                for sign, terms in parsed(line, syntax):
                    ids = [model.setdefault(term, len(model)) for term in terms]
                    graph = ids[3:] or [hash_table.ABSENT]
                    expected.append([*ids[:3], *graph, sign, number + 1])
        expected_counts.append(len(expected))

    assert cursor[scanner.ROWS] == len(expected)
    assert cursor[scanner.TEXT] == len(texts)
    assert counts.tolist() == expected_counts
    assert out[: len(expected)].tolist() == expected
    assert (out[len(expected) :] == -9).all()
    assert [term.decode() for term in small.terms()] == list(model)
    assert all(is_not_plain(texts[text][number], syntax) for text, number in uncertain)


def parsed(line, syntax):
    """The sign and the terms of each statement of a line, by the exact parser."""
    sign = 1
    if syntax & scanner.SIGNS and line.strip(b" \t\r"):
        rest = line.lstrip(b" \t")
        if rest[:1] not in {b"A", b"D"} or rest[1:2] not in {b" ", b"\t"}:
            raise DataError("The line has no sign.")
        sign, line = (1 if rest[:1] == b"A" else -1), rest[1:]
    parse = exact.quads if syntax & scanner.GRAPHS else exact.triples
    return [(sign, terms) for terms in parse(line)]


def is_not_plain(line, syntax):
    """Whether a line is not one statement, or has terms that are not written canonically."""
    try:
        statements = parsed(line, syntax)
    except DataError:
        return True
    # Where a label ends depends on what follows the dot.
    dotted = b"_:b." in line or b"_:g." in line
    written = all(term.encode() in line for _, terms in statements for term in terms)
    return not statements or dotted or not written
