"""A hash table of ids in buckets. Invariant: a bucket has its ids one after the other; none is 0.

A bucket is a cache line: 12 ids, a *check* of each, which is a byte of its hash, and a word:

    [count u4 | guests u12 | passed u16] [check u8 x 12] [id i32 x 12]

The low bits of a hash choose its bucket. An id whose bucket is full is a guest of the next one that
has room. Each bucket that it passes counts it, so that a lookup knows where to stop, and a deletion
leaves nothing behind. A lookup compares all checks of a bucket at once (as in F14: N. Bronson,
X. Shi, Open-sourcing F14 for faster, more memory-efficient hash tables, Facebook Engineering 2019).

A table grows to twice its size. The check is the bits of the hash above those of the bucket, so its
lowest bit tells which half an id moves to, and is then dropped. So most growing reads no records.
Guests are hashed again from their records; after some doublings all ids are.

A table that will not grow soon is fitted: it gives back the memory of its last buckets. An id of
one of these has another home, which its hash tells, and is a guest there.

The size of a table is one number: how many buckets it has, and the bits that choose one of them.
"""

from __future__ import annotations

import numpy as np

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.native.addresses import (
    equal_bytes,
    fixed_address,
    int32_column,
    load_byte,
    prefetch,
    return_pages,
    signed,
    store_byte,
    trailing_zeros,
)
from streamreasoner.native.compile import inlined, kernel

_GOLDEN = -7046029254386353131  # 2**64 / golden ratio, as int64
ROOM = 12  # ids of a bucket
FIRST = 4  # word of the first of them
WORDS = 16  # of a bucket
SHIFT = 4  # log2 of WORDS
BYTES = 64
_FULL = 10  # ids for each bucket, with which a table grows
COUNT = 15  # bits of the word of a bucket, and where others begin
GUESTS, PASSED = 4, 16
SIZE_BITS = 6  # of a size: how many bits choose a bucket; the rest is the number of buckets
LEAST_SIZE = 1 << 9 + SIZE_BITS | 9  # 32 KiB
_SPREAD = 0x9E3779B1  # 2**32 / golden ratio: makes another hash of some bits of one
_SATURATED = -1  # when this many guests have passed a bucket, it counts no more, for good
_CHECK_BITS = 8
_DOUBLINGS = 3  # before ids are hashed again, in binary all 1
_AHEAD = 4  # buckets between prefetching records and hashing them
_STRETCH = 1 << 18  # buckets whose memory is returned at once: 16 MiB, whole pages of any size


# Hashes ------------------------------------------------------------------------------------------


@kernel
def mix(state: int, value: int) -> int:
    """Fold *value* into a 64-bit hash *state*."""
    state = (state ^ value) * _GOLDEN
    return state ^ lists.upper(state)


@inlined
def hash_cells(seed: int, cells: layout.Int32s, at: int, count: int) -> int:
    """32-bit tag of *count* int32 cells under a seed, two cells at a time."""
    state = (lists.pack(count, seed) + 1) * _GOLDEN
    for i in range(at, at + count - 1, 2):
        state = mix(state, lists.pack(cells[i + 1], lists.lower(cells[i])))
    if count & 1:
        state = mix(state, cells[at + count - 1])
    return lists.lower(mix(state, 1))


@inlined
def tag_of_fact(table: layout.Int64s, fact: int) -> int:
    """Hash of the relation and the arguments of a fact."""
    kind = facts.class_of(table, fact)
    return hash_cells(
        facts.class_field(table, kind, layout.CLASS_RELATION),
        views.words(table),
        facts.arguments_at(fact),
        facts.class_field(table, kind, layout.CLASS_ARITY),
    )


@inlined
def tag_of_group(table: layout.Int64s, group: int) -> int:
    """Hash of the arrangement and the key of a group."""
    arrangement = facts.arrangement_of(table, group)
    count = facts.arrangement_field(table, arrangement, layout.ARRANGEMENT_KEY_COUNT)
    return hash_cells(arrangement, views.words(table), facts.key_at(group), count)


# Buckets -----------------------------------------------------------------------------------------


@inlined
def full(bits: int) -> int:
    """The size of a table of 1 << *bits* buckets."""
    return 1 << (bits + SIZE_BITS) | bits


@inlined
def buckets(size: int) -> int:
    """Number of buckets of a table of a size."""
    return size >> SIZE_BITS


@inlined
def bits_of(size: int) -> int:
    """Number of bits that choose a bucket of a table of a size."""
    return size & ((1 << SIZE_BITS) - 1)


@inlined
def home(tag: int, size: int) -> int:
    """The bucket of a hash, in a table of a size."""
    bucket = first_choice(tag, size)
    if bucket < buckets(size):
        return bucket
    known = tag & ((1 << _known_bits(bits_of(size))) - 1)
    return (((known * _SPREAD) & layout.LOW) * buckets(size)) >> layout.HALF


@inlined
def first_choice(tag: int, size: int) -> int:
    """The bucket of a hash, if the table was not fitted."""
    return tag & ((1 << bits_of(size)) - 1)


