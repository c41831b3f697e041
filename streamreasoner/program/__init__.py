"""A program, assembled from its files and accepted: safe, typed and stratified before it runs."""

from __future__ import annotations

from streamreasoner.program.checked import CheckedProgram, check, check_text
from streamreasoner.program.load import load_program

__all__ = ["CheckedProgram", "check", "check_text", "load_program"]
