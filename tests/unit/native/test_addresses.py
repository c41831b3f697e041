"""Loads, stores and arithmetic of kernels, compared with Python's."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.native import addresses
from streamreasoner.native.compile import kernel
from streamreasoner.native.reserved import ReservedColumn

WORDS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 63).map(lambda bit: 1 << bit),
    st.sampled_from((2**63 - 1, 2**64 - 1)),
)


@kernel
def compute(words, left, right, whole, doubles):
    """What is computed from each word, by the type of the result."""
    for at in range(len(words)):
        if words[at] != 0:
            whole[at, 0] = addresses.trailing_zeros(words[at])
        whole[at, 1] = addresses.multiply_high(left[at], right[at])
        doubles[at] = addresses.double_of_bits(left[at])
        whole[at, 2] = addresses.double_bits(doubles[at])
        words[at] = addresses.multiply_fold(words[at], np.uint64(right[at]))


@kernel
def equal(address, byte):
    """The 16 bytes at an address that equal one."""
    return addresses.equal_bytes(address, byte)


@kernel
def load(address, words, numbers):
    """What lies at an address, which is prefetched, as no other address can be read."""
    addresses.prefetch(address)
    addresses.prefetch(0)
    words[0] = addresses.load_word(address)
    words[1] = addresses.load_half(address)
    numbers[0] = addresses.load_byte(address)


@kernel
def store(tables, at, number):
    """A number at an index of a column of each type, and what it then holds."""
    addresses.int8_column(tables[0])[at] = number
    addresses.int32_column(tables[1])[at] = number
    addresses.int64_column(tables[2])[at] = number
    addresses.uint64_column(tables[3])[at] = np.uint64(number)
    addresses.float64_column(tables[4])[at] = number
    return addresses.signed(addresses.int8_column(tables[0])[at])


@kernel
def copy(target, source, length):
    """Bytes from one address to another."""
    addresses.copy_bytes(target, source, length)


@kernel
def call(function, code, argument):
    """What a C function returns."""
    return addresses.call(function, code, argument)


def signed(word):
    """The int64 with the bits of a word."""
    return word - (word >> 63 << 64)


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_words_are_multiplied_and_reinterpreted(numbers):
    """Products have 128 bits; the bits of a double are kept, those of a NaN too."""
    reverse = numbers[::-1]
    words, left, right = (np.array(each, np.uint64) for each in (numbers, numbers, reverse))
    whole, doubles = np.zeros((len(words), 3), np.int64), np.zeros(len(words), np.float64)
    compute(words, left.view(np.int64), right.view(np.int64), whole, doubles)

    assert words.tolist() == [
        (a * b >> 64) ^ (a * b & 2**64 - 1) for a, b in zip(numbers, reverse, strict=True)
    ]
    assert whole.tolist() == [
        [max((a & -a).bit_length() - 1, 0), signed(a) * signed(b) >> 64, signed(a)]
        for a, b in zip(numbers, reverse, strict=True)
    ]
    assert doubles.tobytes() == left.tobytes()


@given(st.binary(min_size=8, max_size=24), st.data())
def test_bytes_are_loaded_and_copied_at_any_alignment(data, draw):
    """Words are little-endian and unsigned; a copy changes no other byte."""
    held, words, numbers = (
        np.frombuffer(data, np.uint8),
        np.zeros(2, np.uint64),
        np.zeros(1, np.int64),
    )
    offset = draw.draw(st.integers(0, len(data) - 8))
    load(held.ctypes.data + offset, words, numbers)
    start, end = sorted(draw.draw(st.tuples(*[st.integers(0, len(data))] * 2)))
    target = np.full(len(data) + 2, 7, np.uint8)
    copy(target.ctypes.data + 1, held.ctypes.data + start, end - start)

    assert words.tolist() == [
        *struct.unpack_from("<Q", data, offset),
        *struct.unpack_from("<I", data, offset),
    ]
    assert numbers.tolist() == [data[offset]]
    assert target.tobytes() == b"\7" + data[start:end] + b"\7" * (len(data) + 1 - end + start)


@given(st.integers(-128, 127), st.integers(0, 4))
def test_columns_have_the_items_of_arrays(number, at):
    """A column of each type is the array that lies at its address."""
    arrays = [
        np.zeros(5, each) for each in (np.int8, np.int32, np.int64, np.uint64, np.float64)
    ]  # fmt: skip
    tables = np.array([array.ctypes.data for array in arrays])

    assert store(tables, at, number) == number
    for array in arrays:
        expected = np.zeros(5, array.dtype)
        expected[at] = number % 2**64 if array.dtype == np.uint64 else number
        assert array.tolist() == expected.tolist()


def test_a_c_function_is_called_with_both_arguments():
    """In their order, and its result comes back with its sign."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(lambda a, b: a - b)

    assert call(ctypes.cast(function, ctypes.c_void_p).value, 3, 5) == -2


@given(st.binary(min_size=16, max_size=16), st.integers(0, 15))
def test_bytes_are_compared_at_once(content, at):
    """Bits are in the order of the bytes; one byte at least equals itself."""
    column = ReservedColumn(np.uint8, 32)
    column.array[16:] = np.frombuffer(content, np.uint8)
    expected = sum(1 << i for i in range(16) if content[i] == content[at])

    assert equal(column.address + 16, content[at]) == expected
