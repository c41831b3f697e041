"""The demo as a process, on a real broker, Spark and Delta."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from http.client import OK
from pathlib import Path

import pytest
from pipelines import DEADLINE_SECONDS, eventually
from serving import ask
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.config import load
from streamreasoner.demo.stream import change
from streamreasoner.io.kafka.topics import read_all

GUEST = """
@prefix : <http://example.org/university#> .
<urn:me> a :Technician .
"""
QUERY = """
PREFIX : <http://example.org/university#>
SELECT ?who { ?who a :Person FILTER(?who = <urn:me>) }
"""
POLICY = """
PREFIX : <http://example.org/university#>
RULE :entrance { ?who :mayEnter :library }
WHERE { ?who a :Technician FILTER(?who = <urn:me>) NOT { ?who a :Student } }
"""
ENTERS = (
    "<urn:me>",
    "<http://example.org/university#mayEnter>",
    "<http://example.org/university#library>",
)


def demo(*arguments, directory):
    """The demo in plain text, with its temporary files below a directory."""
    return subprocess.Popen(
        [sys.executable, "-m", "streamreasoner", "demo", "--plain", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(directory)},
    )


def left_behind(directory):
    """Processes that name the directory, and temporary files of the demo."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    running = [command for command in commands if str(directory) in command]
    return running, sorted(path.name for path in directory.glob("streamreasoner-demo-*"))


def run(*arguments):
    """A command, which succeeds."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.output


def facts(port):
    """The answers that the server has; None while its copy does not know of the query."""
    answer = ask(port, "/facts", predicate="guests")
    return answer.json["facts"] if answer.status == OK else None


def take_part(configuration, port, directory):
    """A guest asks continuously, sends a fact whose consequence answers, and retracts it.

    Returns:
        The answers on the output topic, in order.
    """
    question, fact = directory / "guests.rq", directory / "me.ttl"
    question.write_text(QUERY)
    fact.write_text(GUEST)
    common = ("--config", configuration)
    run("rules", "add", question, "--wait", "--timeout", DEADLINE_SECONDS, *common)
    for diff, present in ((1, [["<urn:me>"]]), (-1, [])):
        run("produce", fact, "--diff", diff, *common)
        eventually(lambda: facts(port), present)
    kafka = load(configuration, {}).kafka
    published = map(change, read_all(kafka, kafka.output_topic))
    return [(each.fact, each.diff) for each in published if each.predicate == "guests"]


def follow_policy(configuration, port, directory):
    """A guest adds a policy in SPARQL-RL, asks why its consequence holds, and removes it again.

    Returns:
        The changes of the consequence on the output topic, in order, and the explanation.
    """
    policy, guest = directory / "policy.srl", directory / "me.ttl"
    policy.write_text(POLICY)
    common = ("--config", configuration)
    kafka = load(configuration, {}).kafka

    def consequences():
        published = map(change, read_all(kafka, kafka.output_topic))
        return [each.diff for each in published if ENTERS[1] in each.fact]

    run("rules", "add", policy, "--wait", "--timeout", DEADLINE_SECONDS, *common)
    run("produce", guest, *common)
    eventually(consequences, [1])
    # The server's copy follows the topic.
    fact = f"[{', '.join(ENTERS)}]"
    eventually(lambda: "is absent" in ask(port, "/explain", fact=fact).body, expected=False)
    why = ask(port, "/explain", fact=fact).body
    run("rules", "remove", policy, "--wait", "--timeout", DEADLINE_SECONDS, *common)
    eventually(consequences, [1, -1])
    return consequences(), why


def test_the_demo_ends_with_an_equal_closure(tmp_path):
    """A short stream: exit code 0, equal closures, nothing left behind."""
    process = demo("--duration", "3", "--rate", "60", "--seed", "7", directory=tmp_path)
    out, err = process.communicate(timeout=900)

    assert err == ""
    assert process.returncode == 0
    assert "The closure kept up to date is equal to the evaluation from scratch." in out
    assert re.search(r"The first derived change came \d+\.\d s after the start\.", out)
    rows = re.findall(r"([\d,]+) rows   from scratch +([\d,]+)   equal", out)
    assert len(rows) == 2
    assert all(live == scratch and int(live.replace(",", "")) > 1000 for live, scratch in rows)
    assert left_behind(tmp_path) == ([], [])


@pytest.mark.usefixtures("joined_jvm")
def test_an_interrupted_stream_is_compared(tmp_path):
    """A signal after a retraction of the schema ends the stream, and the comparison follows.

    Until then the page is where the demo says, and guests take part with the file that it names.
    """
    process = demo("--duration", "600", "--rate", "60", "--seed", "7", directory=tmp_path)
    retraction = re.compile(r" +schema: \w+ sub\w+Of \w+ \w+: [\d,]+ derived facts go")
    page = re.compile(r" +Open http://127\.0\.0\.1:(\d+)/ while it runs")
    guests = re.compile(r" +To take part: streamreasoner \.\.\. --config (.*)")
    port, titles, answers, entered, why = 0, [], [], [], ""
    for line in process.stdout:
        if found := page.match(line):
            port = int(found[1])
            titles += re.findall(r"<title>(.*)</title>", ask(port, "/").body)
        if found := guests.match(line):
            configuration = Path(found[1])
        if retraction.match(line):
            try:
                answers = take_part(configuration, port, tmp_path)
                entered, why = follow_policy(configuration, port, tmp_path)
            finally:
                process.terminate()
            break
    out, err = process.communicate(timeout=900)

    assert err == ""
    assert titles == ["streamreasoner"]
    assert answers == [(("<urn:me>",), 1), (("<urn:me>",), -1)]
    assert entered == [1, -1]
    assert '@rule "http://example.org/university#entrance"' in why
    assert "Interrupted after" in out
    assert "equal to the evaluation from scratch" in out
    assert process.returncode == 0
    assert left_behind(tmp_path) == ([], [])


def test_a_used_directory_is_refused(tmp_path):
    """A state directory that is not empty is left unchanged, with one message and exit code 1."""
    (tmp_path / "mine.txt").write_text("mine")
    process = demo("--state", str(tmp_path), directory=tempfile.gettempdir())
    out, err = process.communicate(timeout=300)

    assert process.returncode == 1
    assert err == f"error: The directory {tmp_path} (--state) is not empty. Choose another one.\n"
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
