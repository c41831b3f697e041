"""Why a case does not pass. Invariant: a reason is about a case by name, and names what differs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_REASONS = Path(__file__).with_name("reasons.toml")


def read_reasons() -> dict[str, str]:
    """The reason of each case, by its name, or by a system and its name."""
    reasons: dict[str, str] = {}
    for each in tomllib.loads(_REASONS.read_text(encoding="utf-8"))["reason"]:
        prefix = f"{each['system']}: " if "system" in each else ""
        reasons |= {prefix + name: each["why"] for name in each["cases"]}
    return reasons


def reason_of(reasons: Mapping[str, str], system: str, case: str) -> str | None:
    """Why a system does not pass a case; None if there is no reason."""
    return reasons.get(f"{system}: {case}", reasons.get(case))
