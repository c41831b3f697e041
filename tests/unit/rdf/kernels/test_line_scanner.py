"""The scanner of lines against the exact parser, line by line, with a dictionary that fills."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from unit.rdf.kernels.headers import SmallDictionary, memory

from streamreasoner.errors import DataError
from streamreasoner.io.formats.lines import triples
from streamreasoner.rdf.kernels import hash_table, line_scanner

# Some begin like others.
SUBJECTS = st.sampled_from((b"<urn:a>", b"<urn:ab>", b"_:b", b"_:bc"))
OBJECTS = st.sampled_from((b"<urn:a>", b"_:b", b'"x"', b'"x \\" ."', b'"x"@en', b'"1"^^<urn:d>'))
GAPS = st.sampled_from((b" ", b"  ", b"\t"))
PLAIN = st.builds(
    lambda s, first, p, second, o, last: s + first + p + second + o + last,
    SUBJECTS, GAPS, st.sampled_from((b"<urn:p>", b"<urn:a>")), GAPS, OBJECTS,
    st.sampled_from((b" .", b".", b" . ", b" .\r")),
)  # fmt: skip
OTHERS = st.one_of(
    st.sampled_from(
        (b"", b" ", b"# c", b"<urn:a> <urn:p> .", b"<urn:a> <urn:p> <urn:o>", b'"x" <urn:p> "y" .',
         b'<urn:a> <urn:p> "x"@EN .', b'<urn:n> <urn:m> "\\q" .', b"_:b<urn:p>_:b .", b"\xff")
    ),
    PLAIN.map(lambda line: line[:-3]),
)  # fmt: skip


@given(st.lists(st.one_of(PLAIN, OTHERS), max_size=10), st.integers(0, 9))
def test_lines_are_those_of_the_exact_parser(lines, limit):
    """An encoded line has the parser's terms, an uncertain one adds none, and plain ones pass."""
    small, expected, model = SmallDictionary(limit, 64), [], {}
    text = b"".join(line + b"\n" for line in lines)
    data, cursor = memory(text), np.zeros(line_scanner.CURSOR_LENGTH, np.int64)
    out, uncertain = np.full((len(lines) + 1, 3), -9, np.int32), set()
    while (
        status := line_scanner.scan(small.header, cursor, data.ctypes.data, len(text), out)
    ) != line_scanner.DONE:
        number = int(cursor[line_scanner.LINES])
        assert cursor[line_scanner.OFFSET] == sum(len(line) + 1 for line in lines[:number])
        if status == hash_table.FULL:
            small.header[hash_table.COUNT_LIMIT] += 1
        else:
            assert status == hash_table.UNCERTAIN
            uncertain.add(number)
            cursor[line_scanner.OFFSET] += len(lines[number]) + 1
            cursor[line_scanner.LINES] += 1
    for number, line in enumerate(lines):
        if number not in uncertain:
            expected += [
                [model.setdefault(t, len(model)) for t in terms] for terms in triples(line)
            ]

    assert cursor.tolist() == [len(text), len(expected), len(lines)]
    assert out[: len(expected)].tolist() == expected
    assert (out[len(expected) :] == -9).all()
    assert [term.decode() for term in small.terms()] == list(model)
    assert all(is_not_plain(lines[number]) for number in uncertain)


def is_not_plain(line):
    """Whether a line is not one triple, or has terms that are not written canonically."""
    try:
        parsed = triples(line)
    except DataError:
        return True
    # Where a label ends depends on what follows the dot.
    dotted = b"_:b." in line
    return not parsed or dotted or any(t.encode() not in line for terms in parsed for t in terms)
