"""A backend in plain Python: dicts, nested loops, no index. Invariant: it stays transparent.

The engine runs on it as on any backend, and kernels are compared with its parts step by step.
"""

from __future__ import annotations

from model.backend import ModelBackend
from model.leaves import NestedLoops
from model.state import Program, State
from model.terms import Terms

__all__ = ["ModelBackend", "NestedLoops", "Program", "State", "Terms"]