@inlined
def check_of(tag: int, size: int) -> int:
    """The check of a hash, in a table of a size."""
    return (tag & ((1 << _known_bits(bits_of(size))) - 1)) >> bits_of(size)


@inlined
def _following(bucket: int, size: int) -> int:
    """The bucket that comes after one, in a table of a size."""
    return bucket + 1 if bucket + 1 != buckets(size) else 0


@inlined
def _known_bits(bits: int) -> int:
    """Number of the low bits of a hash that a table of 1 << *bits* buckets knows."""
    return (bits | _DOUBLINGS) - _DOUBLINGS + _CHECK_BITS


@inlined
def prefetch_bucket(address: int, size: int, tag: int) -> None:
    """Prefetch the bucket of a hash; the table is at an address."""
    prefetch(address + BYTES * home(tag, size))


@inlined
def prefetch_next(address: int, bucket: int, size: int) -> None:
    """Prefetch the bucket that a lookup visits next, or an insertion, if they do."""
    state = int32_column(address)[bucket << SHIFT]
    if state & COUNT == ROOM or state >> PASSED != 0:
        prefetch(address + BYTES * _following(bucket, size))


@inlined
def matches(address: int, bucket: int, check: int) -> int:
    """Bits of the ids of a bucket that have a check, the lowest one for the first id."""
    count = int32_column(address)[bucket << SHIFT] & COUNT
    return (equal_bytes(address + BYTES * bucket, check) >> FIRST) & ((1 << count) - 1)


@inlined
def first_match(address: int, bucket: int, found: int) -> int:
    """The id of the lowest bit of `matches`, which are not 0."""
    i = trailing_zeros(np.uint64(found))
    return signed(int32_column(address)[(bucket << SHIFT) + FIRST + i])


@inlined
def next_bucket(address: int, bucket: int, start: int, size: int) -> int:
    """The bucket that a lookup visits next, or -1; *start* is the first that it has visited."""
    if int32_column(address)[bucket << SHIFT] >> PASSED == 0:
        return -1
    following = _following(bucket, size)
    return following if following != start else -1


@kernel
def put(address: int, size: int, tag: int, identifier: int) -> None:
    """Add an id that is not in the table."""
    choice = first_choice(tag, size)
    _place(address, size, choice, home(tag, size), check_of(tag, size), identifier)


@inlined
def _place(address: int, size: int, choice: int, start: int, check: int, identifier: int) -> None:
    """Add an id that is not in the table, by its bucket, also if not fitted, and its check."""
    words = int32_column(address)
    bucket = start
    state = words[bucket << SHIFT]
    while state & COUNT == ROOM:
        if state >> PASSED != _SATURATED:
            words[bucket << SHIFT] = state + (1 << PASSED)
        bucket = _following(bucket, size)
        state = words[bucket << SHIFT]
    count = state & COUNT
    words[(bucket << SHIFT) + FIRST + count] = identifier
    store_byte(address + BYTES * bucket + FIRST + count, check)
    # Last, as the other thread may look something up meanwhile.
    words[bucket << SHIFT] = (state | (bucket != choice) << (GUESTS + count)) + 1


@kernel
def remove(address: int, size: int, tag: int, identifier: int) -> None:
    """Remove an id from the table."""
    start, check = home(tag, size), check_of(tag, size)
    bucket = start
    found = matches(address, bucket, check)
    while found == 0 or first_match(address, bucket, found) != identifier:
        found &= found - 1
        if found == 0:
            bucket = _following(bucket, size)
            found = matches(address, bucket, check)
    close(address, bucket, trailing_zeros(np.uint64(found)))
    while start != bucket:
        forget_guest(address, start)
        start = _following(start, size)


@inlined
def forget_guest(address: int, bucket: int) -> None:
    """Count one guest less that has passed a bucket."""
    words = int32_column(address)
    if words[bucket << SHIFT] >> PASSED != _SATURATED:
        words[bucket << SHIFT] -= 1 << PASSED


@inlined
def close(address: int, bucket: int, gap: int) -> None:
    """Remove the id at a place of a bucket: the last one of the bucket takes its place."""
    words = int32_column(address)
    at, checks = (bucket << SHIFT) + FIRST, address + BYTES * bucket + FIRST
    state = words[bucket << SHIFT]
    last = (state & COUNT) - 1
    words[at + gap] = words[at + last]
    store_byte(checks + gap, load_byte(checks + last))
    words[at + last] = 0
    if (state >> (GUESTS + last)) & 1 != 0:
        state |= 1 << (GUESTS + gap)
    else:
        state &= ~(1 << (GUESTS + gap))
    words[bucket << SHIFT] = (state & ~(1 << (GUESTS + last))) - 1


# Tables ------------------------------------------------------------------------------------------


