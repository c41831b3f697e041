"""The metrics as a table: name, kind, labels and the sentence of their HELP line."""

from __future__ import annotations

from streamreasoner.server.metrics import PrometheusObserver

_OURS = "streamreasoner_"


def metrics() -> str:
    """A row for each metric of a pipeline's process, by name."""
    rows = ["| metric | kind | what it measures |", "|---|---|---|"]
    found = {each.name: each for each in PrometheusObserver().registry.collect()}
    for name, metric in sorted(found.items()):
        if name.startswith(_OURS):
            shown = f"{name}_total" if metric.type == "counter" else name
            rows.append(f"| `{shown}` | {metric.type} | {metric.documentation} |")
    return "\n".join(rows) + "\n"
