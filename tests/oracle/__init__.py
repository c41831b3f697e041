"""Reference implementation: naive evaluation over sets and dicts. Invariant: it stays simple.

It shares only the syntax tree with the engine. A fact is (predicate, arguments as canonical
terms); a trace is fact -> {iteration: multiplicity}. `core` is the judge, and a page: to be read
alongside docs/semantics.md. `meaning` binds to it what terms, conditions and groups are worth.
"""

from __future__ import annotations

from oracle.instances import CircularError
from oracle.program import closure, derivations, derived, evaluate, holds, readable, total
from oracle.trace import NotConvergingError, Trace

__all__ = [
    "CircularError",
    "NotConvergingError",
    "Trace",
    "closure",
    "derivations",
    "derived",
    "evaluate",
    "holds",
    "readable",
    "total",
]
