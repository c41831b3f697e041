"""What the codec makes of many messages, as digests; `python tests/states/decoding.py` writes them.

An epoch that one release has begun may be replayed by another. Terms must then get the ids that the
table of terms has by then, and the same messages must be rejected: so the digests change only with
messages that are refused or read differently by intent.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa
from golden import digest

from streamreasoner.config.rows import MappedFact, RowMapping, argument
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.registry import JSON_ROWS
from streamreasoner.io.kafka.dead_letter import dead_letters
from streamreasoner.rdf.dictionary import Dictionary

FILE = Path(__file__).with_name("decoding.json")
BATCHES = 40
MESSAGES = 50
ARITIES = {"edge": 2, "flag": 0, "quad": 4, "weight": 3}
OPTIONS = InputOptions(max_message_bytes=400, max_term_bytes=400)
_ROOM = argument("<http://example.org/{id}>")
FACTS = (
    MappedFact("weight", (_ROOM, argument("<http://example.org/p>"), argument("weight"))),
    MappedFact("edge", (argument("<{+page}>"), argument('"{weight}, {id}"@en'))),
    MappedFact("flag", ()),
)
OF_ROWS = replace(
    OPTIONS, default=JSON_ROWS, mappings=(RowMapping("rows", "in", None, ("id",), FACTS),)
)
_XSD = "http://www.w3.org/2001/XMLSchema#"
_IRIS = [f"<http://example.org/{name}>" for name in ("a", "b", "c/d", "e#f", "ü", r"\u00fc")]
_BLANKS = ["_:a", "_:b1", "_:é"]
_LITERALS = ['"x"', r'"A\n"', '"é"@en', r'"\u00e9"@EN', f'"1"^^<{_XSD}integer>',
             f'"01"^^<{_XSD}integer>', f'"x"^^<{_XSD}string>', f'"1.0"^^<{_XSD}double>',
             f'"ill"^^<{_XSD}integer>', '""', '"\U0001f600"']  # fmt: skip
_NO_TERMS = ["", "x", "<a b>", '"open', "_:", '"x"@', "<a>b", '"a\0"', r'"\u0000"', "<relative>"]
_TERMS = [*_IRIS, *_BLANKS, *_LITERALS]
_NUMBERS = [0, -7, 10**18, 10**30, 1.5, -0.0, 1e300, True, False]
_TIMES = [None, 0, 1767225600123, "2026-01-01T00:00:00Z", "2026-01-01T01:00:00.5+01:00"]
_NO_TIMES = ["today", "2026-13-01T00:00:00Z", 2**62, -(2**62), ""]
_START = datetime(2026, 3, 1, tzinfo=UTC)


def digests():
    """The digest of what is decoded, by the kind of messages."""
    return {kind: _digest(kind) for kind in ("triples", "facts", "hostile", "rows")}


def stored():
    """The digests in the file."""
    return json.loads(FILE.read_text("utf-8"))


def _digest(kind):
    generator = random.Random(kind)
    dictionary = Dictionary()
    codec = Codec(dictionary, ARITIES, OF_ROWS if kind == "rows" else OPTIONS)
    lines = []
    for number in range(BATCHES):
        batch = _batch(generator, kind, number)
        decoded = codec.decode(batch)
        lines.append(f"time {decoded.event_time}")
        lines += (
            f"{one.predicate} {one.args.tolist()} {one.multiplicity.tolist()}"
            for one in decoded.updates
        )
        lines += (f"{one.row} {one.reason} {one.detail}" for one in decoded.rejected)
        lines += (str(letter) for letter in dead_letters(batch, decoded.rejected))
    lines += dictionary.terms(0, len(dictionary))
    return digest(map(str, lines))


def _batch(generator, kind, number):
    """A batch as the source returns it."""
    values = [_KINDS[kind](generator) for _ in range(MESSAGES)]
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    times = [_START + timedelta(milliseconds=generator.randrange(10**6)) for _ in values]
    return pa.table(
        {
            "topic": pa.array(["in"] * MESSAGES, pa.string()),
            "partition": pa.array([number % 3] * MESSAGES, pa.int32()),
            "offset": pa.array(range(MESSAGES), pa.int64()),
            "timestamp": pa.array(times, pa.timestamp("us", "UTC")),
            "key": pa.array([generator.choice((None, b"key", b"\xff")) for _ in values]),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array([_headers(generator, kind) for _ in values], header),
        }
    )


def _headers(generator, kind):
    if kind in {"triples", "rows"} or generator.random() < 0.8:
        return None
    types = [b"application/json", b"Application/JSON; charset=utf-8"]
    if kind == "hostile":
        types += [b"text/turtle", b"", None, b"\xff"]
    return [{"key": "content-type", "value": generator.choice(types)}]


def _triple(generator):
    subject = generator.choice(_IRIS + _BLANKS)
    fields = {"s": subject, "p": generator.choice(_IRIS), "o": generator.choice(_TERMS)}
    return _encoded(generator, fields)


def _fact(generator):
    predicate = generator.choice([*ARITIES, "triple"])
    if predicate in {"quad", "triple"}:
        args = [generator.choice(_IRIS) for _ in range({"quad": 4, "triple": 3}[predicate])]
        args[2] = generator.choice(_TERMS + _NUMBERS)
    else:
        args = [generator.choice(_TERMS + _NUMBERS) for _ in range(ARITIES[predicate])]
    return _encoded(generator, {"predicate": predicate, "args": args})


def _rows(generator):
    """A row, or some; one in ten has a mistake."""
    rows = [
        {
            "id": generator.choice(("a", "b/c", "é ", 7, 0.5)),
            "weight": generator.choice((None, "x", *_NUMBERS)),
            "page": generator.choice((None, "http://example.org/a?b=c d", "urn:x")),
        }
        for _ in range(generator.randrange(5))
    ]
    if rows and generator.random() < 0.1:
        rows[-1]["page"] = generator.choice(([], "relative", "\0"))
    return json.dumps(rows[0] if len(rows) == 1 else rows).encode()


def _encoded(generator, fields):
    fields["diff"] = generator.choice((1, -1, 3))
    if generator.random() < 0.3:
        fields["ts"] = generator.choice(_TIMES)
    return json.dumps(fields, ensure_ascii=generator.random() < 0.5).encode()


def _hostile(generator):
    """A message as good ones are, or with one mistake."""
    value = generator.choice((_triple, _fact))(generator)
    fields = json.loads(value)
    match generator.randrange(8):
        case 0:
            place = generator.randrange(len(value))
            return value[:place] + generator.randbytes(1) + value[place + 1 :]
        case 1:
            return value[: generator.randrange(len(value))]
        case 2:
            fields[generator.choice([*fields])] = generator.choice(_NO_TERMS + _NUMBERS)
        case 3:
            del fields[generator.choice([*fields])]
        case 4:
            fields[generator.choice(("S", "graph", "ts"))] = generator.choice(_NO_TIMES)
        case 5:
            return generator.choice((None, b"", b"[]", b"null", b"{}", value * 9))
        case 6:
            fields.get("args", []).append(generator.choice(_NO_TERMS))
        case _:
            return value
    return json.dumps(fields).encode()


_KINDS = {
    "rows": _rows,
    "triples": _triple,
    "facts": lambda generator: generator.choice((_triple, _fact))(generator),
    "hostile": _hostile,
}


if __name__ == "__main__":
    FILE.write_text(f"{json.dumps(digests(), indent=1)}\n", encoding="utf-8")
