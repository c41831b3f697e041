"""What a user does with a pipeline, with its state in Spark's executors and in an object store."""

from __future__ import annotations

import json
import shutil
import uuid
from itertools import combinations

import pytest
from free_ports import free_port
from object_store import object_store
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    eventually,
    net,
    new_case,
    no_change_twice,
    produce,
    triple,
)
from serving import ask, await_ready
from spark_jvm import MARKS
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = """
path(?x, ?y) :- [?x, <urn:edge>, ?y] .
path(?x, ?z) :- path(?x, ?y), [?y, <urn:edge>, ?z] .
"""
FAR = "far(?x, count(?y)) :- path(?x, ?y), not [?x, <urn:edge>, ?y] .\n"
NODES = [f"<http://example.org/{name}>" for name in "abcde"]


def command(case, *words):
    """What a command prints."""
    words = [*map(str, words), "--config", str(case.file)]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def edge(start):
    """The edge from a node to the next one."""
    return NODES[start], "<urn:edge>", NODES[start + 1]


def edges(*starts, diff=1):
    """Updates of edges from nodes to the next ones."""
    return [triple(*edge(start), diff=diff) for start in starts]


def paths(*pieces):
    """The paths of chains of nodes."""
    return {("path", pair) for piece in pieces for pair in combinations(piece, 2)}


def far(start, count):
    """How many nodes are far from one."""
    return "far", (NODES[start], f'"{count}"^^<http://www.w3.org/2001/XMLSchema#integer>')


def lose_the_disk(case):
    """Delete the state directory."""
    shutil.rmtree(case.config.state.directory)


@pytest.mark.usefixtures("own_log")
def test_a_life_of_commands(broker, tmp_path):
    """Load files, run, ask, change the rules, back up, erase, restore: each on an empty disk."""
    port = free_port()
    with object_store() as store:
        case = new_case(
            broker,
            tmp_path,
            RULES,
            pipeline={"backend": "executors", "parts": 2},
            rules={"control_topic": f"control-{uuid.uuid4().hex[:12]}"},
            server={"port": port, "facts": True},
            state={"object_store": store.folder()},
        )
        (tmp_path / "facts.nt").write_text("".join(f"{' '.join(edge(n))} .\n" for n in (0, 1)))
        assert "Loaded 2 facts" in command(case, "bootstrap", tmp_path / "facts.nt")
        lose_the_disk(case)
        with pipeline(case.config):
            await_published(case, produce(case, edges(2, 3)))
            assert net(changes(case)) == paths(NODES)
            await_ready(port)
            wanted = json.dumps({"predicate": "path", "args": [NODES[0], NODES[4]], "diff": 1})
            eventually(lambda: "urn:edge" in ask(port, "/explain", fact=wanted).body, expected=True)
            (tmp_path / "far.dl").write_text(RULES + FAR)
            rules = "rules", "replace", tmp_path / "far.dl"
            said = command(case, *rules, "--wait", "--timeout", DEADLINE_SECONDS)
            assert "The change is in effect." in said
            command(case, "backup", tmp_path / "backup")
            await_published(case, produce(case, edges(0, diff=-1)))
            assert 'backend="executors"' in ask(port, "/metrics").body
        lose_the_disk(case)
        assert NODES[0] not in command(case, "state")
        assert "STILL THERE" not in command(case, "purge", "--term", NODES[0])
        lose_the_disk(case)
        case.raw["state"]["object_store"] = store.folder()
        assert "1 epoch" in command(case, "restore", tmp_path / "backup")
        lose_the_disk(case)
        with pipeline(case.config):
            await_published(case, produce(case, edges(0)) + produce(case, edges(1, diff=-1)))
    output = changes(case)
    assert net(output) == paths(NODES[:2], NODES[2:]) | {far(2, 1)}
    assert no_change_twice(output)
