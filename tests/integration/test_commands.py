"""The Kafka commands of the command line, on a real broker."""

from __future__ import annotations

import io
import json
import lzma
import subprocess
import sys

import pytest
from pipelines import committed, new_case, spawn
from typer.testing import CliRunner

from streamreasoner.cli import app, main
from streamreasoner.errors import DataError

LINES = '<http://e/a> <http://e/p> "\\u00e9"@EN .\n<http://e/b> <http://e/p> <http://e/o> .\n'


@pytest.fixture
def case(broker, tmp_path):
    """A case without topics."""
    return new_case(broker, tmp_path, "", topics=False)


@pytest.fixture
def command(case, monkeypatch, capfdbinary):
    """Runs a command in this process, which starts faster: exit code and output."""

    def call(*arguments, text=""):
        words = ["streamreasoner", *arguments, "--config", str(case.file)]
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, b"".join(capfdbinary.readouterr()).decode()

    return call


def process(case, *arguments, text):
    """Exit code and output of a command in a process of its own, which reads a pipe."""
    arguments = [*arguments, "--config", str(case.file)]
    started = spawn(["-m", "streamreasoner", *arguments], subprocess.PIPE, subprocess.PIPE)
    out, error = started.communicate(text.encode(), timeout=300)
    return started.returncode, out.decode() + error.decode()


def test_topics_produce_and_consume(case, command):
    """Topics are created once; input produced from files and a pipe is consumed unchanged."""
    code, output = command("topics", "create", "--partitions", "1")
    assert code == 0, output
    assert output.count("created") == 5
    assert command("topics", "create")[1].count("exists") == 5

    file = case.directory / "facts.nt.xz"
    file.write_bytes(lzma.compress(LINES.encode()))
    assert command("produce", str(file), "--diff", "-1")[0] == 0
    assert command("produce", text="<http://e/c> <http://e/p> 'x' .\n")[0] == 1
    assert process(case, "produce", text=LINES)[0] == 0
    quads = case.directory / "facts.nq"
    quads.write_text('<http://e/a> <http://e/p> "\\u00e9\\"" _:g .\n', encoding="utf-8")
    assert command("produce", str(quads))[0] == 0
    line = '{"predicate":"edge","args":[1,2],"diff":1}'
    assert command("produce", "--from", "json-lines", text=f"\n{line}\n")[0] == 0

    topic = case.kafka.input_topics[0]
    values = [message.value.decode() for message in committed(case, topic)]
    retracted = [
        {"s": "<http://e/a>", "p": "<http://e/p>", "o": '"é"@en', "diff": -1},
        {"s": "<http://e/b>", "p": "<http://e/p>", "o": "<http://e/o>", "diff": -1},
    ]
    assert [json.loads(value) for value in values] == [
        *retracted,
        *({**value, "diff": 1} for value in retracted),
        {"predicate": "quad", "args": ["<http://e/a>", "<http://e/p>", '"é\\""', "_:g"], "diff": 1},
        json.loads(line),
    ]
    code, output = command("consume", "--topic", topic, "--from-beginning", "--count", "6")
    assert (code, output.splitlines()) == (0, values)

    config = ["--config", str(case.file)]
    produced = ["produce", str(quads), "--format", "rdf-patch", "--diff", "-1", *config]
    assert CliRunner().invoke(app, produced).exit_code == 0
    consumed = ["consume", "--topic", topic, "--from-beginning", *config]
    lines = CliRunner().invoke(app, [*consumed, "--format", "json-lines", "--count", "7"]).stdout
    integers = [f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>' for number in (1, 2)]
    assert [json.loads(line) for line in lines.splitlines()] == [
        *map(json.loads, values[:-1]),
        {"predicate": "edge", "args": integers, "diff": 1},
        {**json.loads(values[4]), "diff": -1},
    ]
    result = CliRunner().invoke(app, [*consumed, "--format", "nquads"])
    assert isinstance(result.exception, DataError)
    assert "has the multiplicity -1, but lines of nquads have none" in str(result.exception)


def test_mistakes_are_one_message(case, command):
    """A missing topic, a missing file and a diff of zero are one error message each."""
    command("topics", "create")
    for arguments, word in (
        (["produce", "--topic", "nowhere", str(case.directory / "rules.dl")], "nowhere"),
        (["produce", str(case.directory / "missing.nt")], "missing.nt"),
        (["produce", "--diff", "0"], "--diff"),
        (["consume", "--topic", "nowhere"], "nowhere"),
    ):
        code, output = command(*arguments)
        assert code == 1, output
        assert output.count("error: ") == 1
        assert word in output
        assert "Traceback" not in output
