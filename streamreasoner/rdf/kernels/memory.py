"""Loads, stores and arithmetic that numba lacks. Invariant: addresses are int64, hashes uint64.

The two never meet in one expression, because numba turns int64 + uint64 into float64.
"""

# ruff: noqa: ANN001, ANN201, ANN202, ARG001  (types are in memory.pyi)

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from streamreasoner.rdf.kernels.compile import kernel

_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)


@intrinsic
def address_as_void_pointer(typingctx, address):
    """An address as the pointer that `numba.carray` takes."""

    def codegen(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), codegen


@kernel
def int64_column(address):
    """The reserved int64 column at an address; its length is not checked."""
    return carray(address_as_void_pointer(address), (1 << 40,), np.int64)


@kernel
def int32_column(address):
    """The reserved int32 column at an address; its length is not checked."""
    return carray(address_as_void_pointer(address), (1 << 40,), np.int32)


@kernel
def uint64_column(address):
    """The reserved uint64 column at an address; its length is not checked."""
    return carray(address_as_void_pointer(address), (1 << 40,), np.uint64)


@kernel
def int8_column(address):
    """The reserved int8 column at an address; its length is not checked."""
    return carray(address_as_void_pointer(address), (1 << 40,), np.int8)


@kernel
def float64_column(address):
    """The reserved float64 column at an address; its length is not checked."""
    return carray(address_as_void_pointer(address), (1 << 40,), np.float64)


@kernel
def signed(value):
    """A number of any width as int64, for offsets and ids."""
    return np.int64(value)


@intrinsic
def load_word(typingctx, address):
    """The eight bytes at an address of any alignment, as uint64."""

    def codegen(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], _WORD.as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(types.int64), codegen


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


@intrinsic
def prefetch(typingctx, address):
    """Ask for the cache line at an address, to be there when it is read."""

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
