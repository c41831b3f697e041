"""The messages that `produce` creates from files."""

from __future__ import annotations

import json

import pytest

from streamreasoner.cli.options import Read, Written
from streamreasoner.errors import DataError
from streamreasoner.format_names import FORMATS, ROW_FORMATS, WRITTEN
from streamreasoner.io.codec.from_files import Sending, messages_of, under_key
from streamreasoner.io.formats.registry import JSON_LINES, NQUADS, NTRIPLES, RDF_PATCH

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
QUADS = Sending(NQUADS)
TRIPLE = {"s": f"<{EX}a>", "p": f"<{EX}p>", "o": f"<{EX}b>", "diff": -1}


def values(path, sending):
    """The values of the messages of a file."""
    return [message.value for message in messages_of(path, sending)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("facts.nt", f"<{EX}a> <{EX}p> <{EX}b> .\n", TRIPLE),
        ("facts.ttl", f"@prefix ex: <{EX}> .\nex:a ex:p ex:b .\n", TRIPLE),
        (
            "facts.nq",
            f"<{EX}a> <{EX}p> <{EX}b> <{EX}g> .\n",
            {
                "predicate": "quad",
                "args": [f"<{EX}a>", f"<{EX}p>", f"<{EX}b>", f"<{EX}g>"],
                "diff": -1,
            },
        ),
        (
            "edge.csv",
            f"from,to\n<{EX}a>,x\n",
            {"predicate": "edge", "args": [f"<{EX}a>", '"x"'], "diff": -1},
        ),
    ],
)
def test_every_format_of_facts_makes_messages(tmp_path, name, text, expected):
    """The formats are those of `materialize`."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")

    [message] = messages_of(path, Sending(diff=-1, header=True))

    assert json.loads(message.value) == expected
    assert message.key == f"<{EX}a>".encode()
    assert message.headers == [("content-type", b"application/json")]


def test_rows_are_sent_without_a_format(tmp_path):
    """The topic says which rows its messages are; each line is one."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1}\n\n {"id": 2}\n', encoding="utf-8")
    sent = list(messages_of(path, Sending(as_rows=True)))

    assert [(each.value, each.key, each.headers) for each in sent] == [
        (b'{"id": 1}', None, []),
        (b'{"id": 2}', None, []),
    ]


def test_messages_are_sent_as_they_are(tmp_path):
    """JSON lines are sent unparsed, alone or together; --from overrides the file name."""
    path = tmp_path / "facts.jsonl"
    path.write_text('{"s": 1}\n\n2\n', encoding="utf-8")
    other = tmp_path / "facts.nt"
    other.write_text("anything\n", encoding="utf-8")

    assert values(path, Sending()) == [b'{"s": 1}', b"2"]
    assert values(path, Sending(JSON_LINES)) == [b'{"s": 1}\n2\n']
    assert values(other, Sending(read_as=JSON_LINES)) == [b"anything"]


UPDATES = [
    {"s": f"<{EX}a>", "p": f"<{EX}p>", "o": f"<{EX}b>", "diff": 1},
    {"predicate": "quad", "args": [f"<{EX}a>", f"<{EX}p>", 1, "_:g"], "diff": -1},
    {"s": f"<{EX}b>", "p": f"<{EX}p>", "o": '"\\n"', "diff": -1},
]


def test_updates_of_one_format_are_messages_of_another(tmp_path):
    """Lines of JSON become patches or quads, and patches become JSON, with the same signs."""
    lines, patch, again = (tmp_path / name for name in ("a.jsonl", "b.rdfp", "c.jsonl"))
    lines.write_text("".join(f"{json.dumps(update)}\n" for update in UPDATES), encoding="utf-8")
    patch.write_bytes(b"".join(values(lines, Sending(RDF_PATCH))))
    assert len(patch.read_text("utf-8").splitlines()) == len(UPDATES) + 4
    again.write_bytes(b"".join(values(patch, Sending(JSON_LINES))))
    for read in (lines, again):
        found = [(dict(each.headers)["diff"], each.value) for each in messages_of(read, QUADS)]
        assert sorted(found) == [
            (b"-1", f'<{EX}a> <{EX}p> "1"^^<{XSD}integer> _:g .\n'.encode()),
            (b"-1", f'<{EX}b> <{EX}p> "\\n" .\n'.encode()),
            (b"1", f"<{EX}a> <{EX}p> <{EX}b> .\n".encode()),
        ]
    inverted = values(patch, Sending(RDF_PATCH, diff=-1))
    assert b"".join(inverted).count(b"A ") == 2


@pytest.mark.parametrize(
    ("name", "text", "sending", "message"),
    [
        (
            "edge.csv",
            "1,2\n",
            Sending(NQUADS),
            r'edge.csv: edge\("1".* cannot be written in nquads',
        ),
        ("a.nq", "<a:s> <a:p> <a:o> <a:g> .\n", Sending(NTRIPLES), "has triples of RDF only"),
        ("a.nt", "<a:s> <a:p> <a:o> .\n", Sending(RDF_PATCH, diff=2), "a multiplicity is 2"),
        ("a.jsonl", "{}\n", Sending(diff=-1), "omit --diff"),
        ("a.jsonl", f"{json.dumps(UPDATES[0])}\n\n3", Sending(NQUADS), "a.jsonl:3: The value is"),
        (
            "a.jsonl",
            json.dumps({**UPDATES[0], "ts": 0}),
            Sending(NQUADS),
            "an update has a ts, but messages in nquads have none",
        ),
    ],
)
def test_what_a_message_cannot_say_is_refused(tmp_path, name, text, sending, message):
    """With the file, and what to use instead."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        values(path, sending)


def test_the_formats_of_the_options_are_those_of_the_configuration():
    """By the same names."""
    assert [*Written] == [*WRITTEN]
    assert {*Read} == {*FORMATS} - {"json", *ROW_FORMATS}


def test_a_key_has_all_facts_in_one_message(tmp_path):
    """Without facts the message has no value; more than one message is refused."""
    path = tmp_path / "facts.nt"
    path.write_text("<u:s> <u:p> <u:o> .\n<u:s> <u:p> <u:q> .\n")
    sent = under_key(b"k", messages_of(path, Sending(NQUADS)))
    assert (sent.key, sent.value.count(b"\n")) == (b"k", 2)
    path.write_text("")
    assert under_key(b"k", messages_of(path, Sending(NQUADS))).value is None
    path.write_text("<u:s> <u:p> <u:o> .\n<u:s> <u:p> <u:q> .\n")
    with pytest.raises(DataError, match="--key k: the facts are in several messages"):
        under_key(b"k", messages_of(path, Sending()))
