"""The partition of a key. Invariant: it is the one that Kafka's Java clients choose.

So all changes of a fact are in one partition, in the order of their epochs, whether a message has
one key or the changes of many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_SEED = np.uint32(0x9747B28C)
_FACTOR = np.uint32(0x5BD1E995)
_BLOCK = 4


def partitions_of(keys: pa.Array, count: int) -> NDArray[np.int64]:
    """The partition of each key, of `count`; int64 of shape (n,).

    MurmurHash2 with the seed of `org.apache.kafka.common.utils.Utils.murmur2`, without its sign.

    Args:
        keys: large_string or large_binary, of shape (n,).
        count: How many partitions there are.
    """
    if count == 1 or not len(keys):
        return np.zeros(len(keys), dtype=np.int64)
    _, offsets, text = keys.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64, count=len(keys) + 1, offset=8 * keys.offset)
    data = np.frombuffer(text or b"", dtype=np.uint8)
    # Long keys first, so that those with a further block are a prefix.
    order = np.argsort(bounds[:-1] - bounds[1:], kind="stable")
    starts, lengths = bounds[:-1][order], np.diff(bounds)[order]
    hashes = _SEED ^ lengths.astype(np.uint32)
    blocks = lengths // _BLOCK
    for number in range(int(blocks[0])):
        longer = int(np.searchsorted(-blocks, -number))
        at = starts[:longer] + _BLOCK * number
        block = sum((data[at + i].astype(np.uint32) << np.uint32(8 * i)) for i in range(_BLOCK))
        block = np.asarray(block, dtype=np.uint32) * _FACTOR
        block = (block ^ (block >> np.uint32(24))) * _FACTOR
        hashes[:longer] = (hashes[:longer] * _FACTOR) ^ block
    _add_rest(hashes, data, starts + _BLOCK * blocks, lengths % _BLOCK)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * _FACTOR
    hashes ^= hashes >> np.uint32(15)
    partitions = np.empty(len(keys), dtype=np.int64)
    partitions[order] = (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % count
    return partitions


def _add_rest(
    hashes: NDArray[np.uint32],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> None:
    """Add the last one to three bytes of each key to its hash."""
    for i in range(_BLOCK - 1):
        has = lengths > i
        hashes[has] ^= data[starts[has] + i].astype(np.uint32) << np.uint32(8 * i)
    hashes[lengths > 0] *= _FACTOR
