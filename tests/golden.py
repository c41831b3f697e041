"""Every program of the repository that has updates, and digests of what it gives."""

from __future__ import annotations

import hashlib

from programs import cases as programs

from examples import cases as examples


def cases():
    """Golden programs and examples, by name."""
    return {
        **{f"programs/{name}": case for name, case in programs.read_all().items()},
        **{f"examples/{name}": case for name, case in examples.read_all().items()},
    }


def digest(lines):
    """A digest of some lines of text."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
