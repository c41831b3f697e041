"""Encode N-Triples lines as ids. Invariant: an encoded line is valid; any other adds no term.

A term is looked up before it is checked: terms in the dictionary are canonical already, so each
term is checked only on its first occurrence.
"""

# ruff: noqa: C901, PLR0917, PLR1714, PLR2004  (byte widths and branches are those of the format; numba has no all() or set)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import int64_column, load_byte, signed, stack_buffer
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.native.search import equal_bytes, find_byte, find_either
from streamreasoner.rdf.kernels.grammar import (
    AT,
    BACKSLASH,
    CARET,
    DOT,
    GREATER,
    LESS,
    QUOTE,
    UNDERSCORE,
    is_canonical,
    is_tag_byte,
)
from streamreasoner.rdf.kernels.hash_table import (
    ABSENT,
    FULL,
    UNCERTAIN,
    add,
    find,
    hash_term,
)

TAB = ord("\t")
NEWLINE = ord("\n")
RETURN = ord("\r")
SPACE = ord(" ")
ADD = ord("A")
DELETE = ord("D")

# Positions in the cursor: the text, byte offset of its next line, rows written, its lines read.
TEXT = 0
OFFSET = 1
ROWS = 2
LINES = 3
CURSOR_LENGTH = 4

# Columns of a row: ids of its terms, its sign, and the number of its line, from 1.
SUBJECT = 0
PREDICATE = 1
OBJECT = 2
GRAPH = 3
SIGN = 4
LINE = 5
ROW_LENGTH = 6

# Bits of a syntax: a graph may follow the object; A or D begins a line.
GRAPHS = 1
SIGNS = 2

DONE = 0

# Predicates of earlier lines, by some bits of their hash: length, hash, address of a text, and id.
RECENT = 64
RECENT_LENGTH = 4
recent_predicates = stack_buffer(8 * RECENT_LENGTH * RECENT)


@kernel
def scan(
    header: np.ndarray,
    cursor: np.ndarray,
    data: int,
    starts: np.ndarray,
    ends: np.ndarray,
    syntax: int,
    out: np.ndarray,
    counts: np.ndarray,
) -> int:
    """Encode the lines of texts until the end, or until a line that it cannot encode.

    Args:
        header: State of the dictionary.
        cursor: Where to start; updated to the line at which the scan stopped.
        data: Address from which texts are counted.
        starts: Where each text starts, int64 of shape (n,).
        ends: Where each text ends, int64 of shape (n,); its last line needs no line feed.
        syntax: `GRAPHS` for N-Quads, `GRAPHS | SIGNS` for RDF Patch, 0 for N-Triples.
        out: Rows, int32 of shape (rows, ROW_LENGTH), with enough for any texts of that length;
            the graph is ABSENT where a line has none.
        counts: Set to the rows written up to the end of each text, int64 of shape (n,).

    Returns:
        DONE; FULL if the dictionary must grow; UNCERTAIN if the line needs the exact path.
    """
    recent = forgotten(recent_predicates())
    text = cursor[TEXT]
    position = data + cursor[OFFSET]
    row, line = cursor[ROWS], cursor[LINES]
    status, subject, subject_address, subject_length = DONE, ABSENT, 0, 0
    while text < len(ends):
        end = data + ends[text]
        if position >= end:
            counts[text] = row
            text += 1
            if text < len(ends):
                position = data + starts[text]
                line = 0
            continue
        line_end = find_byte(position, end, NEWLINE)
        here = skip_blanks(position, line_end)
        if is_line_end(here, line_end):
            position = line_end + 1
            line += 1
            continue
        sign = 1
        if syntax & SIGNS:
            sign, here = sign_of(here, line_end)
            if sign == 0:
                status = UNCERTAIN
                break
        # Most files keep the triples of a subject together, so compare with the last one first.
        known_subject = (
            subject != ABSENT
            and line_end - here > subject_length
            and load_byte(here + subject_length) == SPACE
            and equal_bytes(here, subject_address, subject_length)
        )
        if not known_subject:
            subject = ABSENT
            subject_length = term_end(here, line_end) - here
        status = encode_terms(
            header, here, here + subject_length, line_end, subject, recent, syntax, out, row
        )
        if status != DONE:
            break
        if not known_subject:
            subject = out[row, SUBJECT]
            subject_address = here
        line += 1
        out[row, SIGN] = sign
        out[row, LINE] = line
        row += 1
        position = line_end + 1
    cursor[TEXT] = text
    cursor[OFFSET] = position - data
    cursor[ROWS] = row
    cursor[LINES] = line
    return status


@inlined
def sign_of(here: int, line_end: int) -> tuple[int, int]:
    """The sign that begins a line, 0 if there is none, and where its terms begin."""
    letter = load_byte(here)
    after = skip_blanks(here + 1, line_end)
    if (letter != ADD and letter != DELETE) or after == here + 1:
        return 0, here
    return 1 if letter == ADD else -1, after


