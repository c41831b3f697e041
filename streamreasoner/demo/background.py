"""Work on daemon threads. Invariant: the work's result or error is in its future."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def background(name: str, work: Callable[[], None]) -> Future[None]:
    """Run *work* on a daemon thread, which does not keep the process alive after a failure."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the future's result is read
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done
