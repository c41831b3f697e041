"""The reference evaluation: naive, over plain sets and dicts. Invariant: small enough to believe.

It shares nothing with the engine but the syntax tree. A fact is (predicate, arguments as canonical
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
