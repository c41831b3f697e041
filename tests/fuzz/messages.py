"""Messages of all formats: decoded in one batch, each as if it were alone, and written again.

An input is a message as a text: lines `name=value` for its topic, its key and its headers, an empty
line, and its value; without an empty line it has no value.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from fuzz.target import ACCEPTED
from unit.io.test_message_formats import APPENDED, ARITIES, BAD, GOOD, OPTIONS

from streamreasoner.format_names import WRITTEN
from streamreasoner.io.codec.decode import NO_LIMITS, Codec
from streamreasoner.io.codec.encode import encode_updates
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.io.formats.registry import message_writer, of_name
from streamreasoner.io.kafka.dead_letter import dead_letters
from streamreasoner.plan.operands import Column, Pattern, Value
from streamreasoner.plan.program_plan import InputSources
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from streamreasoner.io.codec.decode import Decoded

SET, KEYED, EXPIRING = "a-set", "with-keys", "<http://e/b>"
_PARTS = 32
_ALONE = 4
"""How many messages of a batch are decoded alone too."""
_EVERY = 8
"""One good message follows that many inputs."""
_COLUMNS = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "key": pa.binary(),
        "value": pa.binary(),
        "timestamp": pa.timestamp("us", "UTC"),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
)
_VARYING = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|<[^>]*>|[^\x20-\x7e]+")
_TIMES = ("2026-01-01T00:00:00Z", "-62135596800000", "9999-12-31T23:59:59.9999999+14:00", "today")


def message(value: bytes | str | None, headers: Mapping[str, str]) -> bytes:
    """A message as an input."""
    head = "".join(f"{name}={text}\n" for name, text in headers.items()).encode()
    if value is None:
        return head
    return head + b"\n" + (value if isinstance(value, bytes) else value.encode())


def row(data: bytes) -> dict[str, object]:
    """A message of an input, in the columns of the source without its place."""
    found: dict[str, object] = {"topic": "in", "key": None, "value": None}
    headers = []
    while data:
        line, _, data = data.partition(b"\n")
        name, equals, text = line.partition(b"=")
        if not line:
            found["value"] = data
            break
        key = name.decode("utf-8", "replace")
        if key == "topic":
            found["topic"] = text.decode("utf-8", "replace")
        elif key == "key":
            found["key"] = text
        else:
            headers.append({"key": key, "value": text if equals else None})
    return {**found, "headers": headers or None}


def table(rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """Messages as the source delivers them."""
    columns = [[each[name] for each in rows] for name in ("topic", "key", "value", "headers")]
    topics, keys, values, headers = columns
    places = [2] * len(rows), [*range(len(rows))]
    columns = [topics, *places, keys, values, [APPENDED] * len(rows), headers]
    return pa.table(dict(zip(_COLUMNS.names, columns, strict=True)), schema=_COLUMNS)


def is_known(expected: object) -> bool:
    """Whether the facts of a message do not depend on its place."""
    return "_:message-" not in repr(expected)


class Messages:
    """The codec; see `Target`."""

    batch = 1_000

    def __init__(self) -> None:
        kept = [(value, headers) for value, headers, *_ in (*GOOD.values(), *BAD.values())]
        self.seeds = [message(value, headers) for value, headers in kept]
        for value, headers in kept[::3]:
            self.seeds += [
                message(value, {**headers, "topic": KEYED, "key": "k"}),
                message(value, {**headers, "topic": SET}),
                message(value, {**headers, "ts": _TIMES[len(self.seeds) % len(_TIMES)]}),
            ]
        self.tokens = [
            *(name.encode() for each in OPTIONS.formats for name in each.content_types),
            *(b"\nts=", b"\ndiff=-2\n", b"\ncontent-type=", b"\ntopic=", b"\nkey=\xff", b"\n\n"),
            *(b"topic=json-rows\n\n", b"topic=debezium\n\n", b"topic=with-keys\nkey=a\n"),
            *(b'{"op":"u","before":', b',"after":', b'"ts":"2026-01-01T00:00:00Z"', b'"diff":-1'),
            *(
                b'"predicate":"edge","args":[',
                b"TX .\n",
                b"TC .\n",
                b"TA .\n",
                b'PA "e" <http://e/> .\n',
            ),
            *(
                b"A ",
                b"D ",
                b"<http://e/a> ",
                b"_:b ",
                b'"x"@en-GB ',
                b"^^<http://e/d> ",
                b"@prefix ",
            ),
            *(
                b'"@id":',
                b'"@context":{',
                b'"@graph":[',
                b'"@list":[',
                b"<< ",
                b" >>",
                b"<<( ",
                b"GRAPH ",
            ),
        ]
        self._good = [
            (row(message(value, headers)), expected)
            for value, headers, expected in GOOD.values()
            if is_known(expected)
        ]
        self._options = replace(OPTIONS, sources=InputSources((SET,), (KEYED,)))
        self._expiring = [Pattern("triple", (Column("s"), Value(EXPIRING), Column("o")))]
        self._turn = 0

    def check(self, inputs: Sequence[bytes]) -> list[str]:
        """See `Target`."""
        rows, good, places = [], {}, []
        for number, data in enumerate(inputs):
            places.append(len(rows))
            rows.append(row(data))
            if number % _EVERY == 0:
                self._turn += 1
                one, expected = self._good[self._turn % len(self._good)]
                good[len(rows)] = expected
                rows.append(one)
        batch = table(rows)
        decoded, dictionary = self._decoded(batch)
        rejected = {each.row: each for each in decoded.rejected}
        check_rejections(batch, decoded)
        alone = places[self._turn % len(places) :][:_ALONE]
        found = facts_of(decoded, dictionary, [*good, *alone])
        for place, expected in good.items():
            assert place not in rejected, rejected[place]
            assert summed(found[place]) == expected, place
        for place in alone:
            again, own = self._decoded(batch.slice(place, 1))
            assert [(each.reason, each.detail) for each in again.rejected] == [
                (each.reason, each.detail) for each in decoded.rejected if each.row == place
            ]
            assert facts_of(again, own, [0])[0] == found[place]
        check_written(decoded, dictionary)
        predicates = of_predicates(decoded)
        return [
            f"{rejected[place].reason.value}: {_VARYING.sub('', rejected[place].detail)[:80]}"
            if place in rejected
            else ACCEPTED + " ".join(sorted(predicates[place]))
            for place in places
        ]

    def _decoded(self, batch: pa.Table) -> tuple[Decoded, Dictionary]:
        dictionary = Dictionary()
        codec = Codec(dictionary, ARITIES, self._options, (), self._expiring)
        return codec.decode(batch), dictionary


def check_rejections(batch: pa.Table, decoded: Decoded) -> None:
    """Each rejected message is a dead letter, and has no updates; those of others can be stored."""
    rows = [each.row for each in decoded.rejected]
    assert rows == sorted({*rows})
    letters = list(dead_letters(batch, decoded.rejected))
    values = batch.column("value").take(pa.array(rows, pa.int64()))
    assert [letter.value for letter in letters] == values.to_pylist()
    assert all(each.detail for each in decoded.rejected)
    for each in decoded.updates:
        assert (each.args >= 0).all()
        assert (each.multiplicity != 0).all()
        assert not np.isin(each.order >> _PARTS, rows).any()
        if each.times is not None:
            assert ((each.times >= timestamps.FIRST) & (each.times <= timestamps.LAST)).all()


def facts_of(
    decoded: Decoded, dictionary: Dictionary, places: Collection[int]
) -> dict[int, list[tuple[object, ...]]]:
    """The updates of some messages of a batch, as (predicate, terms, diff, time, source, part)."""
    found: dict[int, list[tuple[object, ...]]] = {place: [] for place in places}
    for each in decoded.updates:
        chosen = np.flatnonzero(np.isin(each.order >> _PARTS, [*places]))
        for at in chosen.tolist():
            terms = tuple(dictionary.decode(each.args[at]).to_pylist())
            time = None if each.times is None else int(each.times[at])
            order = int(each.order[at])
            part = order & ((1 << _PARTS) - 1)
            update = each.predicate, terms, int(each.multiplicity[at]), time, each.source, part
            found[order >> _PARTS].append(update)
    return {place: sorted(updates, key=repr) for place, updates in found.items()}


def summed(updates: Iterable[tuple[object, ...]]) -> Counter[tuple[object, object]]:
    """The sum of updates by fact."""
    sums: Counter[tuple[object, object]] = Counter()
    for predicate, terms, diff, *_ in updates:
        sums[predicate, terms] += diff
    return sums


def of_predicates(decoded: Decoded) -> dict[int, set[str]]:
    """The predicates of the facts of each message."""
    found: dict[int, set[str]] = defaultdict(set)
    for each in decoded.updates:
        for place in np.unique(each.order >> _PARTS).tolist():
            found[place].add(each.predicate)
    return found


def check_written(decoded: Decoded, dictionary: Dictionary) -> None:
    """Updates that a format can say are read as they are written."""
    plain = [each for each in decoded.updates if each.predicate in {"triple", *ARITIES}]
    for name in WRITTEN:
        format_, rows, sums = of_name(name), [], Counter()
        headers = [{"key": "content-type", "value": format_.content_types[0].encode()}]
        for each in plain:
            columns = [dictionary.decode(column) for column in each.args.T]
            count = len(each.multiplicity)
            said = message_writer(format_).said(each.predicate, columns, count)
            # A patch has no other multiplicities.
            diff = np.sign(each.multiplicity) if name == "rdf-patch" else each.multiplicity
            if not said.any():
                continue
            some = [column.filter(pa.array(said)) for column in columns]
            for sent in encode_updates(format_, each.predicate, some, diff[said]):
                own = [{"key": key, "value": value} for key, value in sent.headers]
                rows += [
                    {"topic": "in", "key": None, "value": value, "headers": own or headers}
                    for value in sent.values
                ]
            add(sums, each.predicate, each.args[said], diff[said])
        if rows:
            again = Codec(dictionary, ARITIES, NO_LIMITS).decode(table(rows))
            assert again.rejected == (), name
            read: Counter[tuple[object, ...]] = Counter()
            for each in again.updates:
                add(read, each.predicate, each.args, each.multiplicity)
            assert read == sums, name


def add(
    sums: Counter[tuple[object, ...]], predicate: str, args: np.ndarray, diff: np.ndarray
) -> None:
    """Add encoded updates to their sums."""
    for ids, each in zip(args.tolist(), diff.tolist(), strict=True):
        sums[predicate, *ids] += each
