"""Names and words of an update in JSON. Invariant: what looks otherwise in any byte is unknown."""

# ruff: noqa: C901, PLR2004  (branches and lengths are those of the names)

from __future__ import annotations

import numpy as np

from streamreasoner.native.addresses import load_byte
from streamreasoner.native.compile import kernel
from streamreasoner.rdf.kernels.grammar import QUOTE, is_text

# Fields, as bit flags; the first three are the arguments of a triple, in their order.
SUBJECT, PREDICATE, OBJECT = 1, 2, 4
NAME, ARGUMENTS, DIFF, TIME, EPOCH = 8, 16, 32, 64, 128
OF_TRIPLE = SUBJECT | PREDICATE | OBJECT
OF_FACT = NAME | ARGUMENTS
SHAPE = OF_TRIPLE | OF_FACT | DIFF
TRIPLE, FACT = OF_TRIPLE | DIFF, OF_FACT | DIFF
"""Which of the fields of `SHAPE` the two shapes of an update have."""

_S, _P, _O, _T = (ord(letter) for letter in "spot")
_SPACE, _TAB, _NEWLINE, _RETURN = (ord(character) for character in " \t\n\r")
_NAME, _ARGUMENTS, _DIFF, _EPOCH, _TRUE, _FALSE, _NULL = (
    np.frombuffer(text.encode(), dtype=np.uint8)
    for text in ("predicate", "args", "diff", "epoch", "true", "false", "null")
)


@kernel
def read_field(position: int, end: int) -> tuple[int, int]:
    """The field whose name starts at an address, 0 if unknown; and the address behind its name."""
    behind = position
    while behind < end and behind - position <= len(_NAME) and load_byte(behind) != QUOTE:
        behind += 1
    length = behind - position
    if behind >= end or length == 0:
        return 0, behind
    field = 0
    letter = load_byte(position)
    if length == 1:
        if letter == _S:
            field = SUBJECT
        elif letter == _P:
            field = PREDICATE
        elif letter == _O:
            field = OBJECT
    elif length == 2:
        if letter == _T and load_byte(position + 1) == _S:
            field = TIME
    elif is_text(position, behind, _DIFF):
        field = DIFF
    elif is_text(position, behind, _NAME):
        field = NAME
    elif is_text(position, behind, _ARGUMENTS):
        field = ARGUMENTS
    elif is_text(position, behind, _EPOCH):
        field = EPOCH
    return field, behind + 1


@kernel
def is_word(position: int, end: int, word: np.ndarray) -> bool:
    """Whether the bytes of an array are at an address."""
    return end - position >= len(word) and is_text(position, position + len(word), word)


@kernel
def skip_space(position: int, end: int) -> int:
    """Address of the first byte that is not white space of JSON."""
    while position < end and load_byte(position) in (_SPACE, _NEWLINE, _RETURN, _TAB):
        position += 1
    return position


@kernel
def boolean_length(position: int, end: int) -> int:
    """The bytes of `true` or `false` at an address; 0 if neither is there."""
    if is_word(position, end, _TRUE):
        return len(_TRUE)
    return len(_FALSE) if is_word(position, end, _FALSE) else 0


@kernel
def null_length(position: int, end: int) -> int:
    """The bytes of `null` at an address; 0 if it is not there."""
    return len(_NULL) if is_word(position, end, _NULL) else 0
