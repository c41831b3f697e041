"""The messages that `produce` creates from files."""

from __future__ import annotations

import json

import pytest

from streamreasoner.io.codec.transcode import messages_of
from streamreasoner.io.formats.registry import JSON

EX = "http://example.org/"
TRIPLE = {"s": f"<{EX}a>", "p": f"<{EX}p>", "o": f"<{EX}b>", "diff": -1}


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

    [(key, value)] = messages_of(path, None, -1, header=True)
    message = json.loads(value)
    message.pop("ts", None)

    assert message == expected
    assert key == f"<{EX}a>".encode()


def test_messages_are_sent_as_they_are(tmp_path):
    """JSON lines are sent unparsed; --format overrides the file name."""
    path = tmp_path / "facts.jsonl"
    path.write_text('{"s": 1}\n\n', encoding="utf-8")
    other = tmp_path / "facts.txt"
    other.write_text("anything\n", encoding="utf-8")

    assert [*messages_of(path, None, 1, header=False)] == [(None, b'{"s": 1}')]
    assert [*messages_of(other, JSON, 1, header=False)] == [(None, b"anything")]