@kernel
def rehash(
    table: layout.Int64s, column: int, source: int, size: int, target: int, bits: int
) -> None:
    """Move every id into a table of 1 << *bits* buckets, not fewer than this one, and clear this.

    Memory of what has been moved is returned as the larger table is filled, so that both together
    take no more than the larger one alone.

    Args:
        table: The addresses.
        column: What the ids are: FACT_TABLE or GROUP_TABLE.
        source: Address of the table.
        size: Its size.
        target: Address of a reserved column, all 0.
        bits: As above.
    """
    words = int32_column(source)
    every = 0 if _known_bits(bits_of(size)) == _known_bits(bits) else (1 << ROOM) - 1
    for start in range(0, buckets(size), _STRETCH):
        stop = min(start + _STRETCH, buckets(size))
        for bucket in range(start, stop):
            _prefetch_hashed(table, source, min(bucket + _AHEAD, stop - 1), every)
            _move(table, column, source, size, bucket, target, bits, every)
        if stop - start == _STRETCH:
            return_pages(source + BYTES * start, BYTES * _STRETCH)
        else:
            for i in range(start << SHIFT, stop << SHIFT):
                words[i] = 0


@inlined
def _hashed(state: int, every: int) -> int:
    """Bits of the ids of a bucket that are hashed when they move: guests, and those of *every*."""
    return (state >> GUESTS | every) & ((1 << (state & COUNT)) - 1)


@inlined
def _prefetch_hashed(table: layout.Int64s, source: int, bucket: int, every: int) -> None:
    """Prefetch the records of a bucket that are hashed when they move."""
    found = _hashed(int32_column(source)[bucket << SHIFT], every)
    while found != 0:
        views.prefetch_fact(table, first_match(source, bucket, found))
        found &= found - 1


@inlined
def _move(
    table: layout.Int64s,
    column: int,
    source: int,
    size: int,
    bucket: int,
    target: int,
    bits: int,
    every: int,
) -> None:
    """Add the ids of a bucket to a table of 1 << *bits* buckets."""
    words = int32_column(source)
    state = words[bucket << SHIFT]
    anew = _hashed(state, every)
    more = bits - bits_of(size)
    for i in range(state & COUNT):
        identifier = signed(words[(bucket << SHIFT) + FIRST + i])
        if (anew >> i) & 1 == 0:
            check = load_byte(source + BYTES * bucket + FIRST + i)
            start = bucket | (check & ((1 << more) - 1)) << bits_of(size)
            _place(target, full(bits), start, start, check >> more, identifier)
        else:
            put(target, full(bits), _tag_of(table, column, identifier), identifier)


@inlined
def _tag_of(table: layout.Int64s, column: int, identifier: int) -> int:
    """The hash of a fact or a group."""
    if column == layout.FACT_TABLE:
        return tag_of_fact(table, identifier)
    return tag_of_group(table, identifier)


@kernel
def reserve(table: layout.Int64s, column: int, at: int, count: int) -> None:
    """Make room for *count* more ids in the table at *column*; see `insert`."""
    scalars = views.scalars(table)
    size = scalars[at]
    if scalars[at + 2] + count > _FULL * buckets(size):
        bits = bits_of(size)
        while scalars[at + 2] + count > _FULL << bits:
            bits += 1
        source = fixed_address(table, column + scalars[at + 1])
        target = fixed_address(table, column + 1 - scalars[at + 1])
        rehash(table, column, source, size, target, bits)
        scalars[at] = full(bits)
        scalars[at + 1] = 1 - scalars[at + 1]


@kernel
def insert(table: layout.Int64s, column: int, at: int, tag: int, identifier: int) -> None:
    """Add an id to the table at *column*; its size, buffer and count are the scalars from *at*.

    If that has ten ids for each bucket, it is first moved to its other buffer.
    """
    scalars = views.scalars(table)
    if scalars[at + 2] + 1 > _FULL * buckets(scalars[at]):
        reserve(table, column, at, 1)
    put(fixed_address(table, column + scalars[at + 1]), scalars[at], tag, identifier)
    scalars[at + 2] += 1


@kernel
def delete(table: layout.Int64s, column: int, at: int, tag: int, identifier: int) -> None:
    """Remove an id that `insert` added."""
    scalars = views.scalars(table)
    remove(fixed_address(table, column + scalars[at + 1]), scalars[at], tag, identifier)
    scalars[at + 2] -= 1


@inlined
def fact_words(table: layout.Int64s) -> int:
    """Number of the words of the table of facts."""
    return WORDS * buckets(views.scalars(table)[layout.FACT_SIZE])


@inlined
def fact_at(table: layout.Int64s, i: int) -> int:
    """The fact in word *i* of the table of facts, or 0 if it has none."""
    return _id_at(views.fact_table(table), i)


@inlined
def set_fact_at(table: layout.Int64s, i: int, fact: int) -> None:
    """Make word *i* of the table of facts another record of its fact."""
    int32_column(views.fact_table(table))[i] = fact


@inlined
def group_words(table: layout.Int64s) -> int:
    """Like `fact_words`, for the table of groups."""
    return WORDS * buckets(views.scalars(table)[layout.GROUP_SIZE])


@inlined
def group_at(table: layout.Int64s, i: int) -> int:
    """Like `fact_at`, for the table of groups."""
    return _id_at(views.group_table(table), i)


@inlined
def _id_at(address: int, i: int) -> int:
    return signed(int32_column(address)[i]) if i & (WORDS - 1) >= FIRST else 0
