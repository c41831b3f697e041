"""The targets by their names, and the inputs that once went wrong."""

from __future__ import annotations

from pathlib import Path

from fuzz.configuration import Configuration
from fuzz.control import Control
from fuzz.files import Files
from fuzz.messages import Messages
from fuzz.programs import Queries, Rules, Shapes, Updates

TARGETS = {
    "messages": Messages,
    "control": Control,
    "files": Files,
    "rules": Rules,
    "shapes": Shapes,
    "queries": Queries,
    "updates": Updates,
    "configuration": Configuration,
}
_CRASHERS = Path(__file__).parent / "crashers"


def crashers(name: str) -> list[bytes]:
    """Inputs that a search has found for a target."""
    return [path.read_bytes() for path in sorted((_CRASHERS / name).glob("*"))]
