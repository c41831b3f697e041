"""Shared by all benchmarks: the data, tables of figures, and where they were measured."""

from __future__ import annotations

import json
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

T = TypeVar("T")

HUNDRED, KIBI = 100, 1024
ABSENT = 2  # exit code of a benchmark without data
ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"


def lubm(scale: int) -> list[Path]:
    """The univ-bench schema and LUBM(scale), unpacked once into the temporary directory.

    Exits with status `ABSENT` and a message if the data is missing.
    """
    schema, packed = DATA / "univ-bench.nt", DATA / f"lubm{scale}.nt.xz"
    for path in (schema, packed):
        if not path.exists():
            print(
                f"{path} is absent. Put univ-bench.nt and lubm{scale}.nt.xz (LUBM generator,"
                f" seed 0, as N-Triples) into {DATA}, or leave this benchmark out.",
                file=sys.stderr,
            )
            raise SystemExit(ABSENT)
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


def apart(work: Callable[..., T], *arguments: Any) -> T:
    """The result of a function that is called in a new process, so its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def peak_mib(process: int | str = "self") -> float:
    """Peak resident memory of a process, its input and compiled code included."""
    # Not that of `getrusage`, which begins with what the parent had when it started this one.
    return _memory_mib(process, "VmHWM")


def resident_mib() -> float:
    """Resident memory of this process."""
    return _memory_mib("self", "VmRSS")


def _memory_mib(process: int | str, field: str) -> float:
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    return int(status.split(f"{field}:")[1].split()[0]) / KIBI


def print_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], note: str = ""
) -> dict[str, Any]:
    """Print a table in Markdown; returns it in its JSON form, for `markdown`."""
    cells = [list(row) for row in rows]
    table = {"title": title, "note": note, "header": list(header), "rows": cells}
    print("\n" + markdown(table), flush=True)
    return table


def markdown(table: dict[str, Any]) -> str:
    """A Markdown table with its title, the first column left-aligned and numbers right-aligned."""
    lines = [table["header"], *([_cell(value) for value in row] for row in table["rows"])]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(table["header"]))]
    right = [
        i > 0 and not any(isinstance(row[i], str) and row[i] for row in table["rows"])
        for i in range(len(widths))
    ]
    padded = [
        [
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        ]
        for line in lines
    ]
    rule = ["-" * (w - 1) + ("-", ":")[r] for w, r in zip(widths, right, strict=True)]
    text = [f"**{table['title']}**", ""]
    text += [f"| {' | '.join(line)} |" for line in (padded[0], rule, *padded[1:])]
    return "\n".join([*text, *(["", table["note"]] if table["note"] else [])])


def save(path: Path | None, figures: dict[str, Any]) -> None:
    """Write the figures as JSON, if a path is given."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _cell(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "NO"
        case int():
            return f"{value:,}"
        case float():
            # More than three digits are not reproducible.
            if abs(value) >= HUNDRED:
                return f"{value:,.0f}"
            return np.format_float_positional(
                value, precision=3, unique=False, fractional=False, trim="-"
            )
        case _:
            return str(value)
