"""Static analysis: a program is safe, typed and stratified before it runs, or it is refused."""

from __future__ import annotations

from streamreasoner.analysis.check import CheckedProgram, check, check_text
from streamreasoner.analysis.load import load_program

__all__ = ["CheckedProgram", "check", "check_text", "load_program"]
