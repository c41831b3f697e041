"""Clients that are hostile or slow: health answers, and what they hold is bounded."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import logging
import socket
from contextlib import ExitStack, closing, suppress
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from pipelines import eventually
from serving import ask, serving
from starlette.responses import PlainTextResponse
from stored_epochs import StoredReasoner

from streamreasoner.config.secrets import Secret
from streamreasoner.server.http import CONNECTIONS as EXPORTED
from streamreasoner.server.http import Exporter
from streamreasoner.server.metrics import PrometheusObserver
from streamreasoner.server.web import connections, logins, sending
from streamreasoner.server.web.routes import changes

EPOCHS = 40
LOCAL = "127.0.0.1"
HALVES = {
    "nothing": b"",
    "half of the headers": b"GET /facts HTTP/1.1\r\nHost: local",
    "half of a body": (
        b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
        b"Content-Type: application/sparql-query\r\n\r\nASK"
    ),
    "a body without a reader": (
        b"POST /facts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nASK"
    ),
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables of a few epochs."""
    directory = tmp_path_factory.mktemp("tables")
    with closing(StoredReasoner(directory, "q(?x) :- p(?x) .", closure=True)) as stored:
        for number in range(EPOCHS):
            stored.run([("p", (f"<urn:{number}>",), 1)])
    return directory


def health(port, path="/healthz"):
    """The status of an answer of health, which is asked on a new connection."""
    connection = http.client.HTTPConnection(LOCAL, port, timeout=60)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize("half", ["nothing", "half of a body"])
def test_health_answers_beside_connections_that_wait(tables, half):
    """More connections than there are places, none of which sends a whole request."""
    with serving(tables) as port, ExitStack() as stack:
        for _ in range(connections.CONNECTIONS + 100):
            client = stack.enter_context(socket.create_connection((LOCAL, port)))
            client.sendall(HALVES[half])
        assert [health(port) for _ in range(3)] == [200] * 3
        assert health(port, "/readyz") == 200
        assert ask(port, "/rules").status == 200


def test_health_answers_beside_requests_in_progress(tables, monkeypatch):
    """Further requests are refused, with what to do; the number of them goes down again."""
    monkeypatch.setattr(sending, "REQUESTS", 4)
    with serving(tables) as port, ExitStack() as stack:
        for _ in range(4):
            stream = http.client.HTTPConnection(LOCAL, port, timeout=60)
            stack.callback(stream.close)
            stream.request("GET", "/changes")
            assert stream.getresponse().status == 200
        refused = ask(port, "/rules")
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert health(port) == 200
        stack.close()
        eventually(lambda: ask(port, "/rules").status, 200)


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES.keys())
def test_an_unfinished_request_is_cut_off(tables, monkeypatch, half):
    """In time, whichever part of it is missing; nothing is logged as a bug."""
    monkeypatch.setattr(connections, "CLIENT_SECONDS", 0.2)
    with serving(tables) as port, socket.create_connection((LOCAL, port), timeout=30) as client:
        client.sendall(half)
        with suppress(ConnectionError):
            while client.recv(1 << 16):
                pass


def test_bytes_that_drip_do_not_prolong_a_request(tables, monkeypatch):
    """The time of a request begins with its first byte."""
    monkeypatch.setattr(connections, "CLIENT_SECONDS", 0.3)
    with serving(tables) as port, socket.create_connection((LOCAL, port), timeout=30) as client:
        client.settimeout(0.02)
        cut_off = False
        while not cut_off:
            try:
                client.sendall(b"G")
                cut_off = client.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                cut_off = True


def test_a_history_is_sent_to_many_beside_health(tables):
    """Each of them gets all of it, and health answers meanwhile."""
    with serving(tables, EPOCHS - 1) as port, ExitStack() as stack:
        streams = []
        for _ in range(changes.STREAMS):
            stream = http.client.HTTPConnection(LOCAL, port, timeout=60)
            stack.callback(stream.close)
            stream.request("GET", "/changes?from=0")
            streams.append(stream.getresponse())
        assert health(port) == 200
        events = {stream.read() for stream in streams}
    assert len(events) == 1
    ids = [line for line in events.pop().splitlines() if line.startswith(b"id: ")]
    assert ids == [f"id: {number}".encode() for number in range(EPOCHS)]


def test_an_event_is_written_in_pieces_and_is_one_document(tables, monkeypatch):
    """However many changes a piece has."""
    with serving(tables, EPOCHS - 1) as port:
        whole = ask(port, "/changes", **{"from": 0}).body
        monkeypatch.setattr(changes, "CHANGES_AT_A_TIME", 1)
        assert ask(port, "/changes", **{"from": 0}).body == whole
    events = [json.loads(line[6:]) for line in whole.splitlines() if line.startswith("data: ")]
    assert [len(event["changes"]) for event in events] == [2] * EPOCHS


