"""Loads, stores and arithmetic that numba lacks. Invariant: addresses are int64, hashes uint64.

No expression mixes the two, because numba converts int64 + uint64 to float64.
"""

# ruff: noqa: ANN001, ANN201, ANN202, ARG001  (types are in addresses.pyi)

from __future__ import annotations

import mmap
import time

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from streamreasoner.native.compile import kernel

_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)
_FIRST = ir.Constant(ir.IntType(32), 0)  # place in a vector
# A negative index counts from the length. If that is 0, LLVM sees that there is nothing to do.
_LENGTH = 1 << 40 if config.BOUNDSCHECK else 0


def _column(dtype):
    """An intrinsic that views an address as a column: an array that does not own its memory."""
    array_type = types.Array(dtype, 1, "C")

    @intrinsic
    def column(typingctx, address):
        def codegen(context, builder, signature, arguments):
            return _view(context, builder, array_type, arguments[0])

        return array_type(types.int64), codegen

    return column


def _view(context, builder, array_type, address):
    """The array struct, built here, so that kernels compile without reference counting."""
    array = make_array(array_type)(context, builder)
    item = context.get_data_type(array_type.dtype)
    size = ir.Constant(_WORD, context.get_abi_sizeof(item))
    populate_array(
        array,
        data=builder.inttoptr(address, item.as_pointer()),
        shape=(ir.Constant(_WORD, _LENGTH),),
        strides=(size,),
        itemsize=size,
        meminfo=None,
    )
    return array._getvalue()  # noqa: SLF001 - as in numba's own array functions


int8_column = _column(types.int8)
int32_column = _column(types.int32)
int64_column = _column(types.int64)
uint16_column = _column(types.uint16)
uint32_column = _column(types.uint32)
uint64_column = _column(types.uint64)
float64_column = _column(types.float64)


@intrinsic
def fixed_address(typingctx, table, number):
    """An address in a table, as int64, that does not change while a kernel runs."""

    def codegen(context, builder, signature, arguments):
        return _fixed(context, builder, table, *arguments)

    return types.int64(table, types.int64), codegen


def _fixed(context, builder, table_type, table, number):
    """Load an address. LLVM may keep it, whatever is stored meanwhile."""
    array = make_array(table_type)(context, builder, table)
    address = builder.load(builder.gep(array.data, [number]), align=8)
    address.set_metadata("invariant.load", builder.module.add_metadata([]))
    return address


def _fixed_column(dtype):
    """A function that makes an intrinsic, which views what is at a number of a table."""
    array_type = types.Array(dtype, 1, "C")

    def columns(number):
        @intrinsic
        def column(typingctx, table):
            def codegen(context, builder, signature, arguments):
                address = _fixed(context, builder, table, *arguments, ir.Constant(_WORD, number))
                return _view(context, builder, array_type, address)

            return array_type(table), codegen

        return column

    return columns


fixed_int32_column = _fixed_column(types.int32)
fixed_int64_column = _fixed_column(types.int64)


@kernel
def signed(value):
    """A number of any width as int64, for offsets and ids.

    A constant is then an argument like any other, for which no kernel is compiled anew.
    """
    return np.int64(value)


