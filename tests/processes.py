"""Processes that may end while a test looks at them."""

from __future__ import annotations

import contextlib

import psutil


def living(processes, holds):
    """The processes for which something holds; one that ends while it is asked is left out."""
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            found += [process] * holds(process)
    return found
