"""Incremental reasoning over RDF streams: every consequence of a rule program, kept up to date."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamreasoner.errors import StreamReasonerError

if TYPE_CHECKING:
    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.api.results import Diff, Facts, Trace
    from streamreasoner.api.updates import Update, Violation
    from streamreasoner.rdf.terms import Term

__all__ = [
    "Diff",
    "Facts",
    "Reasoner",
    "StreamReasonerError",
    "Term",
    "Trace",
    "Update",
    "Violation",
    "__version__",
]

__version__ = "0.1.0"

_MODULES = {
    "Diff": "api.results",
    "Facts": "api.results",
    "Reasoner": "api.reasoner",
    "Term": "rdf.terms",
    "Trace": "api.results",
    "Update": "api.updates",
    "Violation": "api.updates",
}


def __getattr__(name: str) -> Any:
    # Spark's executors import functions on terms from this package: without numba and its kernels.
    if name in _MODULES:
        module = import_module(f"streamreasoner.{_MODULES[name]}")
        globals()[name] = found = getattr(module, name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
