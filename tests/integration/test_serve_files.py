"""`streamreasoner serve RULES FILES`: what is asked follows the files."""

from __future__ import annotations

import subprocess
import sys

import pytest
from free_ports import free_port
from pipelines import DEADLINE_SECONDS, eventually
from serving import ask
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import DataError

RULES = "@prefix ex: <http://example.org/> .\n[?x, ex:reaches, ?y] :- [?x, ex:to, ?y] .\n"
TTL = "@prefix ex: <http://example.org/> . {}\n"
QUERY = "PREFIX ex: <http://example.org/> SELECT ?y { ex:a ex:reaches ?y }"


def test_files_that_change_while_they_are_served(tmp_path):
    """The answers of SPARQL follow a file and the rules, and SIGTERM ends the server."""
    rules, data, port = tmp_path / "rules.dl", tmp_path / "data.ttl", free_port()
    rules.write_text(RULES)
    data.write_text(TTL.format("ex:a ex:to ex:b ."))

    def reached():
        rows = ask(port, "/sparql", query=QUERY).json["results"]["bindings"]
        return sorted(row["y"]["value"].rpartition("/")[2] for row in rows)

    command = [sys.executable, "-m", "streamreasoner", "serve", rules, data, "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            while f":{port}" not in process.stderr.readline():
                assert process.poll() is None
            eventually(lambda: ask(port, "/readyz").status, 200)
            assert reached() == ["b"]
            data.write_text(TTL.format("ex:a ex:to ex:b, ex:c . ex:c ex:to ex:d ."))
            eventually(reached, ["b", "c"])
            more = "[?x, ex:reaches, ?z] :- [?x, ex:reaches, ?y], [?y, ex:reaches, ?z] .\n"
            rules.write_text(RULES + more)
            eventually(reached, ["b", "c", "d"])
            data.write_text(TTL.format("ex:a ex:to ex:c ."))
            eventually(reached, ["c"])
        finally:
            process.terminate()
        assert process.wait(DEADLINE_SECONDS) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name what to serve"),
        (["rho-df", "--state", "here"], "not both"),
        (["rho-df", "--at", "3"], "--at is an end of the past of a state"),
    ],
)
def test_what_is_served_is_said_once(arguments, said):
    """Rules and files, or a state."""
    result = CliRunner().invoke(app, ["serve", *arguments])

    assert isinstance(result.exception, DataError)
    assert said in str(result.exception)
