"""Reasoning in a Spark session of your own: frames, streams, states as tables, whole pipelines.

Nothing is imported before it is used: Spark's executors read states without the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamreasoner.spark.frames import reason
    from streamreasoner.spark.pipeline import RunningPipeline, run, start
    from streamreasoner.spark.source import register
    from streamreasoner.spark.stream import StreamReasoner, reasoner

__all__ = [
    "RunningPipeline",
    "StreamReasoner",
    "reason",
    "reasoner",
    "register",
    "run",
    "start",
]

_MODULES = {
    "RunningPipeline": "pipeline",
    "StreamReasoner": "stream",
    "reason": "frames",
    "reasoner": "stream",
    "register": "source",
    "run": "pipeline",
    "start": "pipeline",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
