"""The process of the server alongside a pipeline. Invariant: batches do not depend on it.

It ends when the pipeline's process does: the end of its standard input tells it to. If it ends by
itself it is started again. The socket belongs to the pipeline's process, so that clients wait
meanwhile instead of being refused.
"""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Self

from streamreasoner.server.listening import address, listen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamreasoner.config.process import LogConfig
    from streamreasoner.config.server import ServerConfig
    from streamreasoner.server.pages import Upstream

COMMAND: Final = (sys.executable, "-m", "streamreasoner.cli.serving.beside")
"""The process: it reads an `Order`."""
LONGEST_PAUSE: Final = 30.0
STEADY_SECONDS: Final = 60.0
"""A process that ran this long is started again at once."""
STOP_SECONDS: Final = 10.0

_logger = logging.getLogger(__name__)


class Order(NamedTuple):
    """What the process is to do.

    Attributes:
        server: The configuration.
        tables: Directory of the tables.
        upstream: Where the pipeline's own pages are.
        descriptor: The socket that listens.
        log: How to log.
    """

    server: ServerConfig
    tables: Path
    upstream: Upstream
    descriptor: int
    log: LogConfig


def read_order(stream: BinaryIO) -> Order:
    """What a process is told at its start."""
    order: Order = pickle.load(stream)  # noqa: S301 - the pipeline's process wrote it
    return order


class ServerProcess:
    """Runs the server in a process of its own until closed.

    Args:
        server: The configuration.
        tables: Directory of the tables.
        upstream: Where the pipeline's own pages are.
        log: How to log.
        restarted: Called when the process has ended by itself.

    Raises:
        EnvironmentSetupError: The port is in use, or the address is not local.
        ConfigError: The certificate or its key cannot be used.
    """

    def __init__(
        self,
        server: ServerConfig,
        tables: Path,
        upstream: Upstream,
        log: LogConfig,
        restarted: Callable[[], None],
    ) -> None:
        self._place = listen(server)
        self._order = Order(server, tables, upstream, self._place.fileno(), log)
        self._restarted = restarted
        self._closing = threading.Event()
        self._process = self._start()
        self._thread = threading.Thread(target=self._watch, name="server", daemon=True)
        self._thread.start()
        _logger.info("Answering questions at %s.", address(server, self._place))

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def close(self) -> None:
        """End the process, and free the port."""
        self._closing.set()
        self._end(self._process)
        self._thread.join()
        self._place.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            pass_fds=[self._order.descriptor],
            # An interrupt from the terminal is for the pipeline. In a session of its own, the
            # process would have as much of the processors as the pipeline, whatever its priority.
            process_group=0,
        )
        with suppress(BrokenPipeError):
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            process.stdin.write(pickle.dumps(self._order))
            process.stdin.flush()
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(BrokenPipeError):
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _watch(self) -> None:
        pause = 1.0
        while True:
            began = time.monotonic()
            code = self._process.wait()
            if self._closing.is_set():
                return
            pause = 1.0 if time.monotonic() - began > STEADY_SECONDS else pause
            _logger.warning(
                "The server's process has ended (exit code %d). It is started again in %.0f s; "
                "batches go on.",
                code,
                pause,
            )
            self._restarted()
            if self._closing.wait(pause):
                return
            pause = min(2 * pause, LONGEST_PAUSE)
            self._end(self._process)
            self._process = self._start()
            if self._closing.is_set():
                self._end(self._process)
                return
