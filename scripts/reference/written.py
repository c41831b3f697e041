"""Which files the reference consists of, and which parts of them are generated.

A generated part of a document stands between `<!-- begin NAME -->` and `<!-- end NAME -->`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reference.commands import commands
from reference.http import openapi
from reference.messages import asyncapi, schema
from reference.metrics import metrics

if TYPE_CHECKING:
    from pathlib import Path


def written(root: Path) -> dict[Path, str]:
    """What each generated file of the repository has to contain."""
    folder = root / "docs/reference"
    return {
        folder / "commands.md": _filled(folder / "commands.md", "commands", commands()),
        folder / "metrics.md": _filled(folder / "metrics.md", "metrics", metrics()),
        folder / "openapi.json": openapi(),
        folder / "messages.schema.json": schema(),
        folder / "asyncapi.json": asyncapi(),
    }


def _filled(path: Path, name: str, text: str) -> str:
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n\n{text}\n{end}", path.read_text("utf-8"))
