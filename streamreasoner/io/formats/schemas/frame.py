"""What precedes a record in a message: the id of its schema, and in Protobuf the message's type.

The format is that of
https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format:
a byte 0, the id in four bytes, big endian; for Protobuf then the path of the type in the file: its
length and its elements as zigzag varints, or a byte 0 for the first type. Invariant: reading takes
time in proportion to what precedes the record, whatever the bytes are.
"""

from __future__ import annotations

from streamreasoner.io.formats.rejected import Reason, RejectedError

_FRAME = 5
_MOST_VARINT_BYTES = 5
_DEEPEST = 32
_MORE = 0x80


def split(value: bytes) -> tuple[int, bytes]:
    """The id of the schema, and what follows it.

    Raises:
        RejectedError: The value does not begin with an id.
    """
    if len(value) < _FRAME or value[0] != 0:
        raise RejectedError(
            Reason.MALFORMED_DOCUMENT,
            "The value does not begin with a byte 0 and the four bytes of a schema's id, as"
            " serializers that use a schema registry write it.",
        )
    return int.from_bytes(value[1:_FRAME]), value[_FRAME:]


def split_path(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """The path of a Protobuf type, such as (1, 0) for the first type in the second, and the rest.

    Raises:
        RejectedError: There is none.
    """
    count, at = _varint(payload, 0)
    if count == 0:
        return (0,), payload[at:]
    if not 0 < count <= _DEEPEST:
        raise _malformed(at)
    path: list[int] = []
    for _ in range(count):
        index, at = _varint(payload, at)
        path.append(index)
    return tuple(path), payload[at:]


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint, and where the next one begins."""
    value = 0
    for shift, byte in enumerate(payload[at : at + _MOST_VARINT_BYTES]):
        value |= (byte & ~_MORE) << 7 * shift
        if byte < _MORE:
            return (value >> 1) ^ -(value & 1), at + shift + 1
    raise _malformed(at)


def _malformed(at: int) -> RejectedError:
    return RejectedError(
        Reason.MALFORMED_DOCUMENT,
        f"Byte {_FRAME + at + 1}: the path of a Protobuf type should be here.",
    )
