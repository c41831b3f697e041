"""A pipeline with a server that is asked while batches run, which do not depend on it."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from itertools import islice

import psutil
from free_ports import free_port
from pipelines import await_published, committed, eventually, fact, new_case, produce
from processes import living
from serving import ask, await_ready, events
from spark_jvm import MARKS

from streamreasoner.service.assemble import pipeline

pytestmark = MARKS
RULES = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
NODES = [f"<http://example.org/n{number}>" for number in range(4)]
HOSTILE = [
    b"{",
    b'<svg onload="alert(1)">\xff\x00' + b"\xf0\x9f" * 1000,
    fact("edge", NODES[0], NODES[1], NODES[2]),
]


def servers():
    """The processes that serve pipelines of this one."""
    children = psutil.Process().children()
    return living(children, lambda child: "beside" in " ".join(child.cmdline()))


def check_dead_letters(case, document):
    """The messages that were rejected, with what the dead-letter topic says of each."""
    found = {
        (each["partition"], each["offset"]): (each["topic"], each["class"], each["reason"])
        for each in document["dead_letters"]
    }
    written = [dict(record.headers) for record in committed(case, case.kafka.dead_letter_topic)]
    assert found == {
        (int(headers["partition"]), int(headers["offset"])): tuple(
            headers[name].decode() for name in ("topic", "class", "reason")
        )
        for headers in written
    }
    assert document["total"] == len(written) == len(HOSTILE)
    texts = {each["message"] for each in document["dead_letters"]}
    assert {text[:20] for text in texts} == {each[:20].decode() for each in HOSTILE}
    assert max(map(len, texts)) < 1100


def check_profile(port):
    """All messages are of some epoch, which says how long each of its stages took."""

    def answered():
        return ask(port, "/profile", epochs=256).json["epochs"]

    eventually(lambda: sum(each["input"] for each in answered()), 5)
    epochs = answered()
    assert [each["epoch"] for each in epochs] == list(range(len(epochs)))
    assert sum(each["changes"] for each in epochs) == 3
    for each in epochs:
        assert 0 < sum(each["steps"].values()) <= each["seconds"]
        # The first batch may begin before the messages are there.
        assert each["latency"] > 0 if each["input"] else each["latency"] is None
        assert sum(rule["seconds"] for rule in each["rules"]) <= each["steps"]["evaluate"]
    rules = [rule for each in epochs for rule in each["rules"]]
    fired = Counter()
    for rule in rules:
        fired[rule["text"].partition(" :- ")[2]] += rule["firings"]
    assert fired == {
        "edge(?x, ?y) .": 2,
        "path(?x, ?y), edge(?y, ?z) .": 1,
    }
    assert epochs[-1]["lag"] == 0


def test_a_pipeline_is_asked_while_it_runs(broker, tmp_path):
    """Facts, proofs, changes and metrics come from one port, and batches go on without the server.

    The server is stopped, so that it neither reads nor answers, and then killed: epochs are
    published all the same, and the next server has them.
    """
    port = free_port()
    case = new_case(broker, tmp_path, RULES, server={"port": port, "facts": True})
    with pipeline(case.config):
        sent = produce(case, [fact("edge", *NODES[:2]), *HOSTILE, fact("edge", *NODES[1:3])])
        await_published(case, sent)
        await_ready(port)
        check_dead_letters(case, ask(port, "/dead-letters").json)
        check_profile(port)
        paths = [[NODES[0], NODES[1]], [NODES[0], NODES[2]], [NODES[1], NODES[2]]]
        eventually(lambda: sorted(ask(port, "/facts", predicate="path").json["facts"]), paths)
        message = json.dumps({"predicate": "path", "args": [NODES[0], NODES[2]], "diff": 1})
        assert "edge(<http://example.org/n1>" in ask(port, "/explain", fact=message).body
        assert ask(port, "/readyz").body == "ok: the query is running\n"
        changes = events(port, **{"from": 0})
        seen = {tuple(each["args"]) for event in islice(changes, 1) for each in event["changes"]}
        assert seen <= set(map(tuple, paths))

        (server,) = servers()
        os.kill(server.pid, signal.SIGSTOP)
        await_published(case, produce(case, [fact("edge", *NODES[2:4])]))
        os.kill(server.pid, signal.SIGKILL)
        await_published(case, produce(case, [fact("edge", *NODES[:2], diff=-1)]))
        paths = [[NODES[1], NODES[2]], [NODES[1], NODES[3]], [NODES[2], NODES[3]]]
        await_ready(port)
        eventually(lambda: sorted(ask(port, "/facts", predicate="path").json["facts"]), paths)
        metrics = ask(port, "/metrics").body
        assert "streamreasoner_server_restarts_total 1.0" in metrics
        assert 'streamreasoner_server_answers_total{path="/facts",status="200"}' in metrics
        # A batch ends a moment after its output is there.
        eventually(lambda: sum(each["input"] for each in ask(port, "/profile").json["epochs"]), 7)
    assert servers() == []
