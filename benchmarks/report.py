"""Put results into the documents: JSON, plots, and the generated blocks of docs/*.md.

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
    """Copy the files, if any are given, and update plots and documents."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    arguments.formatter_class = argparse.RawDescriptionHelpFormatter
    arguments.add_argument("files", nargs="*", type=Path, help="results, named after their script")
    publish(arguments.parse_args().files)
    return 0


def publish(files: Iterable[Path], documents: Path = DOCUMENTS) -> None:
    """Copy results, draw them, and update the blocks of the documents."""
    folder = documents / "benchmarks"
    (folder / "results").mkdir(parents=True, exist_ok=True)
    for file in files:
        if file.exists():
            shutil.copyfile(file, folder / "results" / file.name)
    texts = {path: path.read_text("utf-8") for path in documents.glob("*.md")}
    for path in sorted((folder / "results").glob("*.json")):
        figures = json.loads(path.read_text("utf-8"))
        drawn = plots.draw(path.stem, figures, folder)
        document = place(texts, path.stem)
        texts[document] = renewed(texts[document], path.stem, block(figures, drawn))
        document.write_text(texts[document], "utf-8")


def block(figures: dict[str, Any], drawn: dict[str, str]) -> str:
    """Plots, tables, and where the figures come from."""
    parts = [f"![{title}](benchmarks/{name})" for name, title in drawn.items()]
    parts += [harness.markdown(table) for table in figures["tables"]]
    parts.append(
        f"Commit {figures['commit']}, {figures['machine']}, Python {figures['python']};"
        f" load average at the start {figures['load']:g}."
    )
    return "\n\n".join(parts)


def place(texts: dict[Path, str], name: str) -> Path:
    """The document that has the named block, of which there is one in all documents."""
    found = [path for path, text in texts.items() for _ in pattern(name).finditer(text)]
    if len(found) != 1:
        print(f"The documents have {len(found)} blocks for {name}, not 1.", file=sys.stderr)
        raise SystemExit(1)
    return found[0]


def renewed(text: str, name: str, content: str) -> str:
    """The document with new content in the named block."""
    return pattern(name).sub(lambda _: BLOCK.format(name, f"\n{content}\n\n"), text)


def pattern(name: str) -> re.Pattern[str]:
    """What finds the named block."""
    return re.compile(BLOCK.format(re.escape(name), ".*?"), re.DOTALL)


if __name__ == "__main__":
    raise SystemExit(main())
