"""Give back what the table of facts will not need soon. Invariant: each fact is found as before.

A load doubles the table of facts until there is room for all of them, so half of it may be empty.
The fuller a table is, the more facts are guests, whose lookups read two buckets.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout, slots
from streamreasoner.backends.columnar.kernels.records.fields import views
from streamreasoner.native.addresses import (
    fixed_address,
    int32_column,
    load_byte,
    return_pages,
    signed,
)
from streamreasoner.native.compile import inlined, kernel

_FITTED = 9  # ids for each bucket, with which a table is fitted
_PAGE = 64  # buckets of 4 KiB
_LEAST_SHARE, _MOST_SHARE = 16, 8  # parts of a table that it may lose: less is not worth the time
_AHEAD = 2  # buckets between prefetching where ids move to and moving them


@kernel
def fit(table: layout.Int64s) -> None:
    """Let the table of facts lose up to an eighth of its buckets, if nine facts for each remain.

    The facts of the last buckets move to others, and the memory of these is returned. A table that
    is fitted already is left alone.
    """
    scalars = views.scalars(table)
    size = scalars[layout.FACT_SIZE]
    bits, before = slots.bits_of(size), slots.buckets(size)
    count = (scalars[layout.FACT_COUNT] // (_FITTED * _PAGE) + 1) * _PAGE
    count = max(count, before - before // _MOST_SHARE)
    if size != slots.full(bits) or before - count < before // _LEAST_SHARE:
        return
    address = views.fact_table(table)
    # The other buffer, all 0, lists those that have passed the end; their home may be any bucket.
    waiting = int32_column(
        fixed_address(table, layout.FACT_TABLE + 1 - scalars[layout.FACT_BUFFER])
    )
    waits = _take_wrapped(table, address, size, count, waiting)
    fitted = count << slots.SIZE_BITS | bits
    words = int32_column(address)
    for bucket in range(count, before):
        _prefetch_fitted(address, min(bucket + _AHEAD, before - 1), fitted)
        state = words[bucket << slots.SHIFT]
        for i in range(state & slots.COUNT):
            fact = signed(words[(bucket << slots.SHIFT) + slots.FIRST + i])
            if (state >> (slots.GUESTS + i)) & 1 == 0:
                slots.put(address, fitted, _known(address, bucket, i, bits), fact)
            else:
                tag = slots.tag_of_fact(table, fact)
                for passed in range(slots.first_choice(tag, size), count):
                    slots.forget_guest(address, passed)
                slots.put(address, fitted, tag, fact)
    for i in range(waits):
        fact = signed(waiting[i])
        waiting[i] = 0
        slots.put(address, fitted, slots.tag_of_fact(table, fact), fact)
    return_pages(address + slots.BYTES * count, slots.BYTES * (before - count))
    scalars[layout.FACT_SIZE] = fitted


@inlined
def _take_wrapped(
    table: layout.Int64s, address: int, size: int, count: int, waiting: layout.Int32s
) -> int:
    """Take those that have passed the end, from homes behind *count* buckets; returns how many."""
    words = int32_column(address)
    waits = 0
    bucket, before = 0, slots.buckets(size) - 1
    while bucket < count and words[before << slots.SHIFT] >> slots.PASSED != 0:
        for i in range((words[bucket << slots.SHIFT] & slots.COUNT) - 1, -1, -1):
            if (words[bucket << slots.SHIFT] >> (slots.GUESTS + i)) & 1 == 0:
                continue
            fact = signed(words[(bucket << slots.SHIFT) + slots.FIRST + i])
            if slots.first_choice(slots.tag_of_fact(table, fact), size) >= count:
                waiting[waits] = fact
                waits += 1
                slots.close(address, bucket, i)
                for passed in range(bucket):
                    slots.forget_guest(address, passed)
        before = bucket
        bucket += 1
    return waits


@inlined
def _known(address: int, bucket: int, i: int, bits: int) -> int:
    """What a table that is not fitted knows of the hash of an id that is not a guest."""
    return bucket | load_byte(address + slots.BYTES * bucket + slots.FIRST + i) << bits


@inlined
def _prefetch_fitted(address: int, bucket: int, fitted: int) -> None:
    """Prefetch the buckets that the ids of a bucket move to."""
    for i in range(int32_column(address)[bucket << slots.SHIFT] & slots.COUNT):
        slots.prefetch_bucket(address, fitted, _known(address, bucket, i, slots.bits_of(fitted)))
