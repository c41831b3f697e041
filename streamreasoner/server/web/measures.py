"""What the server measures of itself. Invariant: a label is a path, a status, never a term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder
from starlette.responses import Response

from streamreasoner.server.web.errors import PATHS

if TYPE_CHECKING:
    from streamreasoner.server.web.following import FollowedReplica

PAGE_FILES: Final = "/page/{name}"
OTHERS: Final = "other"
SECONDS: Final = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
_END: Final = b"# EOF\n"


class Measures:
    """Answers by path, and the epoch that they are of.

    Args:
        followed: The replica that answers.
        beside: Whether a pipeline's metrics come first, which have those of a process.
    """

    def __init__(self, followed: FollowedReplica, *, beside: bool) -> None:
        self._registry = registry = CollectorRegistry()
        if not beside:
            ProcessCollector(registry=registry)
        self._answers = Counter(
            "streamreasoner_server_answers",
            "Answers by path and status, refused requests too; streams count when they begin.",
            ("path", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "streamreasoner_server_answer_seconds",
            "Time to an answer.",
            ("path",),
            buckets=SECONDS,
            registry=registry,
        )
        Gauge(
            "streamreasoner_server_epoch",
            "The epoch that answers are of; -1 while the state is loaded.",
            registry=registry,
        ).set_function(lambda: followed.epoch)
        Gauge(
            "streamreasoner_server_following",
            "1 while the state is followed, 0 if it is being loaded or cannot be read.",
            registry=registry,
        ).set_function(lambda: followed.status()[0])

    def answered(self, path: str, status: int, seconds: float) -> None:
        """A path has been answered."""
        if path not in PATHS:
            # Clients choose the others.
            path = PAGE_FILES if path.startswith("/page/") else OTHERS
        self._answers.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def page(self, accept: str, before: bytes = b"") -> Response:
        """The metrics in the format that a scraper accepts, after those of the pipeline."""
        encode, kind = choose_encoder(accept)
        body = before.removesuffix(_END) + encode(self._registry)
        return Response(body, headers={"Content-Type": kind})
