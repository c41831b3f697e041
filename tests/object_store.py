"""An S3 server on loopback, behind a proxy that makes answers late, wrong or lost.

The server is moto's: it has the API of S3 with conditional writes, and keeps objects in memory.
"""

from __future__ import annotations

import http.client
import os
import socket
import struct
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from moto.server import ThreadedMotoServer

if TYPE_CHECKING:
    from collections.abc import Callable

BUCKET = "bucket"
SLOW_SECONDS = 0.3


class Fault(Enum):
    """What happens to a request."""

    SLOW = "answered late"
    ERROR = "refused with 500"
    BUSY = "refused with 503"
    CUT = "not done, and the connection reset"
    LOST = "done, and the connection reset"
    DENIED = "refused with 403"


@dataclass
class ObjectStore:
    """A running server.

    Attributes:
        port: That of the proxy.
        direct: That of the server.
        fault: Chooses what happens to a request, by its method and path; None for nothing.
        requests: Method and path of each request so far.
    """

    port: int
    direct: int
    fault: Callable[[str, str], Fault | None] = lambda _method, _path: None
    requests: list[tuple[str, str]] = field(default_factory=list, repr=False)

    def environment(self):
        """The variables that a client of it needs."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_REGION": "us-east-1",
        }

    def folder(self):
        """The address of a folder that nothing is in."""
        return f"s3://{BUCKET}/{uuid.uuid4().hex}"

    def request(self, method, path, body=None, headers=None):
        """Ask the server itself; returns status and content."""
        connection = http.client.HTTPConnection("127.0.0.1", self.direct, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@contextmanager
def object_store():
    """A server with a bucket."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, direct = server.get_host_and_port()
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    proxy.daemon_threads = True
    store = proxy.store = ObjectStore(proxy.server_address[1], direct)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    status, _ = store.request("PUT", f"/{BUCKET}")
    assert status == http.HTTPStatus.OK
    before = dict(os.environ)
    os.environ.update(store.environment())
    try:
        yield store
    finally:
        os.environ.clear()
        os.environ.update(before)
        proxy.shutdown()
        proxy.server_close()
        thread.join()
        server.stop()


class _Handler(BaseHTTPRequestHandler):
    """Passes a request on."""

    protocol_version = "HTTP/1.1"

    def handle_one_request(self):
        """Ignore clients that have gone."""
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def _pass(self):
        store = self.server.store
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        store.requests.append((self.command, self.path))
        fault = store.fault(self.command, self.path)
        if fault is Fault.SLOW:
            time.sleep(SLOW_SECONDS)
        if fault is Fault.CUT:
            return self._reset()
        refused = {Fault.ERROR: 500, Fault.BUSY: 503, Fault.DENIED: 403}.get(fault)
        if refused is not None:
            code = "AccessDenied" if fault is Fault.DENIED else "SlowDown"
            return self._answer(refused, {}, f"<Error><Code>{code}</Code></Error>".encode())
        connection = http.client.HTTPConnection("127.0.0.1", store.direct, timeout=60)
        try:
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if fault is Fault.LOST:
            return self._reset()
        return self._answer(answer.status, dict(answer.getheaders()), content)

    def _answer(self, status, headers, content):
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {"content-length", "connection", "transfer-encoding"}:
                self.send_header(name, value)
        length = headers.get("Content-Length") if self.command == "HEAD" else len(content)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _reset(self):
        """Close with RST: the client learns nothing."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass  # noqa: N815 - http.server's names

    def log_message(self, *_):
        """Log nothing."""
