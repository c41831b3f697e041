"""Reference implementation: naive evaluation over sets and dicts. Invariant: it stays simple.

It shares only the syntax tree with the engine. A fact is (predicate, arguments as canonical
terms); a trace is fact -> {iteration: multiplicity}.
"""

from __future__ import annotations

from oracle.expressions import holds
from oracle.program import NotConvergingError, Trace, closure, derivations, derived, evaluate, total

__all__ = [
    "NotConvergingError",
    "Trace",
    "closure",
    "derivations",
    "derived",
    "evaluate",
    "holds",
    "total",
]