@intrinsic
def load_word(typingctx, address):
    """The eight bytes at an address of any alignment, as uint64."""

    def codegen(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(types.int64), codegen


@intrinsic
def store_word(typingctx, address, word):
    """Store a uint64 as the eight bytes at an address of any alignment."""

    def codegen(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        builder.store(arguments[1], pointer, align=1)
        return context.get_dummy_value()

    return types.none(types.int64, types.uint64), codegen


@intrinsic
def load_acquired(typingctx, address):
    """Load the int64 at an address with acquire ordering, paired with `store_released`."""

    def codegen(context, builder, signature, arguments):
        return builder.load_atomic(
            builder.inttoptr(arguments[0], _WORD.as_pointer()), "acquire", align=8
        )

    return types.int64(types.int64), codegen


@intrinsic
def store_released(typingctx, address, value):
    """Store an int64 at an address with release ordering, paired with `load_acquired`."""

    def codegen(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        builder.store_atomic(arguments[1], pointer, "release", align=8)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), codegen


@intrinsic
def exchange_acquired(typingctx, address, value):
    """Store an int64 at an address, with acquire ordering; returns what was there."""

    def codegen(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        return builder.atomic_rmw("xchg", pointer, arguments[1], "acquire")

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def yield_processor(typingctx):
    """Yield the processor to another thread, in loops that wait for one."""

    def codegen(context, builder, signature, arguments):
        declared = ir.FunctionType(ir.IntType(32), [])
        function = cgutils.get_or_insert_function(builder.module, declared, "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.none(), codegen


@intrinsic
def _advise_unneeded(typingctx, address, length):
    """Tell the system that pages are not needed; returns 0 if it has taken them back."""

    def codegen(context, builder, signature, arguments):
        number = ir.IntType(32)
        declared = ir.FunctionType(number, [_WORD, _WORD, number])
        function = cgutils.get_or_insert_function(builder.module, declared, "madvise")
        advice = ir.Constant(number, mmap.MADV_DONTNEED)
        return builder.sext(builder.call(function, [*arguments, advice]), _WORD)

    return types.int64(types.int64, types.int64), codegen


@kernel
def return_pages(address, length):
    """Return whole pages of a reserved column to the system; their items are 0 then."""
    if _advise_unneeded(address, length) != 0:
        # The pages are locked: they stay, and are cleared.
        words = int64_column(address)
        for i in range(length >> 3):
            words[i] = 0


@intrinsic
def monotonic_time(typingctx):
    """The system's monotonic clock in nanoseconds, as int64."""

    def codegen(context, builder, signature, arguments):
        number = ir.IntType(32)
        moment = cgutils.alloca_once(builder, _WORD, size=2)
        declared = ir.FunctionType(number, [number, _WORD.as_pointer()])
        function = cgutils.get_or_insert_function(builder.module, declared, "clock_gettime")
        builder.call(function, [ir.Constant(number, time.CLOCK_MONOTONIC), moment])
        seconds, rest = (
            builder.load(builder.gep(moment, [ir.Constant(_WORD, index)])) for index in range(2)
        )
        return builder.add(builder.mul(seconds, ir.Constant(_WORD, 10**9)), rest)

    return types.int64(), codegen


@intrinsic
def load_half(typingctx, address):
    """The four bytes at an address of any alignment, as uint64."""

    def codegen(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
        return builder.zext(builder.load(pointer, align=1), _WORD)

    return types.uint64(types.int64), codegen


@intrinsic
def load_byte(typingctx, address):
    """The byte at an address, as int64."""

    def codegen(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        return builder.zext(builder.load(pointer), _WORD)

    return types.int64(types.int64), codegen


@intrinsic
def store_byte(typingctx, address, value):
    """Store the lowest eight bits of an int64 at an address."""

    def codegen(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        builder.store(builder.trunc(arguments[1], _BYTE), pointer)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), codegen


@intrinsic
def copy_bytes(typingctx, target, source, length):
    """Copy `length` bytes between two addresses whose ranges do not overlap."""

    def codegen(context, builder, signature, arguments):
        target, source, length = arguments
        cgutils.raw_memcpy(
            builder,
            builder.inttoptr(target, cgutils.voidptr_t),
            builder.inttoptr(source, cgutils.voidptr_t),
            length,
            1,
        )
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), codegen


def stack_buffer(size):
    """A function that reserves bytes on the stack, until the kernel that calls it returns.

    In a loop it returns the same address each time.
    """

    @intrinsic
    def buffer(typingctx):
        def codegen(context, builder, signature, arguments):
            room = cgutils.alloca_once(builder, ir.ArrayType(_BYTE, size))
            return builder.ptrtoint(room, _WORD)

        return types.int64(), codegen

    return buffer


@intrinsic
def prefetch(typingctx, address):
    """Prefetch the cache line at an address for a later read."""

    def codegen(context, builder, signature, arguments):
        flag = ir.IntType(32)
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch",
            (pointer.type,),
            ir.FunctionType(ir.VoidType(), [pointer.type, flag, flag, flag]),
        )
        read, most_local, data = (ir.Constant(flag, value) for value in (0, 3, 1))
        builder.call(fetch, [pointer, read, most_local, data])
        return context.get_dummy_value()

    return types.none(types.int64), codegen


@intrinsic
def call(typingctx, address, code, argument):
    """Call the C function at an address with two int64 arguments; returns an int64."""

    def codegen(context, builder, signature, arguments):
        function = ir.FunctionType(_WORD, [_WORD, _WORD])
        target, code, argument = arguments
        return builder.call(builder.inttoptr(target, function.as_pointer()), [code, argument])

    return types.int64(types.int64, types.int64, types.int64), codegen


@intrinsic
def trailing_zeros(typingctx, word):
    """Number of zero bits below the lowest one bit of a uint64, as int64."""

    def codegen(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@intrinsic
def multiply_fold(typingctx, left, right):
    """High half xor low half of the 128-bit product of two uint64."""

    def codegen(context, builder, signature, arguments):
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)
        return builder.xor(high, builder.trunc(product, _WORD))

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def multiply_high(typingctx, left, right):
    """High half of the signed 128-bit product of two int64; the low half is `left * right`."""

    def codegen(context, builder, signature, arguments):
        wide = ir.IntType(128)
        product = builder.mul(builder.sext(arguments[0], wide), builder.sext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def double_bits(typingctx, value):
    """The bits of a float64, as int64."""

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _WORD)

    return types.int64(types.float64), codegen


@intrinsic
def double_of_bits(typingctx, bits):
    """The float64 with these bits, passed as int64."""

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def equal_bytes(typingctx, address, byte):
    """Which of 16 bytes, at an address that is a multiple of 16, equal one: bits of an int64."""

    def codegen(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.VectorType(_BYTE, 16).as_pointer())
        found = builder.load(pointer, align=16)
        one = builder.insert_element(found, builder.trunc(arguments[1], _BYTE), _FIRST)
        places = ir.Constant(ir.VectorType(_FIRST.type, 16), [0] * 16)
        each = builder.shuffle_vector(one, one, places)
        equal = builder.icmp_unsigned("==", found, each)
        return builder.zext(builder.bitcast(equal, ir.IntType(16)), _WORD)

    return types.int64(types.int64, types.int64), codegen
