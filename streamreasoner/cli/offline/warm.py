"""`streamreasoner warm`: compile the kernels."""

from __future__ import annotations

import sys


def warm() -> None:
    """Compile the kernels, so that no start has to: for images, and before a first pipeline."""
    from streamreasoner.native.image import ensure, find

    existing = find()
    if existing is not None:
        print(f"{existing} has the kernels already.")
        return
    said = -1

    def report(done: int, steps: int) -> None:
        nonlocal said
        if 10 * done // steps > said:
            said = 10 * done // steps
            print(f"{said * 10:3} % of the kernels are compiled.", file=sys.stderr)

    print(f"{ensure(report)} has the kernels.")
