"""The picture of the README: the demo's screen. Invariant: it shows a run, not a drawing of one.

`make picture` runs the demo and writes its last screen to `docs/images/demo.svg`.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from streamreasoner.demo.dashboard import Dashboard
from streamreasoner.demo.run import run
from streamreasoner.demo.stream import Options

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "demo.svg"
WIDTH, HEIGHT = 124, 33


class Camera(Dashboard):
    """A dashboard without a terminal that keeps its last screen.

    Args:
        duration: Seconds of stream.
    """

    def __init__(self, duration: float) -> None:
        super().__init__(
            duration,
            Console(file=io.StringIO(), width=WIDTH, height=HEIGHT, force_terminal=True),
        )
        self.picture = ""

    def finish(self, reason: str) -> None:
        """Take the picture before the screen is given back."""
        film = Console(
            file=io.StringIO(), width=WIDTH, height=HEIGHT, force_terminal=True, record=True
        )
        film.print(self.render(), height=HEIGHT)
        svg = film.export_svg(title="make demo", theme=MONOKAI, unique_id="demo")
        # The fonts of rich's template are on another host; a picture needs no network.
        self.picture = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
        super().finish(reason)


def main() -> int:
    """Run the demo and write the picture; 1 if the demo fails its own comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", type=float, default=60, help="seconds of stream")
    parser.add_argument("--output", type=Path, default=PICTURE)
    given = parser.parse_args()
    camera = Camera(given.duration)
    equal = run(Options(given.duration, rate=40, seed=0, state=None), camera)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(camera.picture, encoding="utf-8")
    print(given.output)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
