"""An HTTP server for Prometheus and for supervisors. Invariant: every endpoint is read-only.

| path       | answers                                                              |
|------------|----------------------------------------------------------------------|
| `/metrics` | the metrics, in the format that the scraper accepts                    |
| `/healthz` | 200 while the process lives and no batch is stuck, else 503            |
| `/readyz`  | 200 while the state is restored and the query runs, else 503           |

The server of facts, which stands in front of it, may ask for further pages.
"""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qsl, urlsplit

from prometheus_client.exposition import choose_encoder

from streamreasoner.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from streamreasoner.server.metrics import PrometheusObserver
    from streamreasoner.server.pages import Pages

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
CLIENT_SECONDS: Final = 10.0
CONNECTIONS: Final = 64

_logger = logging.getLogger(__name__)


class Exporter:
    """Serves an observer's metrics and health until closed.

    Args:
        observer: What to serve.
        host: Address to listen on; use loopback unless a firewall or container guards it.
        port: Port to listen on; 0 picks a free one.
        pages: What the server in front of it may ask for.

    Raises:
        EnvironmentSetupError: The port is in use, or the address is not local.
    """

    def __init__(
        self,
        observer: PrometheusObserver,
        host: str = "127.0.0.1",
        port: int = 9464,
        pages: Pages | None = None,
    ) -> None:
        try:
            self._server = _Server((host, port), _Handler)
        except OSError as error:
            raise EnvironmentSetupError(
                f"Metrics cannot be served on {host}:{port} ({error.strerror}). Choose another "
                "server.host or server.port, or set server.port to 0 to disable metrics."
            ) from error
        self._server.observer, self._server.pages = observer, pages
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="exporter"
        )
        self._thread.start()

    @property
    def host(self) -> str:
        """The address it listens on."""
        return str(self._server.server_address[0])

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop the server and free the port."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    """A thread a connection; one too many takes the place of the oldest."""

    daemon_threads = True
    request_queue_size = CONNECTIONS
    observer: PrometheusObserver
    pages: Pages | None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lock = threading.Lock()
        self._open: dict[socket.socket, None] = {}

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open[request] = None
            oldest = next(iter(self._open)) if len(self._open) > CONNECTIONS else None
        if oldest is not None:
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "streamreasoner"
    sys_version = ""
    timeout = CLIENT_SECONDS

    def do_GET(self) -> None:
        """Answer one request."""
        observer, pages = self.server.observer, self.server.pages
        asked = urlsplit(self.path)
        if pages is not None:
            page = pages.find(asked.path, self.headers.get("Authorization", ""))
            if page is not None:
                document = page(dict(parse_qsl(asked.query)))
                self._answer(HTTPStatus.OK, JSON, document.encode())
                return
        match asked.path:
            case "/metrics":
                encode, kind = choose_encoder(self.headers.get("Accept", ""))
                self._answer(HTTPStatus.OK, kind, encode(observer.registry))
            case "/healthz":
                self._answer_health(*observer.health.is_alive())
            case "/readyz":
                self._answer_health(*observer.health.is_ready())
            case _:
                paths = "Paths: /metrics, /healthz, /readyz.\n"
                self._answer(HTTPStatus.NOT_FOUND, TEXT, paths.encode())

    def do_HEAD(self) -> None:
        """Answer one request without its body."""
        self.do_GET()

    def _answer_health(self, is_healthy: bool, line: str) -> None:  # noqa: FBT001 - a Health pair
        status = HTTPStatus.OK if is_healthy else HTTPStatus.SERVICE_UNAVAILABLE
        self._answer(status, TEXT, f"{line}\n".encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the inherited name
        """Log requests at debug level only: scrapes are frequent."""
        _logger.debug(format, *args)
