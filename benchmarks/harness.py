"""What every benchmark needs: the data, a table of figures, and where they were measured."""

from __future__ import annotations

import json
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"


def lubm(scale: int) -> list[Path]:
    """The univ-bench schema and LUBM(scale), unpacked once into the temporary directory.

    Exits with status 2 and a message if the data is not there.
    """
    schema, packed = DATA / "univ-bench.nt", DATA / f"lubm{scale}.nt.xz"
    for path in (schema, packed):
        if not path.exists():
            print(
                f"{path} is absent. Put univ-bench.nt and lubm{scale}.nt.xz (LUBM generator,"
                f" seed 0, as N-Triples) into {DATA}, or leave this benchmark out.",
                file=sys.stderr,
            )
            raise SystemExit(2)
    plain = Path(tempfile.gettempdir()) / f"streamreasoner-{packed.stem}"
    if not plain.exists():
        part = plain.with_suffix(".part")
        with lzma.open(packed) as source, part.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        part.rename(plain)
    return [schema, plain]


def machine() -> dict[str, Any]:
    """Where and at which commit the figures were measured."""
    git = shutil.which("git") or "git"
    commit = subprocess.run(
        [git, "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "commit": commit.stdout.strip() or "unknown",
    }


def print_table(title: str, header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Print rows under a header, numbers flush right."""
    cells = [header, *(tuple(_cell(value) for value in row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    print(f"\n{title}")
    for row in cells:
        first, *others = (cell for cell in row)
        line = [first.ljust(widths[0])]
        line += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print("  " + "  ".join(line).rstrip())


def save(path: Path | None, figures: dict[str, Any]) -> None:
    """Write the figures as JSON, if a path was asked for."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
