"""A server of stored tables in a thread of the test, and clients of it."""

from __future__ import annotations

import dataclasses
import http.client
import json
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlencode

import msgspec
from pipelines import DEADLINE_SECONDS
from reference.answers import ANSWERS
from reference.http import PATHS

from streamreasoner.config.server import ServerConfig
from streamreasoner.server.listening import listen
from streamreasoner.server.web.serve import Served, Server
from streamreasoner.system.stopping import Stop


def check_described(path, media_type, body):
    """Fail unless the reference describes an answer: its path, its type, and JSON by its types."""
    path = path.partition("?")[0]
    described = PATHS["/page/{name}" if path.startswith("/page/") else path].media_types
    assert media_type in described or "application/octet-stream" in described, (path, media_type)
    types = ANSWERS.get((path, described.get(media_type)), ())
    problems = []
    for each in types:
        try:
            msgspec.json.Decoder(each).decode(body)
        except msgspec.ValidationError as error:
            problems.append(str(error))
    assert not types or len(problems) == len(types) - 1, (path, problems, body[:1000])


def configuration(**values):
    """A `[server]` that answers for facts on a free port of this machine."""
    defaults = {key.name: key.metadata["default"] for key in dataclasses.fields(ServerConfig)}
    return ServerConfig(**{**defaults, "port": 0, "facts": True, **values})


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the server said; header names are in lower case."""

    status: int
    headers: dict
    body: str

    @property
    def json(self):
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def epoch(self):
        """The epoch that the header names."""
        return int(self.headers["streamreasoner-epoch"])


def ask(port, path, *, headers=None, method="GET", connection=None, **query):
    """The answer to one request."""
    target = f"{path}?{urlencode(query)}" if query else path
    used = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)
    used.request(method, target, headers=headers or {})
    found = used.getresponse()
    answer = Answer(
        found.status,
        {name.lower(): value for name, value in found.getheaders()},
        found.read().decode(),
    )
    if connection is None:
        used.close()
    if answer.status == 200 and method == "GET":
        media_type = answer.headers["content-type"].partition(";")[0]
        if media_type != "text/event-stream":  # `events` checks each
            check_described(path, media_type, answer.body)
    return answer


def await_ready(port, headers=None):
    """Wait until the server answers for facts."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while ask(port, "/rules", headers=headers).status != 200:
        assert time.monotonic() < deadline, ask(port, "/rules", headers=headers).body
        time.sleep(0.02)


@contextmanager
def serving(tables, at=None, *, ready=True, headers=None, **values):
    """The port of a server."""
    config = configuration(**values)
    with listen(config) as place:
        stop = Stop()
        server = Server(config, Served(tables, at), stop)
        thread = threading.Thread(target=server.run, args=([place],))
        thread.start()
        port = place.getsockname()[1]
        try:
            if ready:
                await_ready(port, headers)
            yield port
        finally:
            stop.request()
            thread.join()


def events(port, path="/changes", headers=None, **query):
    """The events of a stream, as dicts of id and data, until the caller stops."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)
    connection.request("GET", f"{path}?{urlencode(query, doseq=True)}", headers=headers or {})
    found = connection.getresponse()
    assert found.status == 200, found.read()
    assert found.headers["content-type"].startswith("text/event-stream")
    event = {}
    try:
        for line in found:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
            elif "data" in event:
                check_described("/changes", "text/event-stream", event["data"])
                yield {"id": int(event["id"]), **json.loads(event["data"])}
                event = {}
    finally:
        found.close()
        connection.close()