@inlined
def encode_terms(
    header: np.ndarray,
    first: int,
    first_end: int,
    line_end: int,
    subject: int,
    recent: int,
    syntax: int,
    out: np.ndarray,
    row: int,
) -> int:
    """Write the ids of the terms of a line to a row; *subject* is the first one's, or ABSENT.

    Returns:
        The same as `scan`.
    """
    known_subject = subject != ABSENT
    second = skip_blanks(first_end, line_end)
    second_end = term_end(second, line_end)
    third = skip_blanks(second_end, line_end)
    third_end = term_end(third, line_end)
    fourth = skip_blanks(third_end, line_end)
    fourth_end = fourth
    if syntax & GRAPHS and fourth < line_end and load_byte(fourth) != DOT:
        fourth_end = term_end(fourth, line_end)
    here = skip_blanks(fourth_end, line_end)
    if (
        here >= line_end
        or load_byte(here) != DOT
        or load_byte(first) == QUOTE
        or load_byte(second) != LESS
        or load_byte(fourth) == QUOTE
        or not is_line_end(skip_blanks(here + 1, line_end), line_end)
    ):
        return UNCERTAIN
    # Look up all before any is added.
    first_hash = np.uint64(0)
    if not known_subject:
        first_hash = hash_term(header, first, first_end - first)
        subject = find(header, first, first_end - first, first_hash)
    second_hash = hash_term(header, second, second_end - second)
    predicate = find_again(header, recent, second, second_end - second, second_hash)
    third_hash = hash_term(header, third, third_end - third)
    object_ = find(header, third, third_end - third, third_hash)
    has_graph = fourth_end > fourth
    graph = ABSENT
    fourth_hash = np.uint64(0)
    if has_graph:
        fourth_hash = hash_term(header, fourth, fourth_end - fourth)
        graph = find(header, fourth, fourth_end - fourth, fourth_hash)
    new_graph = has_graph and graph == ABSENT
    if subject == ABSENT or predicate == ABSENT or object_ == ABSENT or new_graph:
        if (
            (subject == ABSENT and not is_canonical(first, first_end - first))
            or (predicate == ABSENT and not is_canonical(second, second_end - second))
            or (object_ == ABSENT and not is_canonical(third, third_end - third))
            or (new_graph and not is_canonical(fourth, fourth_end - fourth))
        ):
            return UNCERTAIN
        if subject == ABSENT:
            subject = add(header, first, first_end - first, first_hash)
        if predicate == ABSENT:
            predicate = add_after(header, second, second_end - second, second_hash)
        if object_ == ABSENT:
            object_ = add_after(header, third, third_end - third, third_hash)
        if new_graph:
            graph = add_after(header, fourth, fourth_end - fourth, fourth_hash)
        if subject == FULL or predicate == FULL or object_ == FULL or graph == FULL:
            return FULL
    out[row, SUBJECT] = subject
    out[row, PREDICATE] = predicate
    out[row, OBJECT] = object_
    out[row, GRAPH] = graph
    return DONE


@inlined
def forgotten(recent: int) -> int:
    """Forget the recent predicates; returns their address."""
    for entry in range(RECENT):
        int64_column(recent)[RECENT_LENGTH * entry] = 0
    return recent


@inlined
def find_again(
    header: np.ndarray, recent: int, address: int, length: int, hashed: np.uint64
) -> int:
    """Like `find`, of a term that other lines of the call are likely to have, as predicates are.

    It is compared with the text of an earlier line, which need not be expanded.
    """
    entry = int64_column(recent + 8 * RECENT_LENGTH * (signed(hashed >> np.uint64(32)) % RECENT))
    if entry[0] == length and entry[1] == signed(hashed) and equal_bytes(entry[2], address, length):
        return signed(entry[3])
    term = find(header, address, length, hashed)
    if term != ABSENT:
        entry[0], entry[1], entry[2], entry[3] = length, signed(hashed), address, term
    return term


@kernel
def add_after(header: np.ndarray, address: int, length: int, hashed: np.uint64) -> int:
    """Like `add`, unless an earlier position of the same line has just added the term."""
    term = find(header, address, length, hashed)
    return add(header, address, length, hashed) if term == ABSENT else term


@kernel
def skip_blanks(position: int, end: int) -> int:
    """Address of the first byte that is neither space nor tab."""
    while position < end and (load_byte(position) == SPACE or load_byte(position) == TAB):
        position += 1
    return position


@kernel
def is_line_end(position: int, line_end: int) -> bool:
    """Whether the line ends here, but for an optional carriage return."""
    return position >= line_end or (position + 1 == line_end and load_byte(position) == RETURN)


@kernel
def term_end(start: int, line_end: int) -> int:
    """End of the term that starts here; `line_end` if there is none."""
    if start >= line_end:
        return line_end
    first = load_byte(start)
    if first == LESS:
        return min(find_byte(start + 1, line_end, GREATER) + 1, line_end)
    if first == QUOTE:
        return literal_end(start + 1, line_end)
    if first == UNDERSCORE:
        return min(find_either(start, line_end, SPACE, TAB), find_byte(start, line_end, LESS))
    return line_end


@kernel
def literal_end(position: int, line_end: int) -> int:
    """End of the literal whose text starts here, after the opening quotation mark."""
    while True:
        position = find_either(position, line_end, QUOTE, BACKSLASH)
        if position >= line_end or load_byte(position) == QUOTE:
            break
        position += 2
    position += 1
    if position >= line_end:
        return line_end
    byte = load_byte(position)
    if byte == AT:
        position += 1
        while position < line_end and is_tag_byte(load_byte(position)):
            position += 1
        return position
    if byte == CARET:
        if line_end - position > 2 and load_byte(position + 2) == LESS:
            return min(find_byte(position + 3, line_end, GREATER) + 1, line_end)
        return line_end
    return position
