"""Put results into the documents: JSON, plots, and the generated blocks of docs/benchmarks.md.

    python -m benchmarks.report [FILE.json...]

Given files are first copied into docs/benchmarks/results. Invariant: the same results give the
same bytes, plots included; a block without results stays unchanged.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import harness, plots

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCUMENTS = harness.ROOT / "docs"
BLOCK = "<!-- begin {0} -->\n{1}<!-- end {0} -->"


def main() -> int:
    """Copy the files, if any are given, and update plots and document."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    arguments.formatter_class = argparse.RawDescriptionHelpFormatter
    arguments.add_argument("files", nargs="*", type=Path, help="results, named after their script")
    publish(arguments.parse_args().files)
    return 0


def publish(files: Iterable[Path], documents: Path = DOCUMENTS) -> None:
    """Copy results, draw them, and update the blocks of the document."""
    folder = documents / "benchmarks"
    (folder / "results").mkdir(parents=True, exist_ok=True)
    for file in files:
        if file.exists():
            shutil.copyfile(file, folder / "results" / file.name)
    document = documents / "benchmarks.md"
    text = document.read_text("utf-8")
    for path in sorted((folder / "results").glob("*.json")):
        figures = json.loads(path.read_text("utf-8"))
        drawn = plots.draw(path.stem, figures, folder)
        text = renewed(text, path.stem, block(figures, drawn))
    document.write_text(text, "utf-8")


def block(figures: dict[str, Any], drawn: dict[str, str]) -> str:
    """Plots, tables, and where the figures come from."""
    parts = [f"![{title}](benchmarks/{name})" for name, title in drawn.items()]
    parts += [harness.markdown(table) for table in figures["tables"]]
    parts.append(
        f"Commit {figures['commit']}, {figures['machine']}, Python {figures['python']};"
        f" load average at the start {figures['load']:g}."
    )
    return "\n\n".join(parts)


def renewed(text: str, name: str, content: str) -> str:
    """The document with new content in the named block."""
    pattern = re.compile(BLOCK.format(re.escape(name), ".*?"), re.DOTALL)
    found, count = pattern.subn(lambda _: BLOCK.format(name, f"\n{content}\n\n"), text)
    if count != 1:
        print(f"The document has {count} blocks for {name}, not 1.", file=sys.stderr)
        raise SystemExit(1)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
