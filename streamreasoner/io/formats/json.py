"""Messages in JSON, one update each, or the reason for their rejection.

Invariant: `read_any` gives the same message as the fast decoders for every value they accept, and a
precise reason for every other.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.errors import DataError
from streamreasoner.io.formats import timestamps
from streamreasoner.io.formats.format import UpdateRows
from streamreasoner.io.formats.json_object import MAX_DIFF, Argument, read_object, wrong_fields
from streamreasoner.io.formats.rejected import RejectedError
from streamreasoner.lang.ast import TRIPLE, bracketed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from streamreasoner.io.formats.rejected import Rejections

Diff = Annotated[int, msgspec.Meta(ge=-MAX_DIFF, le=MAX_DIFF)]


class TripleMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`{"s": ..., "p": ..., "o": ..., "diff": ..., "ts": ...}`; terms in N-Triples syntax."""

    s: str
    p: str
    o: str
    diff: Diff
    ts: str | int | None = None


class FactMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """`{"predicate": ..., "args": [...], "diff": ..., "ts": ...}`; JSON numbers are literals."""

    predicate: str
    args: list[Argument]
    diff: Diff
    ts: str | int | None = None


decode_triple = msgspec.json.Decoder(TripleMessage).decode
decode_fact = msgspec.json.Decoder(FactMessage).decode


def read_messages(values: Sequence[bytes], rejected: Rejections) -> list[UpdateRows]:
    """Triples, followed by the other facts by predicate; see `MessageReader`."""
    if values and not rejected:
        # Nearly every batch holds triples only: try to decode all of them at once.
        with suppress(ValueError, RecursionError):
            return [_triples(range(len(values)), [decode_triple(value) for value in values])]
    triples: dict[int, TripleMessage] = {}
    facts: dict[tuple[str, int], dict[int, FactMessage]] = {}
    for row, value in enumerate(values):
        if row in rejected:
            continue
        try:
            message = read_any(value)
        except RejectedError as error:
            rejected[row] = error
            continue
        if isinstance(message, FactMessage):
            facts.setdefault((message.predicate, len(message.args)), {})[row] = message
        else:
            triples[row] = message
    groups = [_facts(name, messages) for (name, _), messages in sorted(facts.items())]
    return [_triples([*triples], [*triples.values()]), *groups] if triples else groups


def _triples(rows: Sequence[int], messages: Sequence[TripleMessage]) -> UpdateRows:
    return UpdateRows(
        TRIPLE,
        np.asarray(rows, dtype=np.int64),
        (
            [message.s for message in messages],
            [message.p for message in messages],
            [message.o for message in messages],
        ),
        np.array([message.diff for message in messages], dtype=np.int64),
        [message.ts for message in messages],
    )


def _facts(predicate: str, by_row: Mapping[int, FactMessage]) -> UpdateRows:
    messages = by_row.values()
    return UpdateRows(
        predicate,
        np.fromiter(by_row, dtype=np.int64),
        [*zip(*(message.args for message in messages), strict=True)],
        np.array([message.diff for message in messages], dtype=np.int64),
        [message.ts for message in messages],
    )


def read_any(value: bytes) -> TripleMessage | FactMessage:
    """The message in one value.

    Raises:
        RejectedError: The value is not a message.
    """
    for decode in (decode_triple, decode_fact):
        try:
            return decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    raise wrong_fields(read_object(value))


def fact_of_message(text: str) -> str:
    """Return the fact of a message in the rule language, or a text without braces unchanged.

    Raises:
        DataError: The text begins like a JSON object but contains no fact.
    """
    if not text.lstrip().startswith("{"):
        return text
    try:
        message = json.loads(text)
    except ValueError as error:
        raise DataError(f"The message is not JSON: {error}.") from None
    match message:
        case {"s": str(s), "p": str(p), "o": str(o)}:
            return f"[{s}, {p}, {o}]"
        case {"predicate": str(predicate), "args": [*args]} if all(
            isinstance(arg, str) for arg in args
        ):
            terms = ", ".join(args)
            if args and predicate == bracketed(len(args)):
                return f"[{terms}]"
            return f"{predicate}({terms})"
        case _:
            raise DataError(
                'The message contains no fact; a fact is {"s": …, "p": …, "o": …} or'
                ' {"predicate": …, "args": […]}, with terms in N-Triples syntax.'
            )


def write_updates(
    predicate: str, columns: Sequence[pa.Array], diff: int | pa.Array, closing: str = "}"
) -> pa.Array:
    """Messages of updates: constant pieces and columns, joined row by row.

    Args:
        predicate: The predicate of all.
        columns: Canonical terms, a column for each argument.
        diff: Multiplicity of all updates, or of each as text.
        closing: What follows the multiplicity.
    """
    if predicate == TRIPLE:
        pieces = ['{"s":"', '","p":"', '","o":"', '","diff":']
    else:
        name = msgspec.json.encode(predicate).decode()
        quote = '"' if columns else ""
        opening = f'{{"predicate":{name},"args":[{quote}'
        pieces = [opening, *('","',) * (len(columns) - 1), f'{quote}],"diff":']
    joined: list[pa.Array | pa.Scalar] = []
    for position, piece in enumerate(pieces):
        joined.append(_text(piece))
        if position < len(columns):
            joined.append(_escaped(columns[position]))
    joined += [_text(str(diff)) if isinstance(diff, int) else diff, _text(closing), _text("")]
    # The last argument of the kernel is the separator.
    return pc.binary_join_element_wise(*joined)


def write_changes(
    predicate: str, columns: Sequence[pa.Array], diff: NDArray[np.int8], ts: int, epoch: int
) -> pa.Array:
    """Messages of the changes of an epoch, with its event time."""
    closing = f',"ts":"{timestamps.iso(ts)}","epoch":{epoch}}}'
    return write_updates(predicate, columns, pa.array(diff).cast(pa.large_string()), closing)


def write_fact(predicate: str, args: Sequence[str], diff: int) -> str:
    """The message of one update of a fact with canonical terms."""
    fact = {"predicate": predicate, "args": args, "diff": diff}
    return json.dumps(fact, ensure_ascii=False)


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _escaped(terms: pa.Array) -> pa.Array:
    """Terms escaped for JSON; canonical terms have no control characters: two escapes suffice."""
    doubled = pc.replace_substring(terms, "\\", "\\\\")
    return pc.replace_substring(doubled, '"', '\\"')
