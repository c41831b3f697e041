"""Search for bytes, between pages that cannot be read."""

from __future__ import annotations

import ctypes
import mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.native.search import find_byte, find_either

# Among them those in which a carry or a high bit looks like a match.
BYTES = st.sampled_from((0, 1, 2, 0x22, 0x23, 0x7F, 0x80, 0x81, 0xFE, 0xFF))
TEXTS = st.lists(BYTES, max_size=30).map(bytes)


@pytest.fixture(scope="module")
def page():
    """A page as (memory, address); a read before or after it ends the process."""
    memory = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    for number in (0, 2):
        address = ctypes.c_void_p(first + number * mmap.PAGESIZE)
        assert protect(address, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    return memory, first + mmap.PAGESIZE


@given(TEXTS, BYTES, BYTES)
def test_the_first_byte_is_found_without_reading_beyond(page, text, first, second):
    """At the start of a page and at its end, what lies next to the text is never read."""
    memory, address = page
    expected = [text.find(byte) for byte in (first, second)]
    expected = [at if at >= 0 else len(text) for at in expected]
    for offset in (0, mmap.PAGESIZE - len(text)):
        memory[mmap.PAGESIZE + offset : mmap.PAGESIZE + offset + len(text)] = text
        start, end = address + offset, address + offset + len(text)

        assert find_byte(start, end, first) - start == expected[0]
        assert find_either(start, end, first, second) - start == min(expected)


@given(TEXTS, BYTES, BYTES)
def test_a_match_beyond_the_range_is_none(page, text, first, second):
    """The end is returned, whatever follows it."""
    memory, address = page
    clean = bytes(byte for byte in text if byte not in (first, second))
    around = bytes((first, second)) * 8
    data = around + clean + around
    memory[mmap.PAGESIZE : mmap.PAGESIZE + len(data)] = data
    start = address + len(around)
    end = start + len(clean)

    assert find_byte(start, end, first) == find_either(start, end, first, second) == end
