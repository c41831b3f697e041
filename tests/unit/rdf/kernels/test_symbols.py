"""Codes of symbols against a search of all symbols in Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.rdf.kernels.headers import memory

from streamreasoner.rdf.compression.training import train
from streamreasoner.rdf.kernels import symbols

# Few characters, so that symbols are found and occur; and all bytes, most of which have none.
TEXTS = {
    "dense": st.text("ab</é\U0001f600", max_size=40).map(str.encode),
    "sparse": st.binary(max_size=40),
    "iris": st.integers(0, 10**6).map(lambda n: f"<http://example.org/{n}/item>".encode()),
}
GUARD = 7


class Code:
    """The symbols of a sample, in the two forms that kernels read."""

    def __init__(self, sample):
        found, _ = train(sample)
        self._index = np.empty(symbols.INDEX_WORDS, np.uint64)
        self._table = np.zeros(symbols.TABLE_WORDS, np.uint64)
        found.write_index(self._index)
        found.write_table(self._table)
        self.table = self._table.ctypes.data
        words = zip(found.words.tolist(), found.lengths.tolist(), strict=True)
        self.symbols = [word.to_bytes(8, "little")[:length] for word, length in words]

    def compress(self, text):
        """The codes of a text."""
        held, codes = memory(text), np.full(2 * len(text) + 1, GUARD, np.uint8)
        start = codes.ctypes.data
        end = symbols.compress(self._index.ctypes.data, held.ctypes.data, len(text), start)
        assert codes[2 * len(text)] == GUARD
        return codes[: end - start]

    def expand(self, codes, length):
        """The text of codes."""
        room = np.full(length + symbols.SLACK + 1, GUARD, np.uint8)
        end = symbols.expand(
            self.table, codes.ctypes.data, codes.ctypes.data + len(codes), room.ctypes.data
        )
        assert room[-1] == GUARD
        return room[: end - room.ctypes.data].tobytes()


def greedy(known, text):
    """The codes of a text: of each rest, the longest symbol that it begins with."""
    codes = []
    while text:
        fitting = [symbol for symbol in known if text.startswith(symbol)]
        if fitting:
            longest = max(fitting, key=len)
            codes.append(known.index(longest))
            text = text[len(longest) :]
        else:
            codes += [symbols.ESCAPE, text[0]]
            text = text[1:]
    return codes


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
@given(data=st.data())
def test_codes_are_those_of_the_longest_symbols(texts, data):
    """They are expanded to the text, whose length and bytes are read from them too."""
    code = Code(data.draw(st.lists(texts, max_size=12)))
    text, other = data.draw(texts), data.draw(texts)
    codes = code.compress(text)
    start, end = codes.ctypes.data, codes.ctypes.data + len(codes)

    assert codes.tolist() == greedy(code.symbols, text)
    assert code.expand(codes, len(text)) == text
    assert symbols.expanded_length(code.table, start, end) == len(text)
    for number in range(len(text) + 1):
        found = symbols.byte_at(code.table, start, end, number)
        assert found == (text[number] if number < len(text) else -1)
    for compared in (text, other, text[:-1], text + b"a", other[:3] + text[3:]):
        held = memory(compared)
        same = symbols.is_text_of(code.table, start, end, held.ctypes.data, len(compared))
        assert same == (compared == text)


@given(st.lists(TEXTS["dense"], max_size=12), TEXTS["dense"].filter(bool))
def test_the_last_byte_of_utf_8(sample, text):
    """It is read from the last code, escaped or not."""
    code = Code(sample)
    codes = code.compress(text)
    start = codes.ctypes.data

    assert symbols.last_byte(code.table, start, start + len(codes)) == text[-1]