def test_answers_that_are_not_read_have_a_bound(monkeypatch):
    """A large answer is refused while others that are not read fill the memory; later it is not."""
    monkeypatch.setattr(sending, "PART_BYTES", 10)
    monkeypatch.setattr(sending, "WAITING_BYTES", 50)
    statuses, parts = [], []
    told = SimpleNamespace(answered=lambda _, status, __: statuses.append(status))
    served = sending.Sending(PlainTextResponse("x" * 45), told)
    scope = {"type": "http", "path": "/facts", "headers": [], "method": "GET"}

    async def both():
        """Two clients, the first of which does not read at once."""
        begun, read = asyncio.Event(), asyncio.Event()

        async def slow(message):
            """Send to a client that does not read yet."""
            parts.append(message.get("body", b""))
            begun.set()
            await read.wait()

        async def fast(message):
            """Send to a client that reads."""

        first = asyncio.create_task(served(scope, None, slow))
        await begun.wait()
        await served(scope, None, fast)
        read.set()
        await first
        await served(scope, None, fast)

    asyncio.run(both())
    assert statuses == [503, 200, 200]
    assert [len(part) for part in parts] == [0, 10, 10, 10, 10, 5]


def test_a_form_with_countless_fields_is_refused(tables):
    """Before they are read one by one."""
    with serving(tables) as port:
        connection = http.client.HTTPConnection(LOCAL, port, timeout=60)
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/sparql", "a=b&" * 10_001, kind)
        answer = connection.getresponse()
        assert (answer.status, b"at most 10000 fields" in answer.read()) == (400, True)
        connection.close()


def test_pipelined_requests_are_answered_in_order(tables):
    """As many as a client sends at once."""
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with serving(tables) as port, socket.create_connection((LOCAL, port), timeout=60) as client:
        client.sendall(request * 500 + last)
        received = b"".join(iter(lambda: client.recv(1 << 16), b""))

    assert received.count(b"HTTP/1.1 200 OK") == 500
    assert received.rindex(b"HTTP/1.1 404") > received.rindex(b"HTTP/1.1 200")


def test_headers_have_a_limit(tables):
    """A client that sends more is told so, or cut off."""
    with serving(tables) as port, socket.create_connection((LOCAL, port), timeout=60) as client:
        client.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000)
        with suppress(ConnectionError):
            assert b" 200 " not in client.recv(100)
        assert health(port) == 200


def login(password):
    """Headers with a login."""
    return {"Authorization": "Basic " + base64.b64encode(f"reader:{password}".encode()).decode()}


def test_wrong_logins_are_counted_logged_and_slowed_down(tables, caplog):
    """Each is in the metrics, the log has a line for many, and an address has one try a second."""
    good = login("right")
    with (
        caplog.at_level(logging.WARNING, "streamreasoner.server.web.logins"),
        serving(tables, headers=good, user="reader", password=Secret("right")) as port,
    ):
        assert ask(port, "/rules").status == 401  # a browser asks so first
        found = [ask(port, "/rules", headers=login(f"guess {n}")).status for n in range(50)]
        assert found[:10] == [401] * 10
        assert found.count(429) > 30
        blocked = ask(port, "/rules", headers=login("x"))
        assert (blocked.status, blocked.headers["retry-after"]) == (429, "2")
        eventually(lambda: ask(port, "/rules", headers=good).status, 200)
        metrics = ask(port, "/metrics", headers=good).body
        assert 'answers_total{path="/rules",status="401"}' in metrics
        assert 'answers_total{path="/rules",status="429"}' in metrics
    assert len(caplog.records) == 1
    assert "A wrong login, the last from 127.0.0.1 (server.user" in caplog.text


def test_addresses_are_remembered_in_bounded_memory():
    """The last ones; those of a network of IPv6 are one, and each has its own tries."""
    kept = logins.Logins()
    for number in range(logins.ADDRESSES + 500):
        kept.wrong(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    for number in range(int(logins.TRIES)):
        kept.wrong(f"2001:db8::{number:x}")

    assert len(kept) == logins.ADDRESSES
    assert not kept.may_try("2001:db8::ffff")
    assert kept.may_try("2001:db8:0:1::1")
    assert kept.may_try("10.0.0.1")


def test_paths_that_do_not_exist_are_one_in_the_metrics(tables):
    """Clients choose them, and each would be a series."""
    with serving(tables) as port:
        for number in range(3):
            assert ask(port, f"/nowhere{number}").status == 404
        metrics = ask(port, "/metrics").body

    assert 'answers_total{path="other",status="404"} 3.0' in metrics
    assert "nowhere" not in metrics


def test_metrics_without_a_server_answer_beside_connections_that_wait():
    """A pipeline without server.facts has health too, whatever other clients hold."""
    observer = PrometheusObserver(1.0, 1.0)
    with Exporter(observer, port=0) as exporter, ExitStack() as stack:
        for _ in range(EXPORTED + 50):
            stack.enter_context(socket.create_connection((LOCAL, exporter.port)))
        assert [health(exporter.port) for _ in range(3)] == [200] * 3


def test_a_query_is_posted_in_pieces(tables):
    """A body that comes slowly, but in time, is answered."""
    body = urlencode({"query": "ASK {}"}).encode()
    head = (
        "POST /sparql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
        f"application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    with serving(tables) as port, socket.create_connection((LOCAL, port), timeout=60) as client:
        for part in (head, body[:3], body[3:]):
            client.sendall(part)
        received = b"".join(iter(lambda: client.recv(1 << 16), b""))

    assert received.startswith(b"HTTP/1.1 200")
