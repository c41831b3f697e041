"""Plots of results, as SVG. Invariant: the same figures give the same bytes at any time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from benchmarks import verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes

STYLE = {
    "svg.hashsalt": "streamreasoner",  # otherwise ids in the file are random
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e5e5",
    "legend.frameon": False,
}
DELETE, ADD, OURS, PEER, FLOOR = "#c2410c", "#1d4ed8", "#1d4ed8", "#6b7280", "#9ca3af"
LINES = ("#1d4ed8", "#c2410c", "#15803d")
MICRO, MILLI = 1e6, 1e3


def draw(name: str, figures: dict[str, Any], folder: Path) -> dict[str, str]:
    """Draw the plots of a benchmark; returns their file names and titles."""
    drawn = {}
    with mpl.rc_context(STYLE):
        for file, (title, paint) in PLOTS.get(name, {}).items():
            figure = Figure(figsize=(8, 3.4), layout="constrained")
            FigureCanvasSVG(figure)
            if paint(figure, figures):
                figure.savefig(folder / file, format="svg", metadata={"Date": None})
                drawn[file] = title
    return drawn


def growth(figure: Figure, figures: dict[str, Any]) -> bool:
    """The time of one triple by size of the state, and of an update by size of its epoch."""
    left, right = figure.subplots(1, 2)
    scales, epochs = figures["scales"], figures["epochs"]
    facts = [entry["facts"] for entry in scales]
    for key, color in (("delete", DELETE), ("add", ADD)):
        for suffix, line in (("", "o-"), ("_p99", "o:")):
            values = [entry[key + suffix] * MICRO for entry in scales]
            left.plot(facts, values, line, color=color, label=_label(key, suffix))
        if epochs:
            sizes = [row["updates"] for row in epochs]
            values = [row[key] / row["updates"] * MICRO for row in epochs]
            right.plot(sizes, values, "o-", color=color, label=_label(key, ""))
    left.set(xscale="log", ylim=(0, None), xlabel="facts in the state", ylabel="µs")
    left.set_title("one triple")
    if epochs:
        floor = epochs[0]["floor"] / epochs[0]["updates"] * MICRO
        right.axhline(floor, color=FLOOR, linestyle="--", label="the load, per triple")
        right.set(xscale="log", ylim=(0, None), xlabel="updates in the epoch")
        right.set(ylabel="µs per update", title=f"epochs on LUBM({scales[-1]['scale']})")
    _legend(figure, left, right)
    return True


def _label(key: str, suffix: str) -> str:
    name = {"delete": "deletion", "add": "addition"}[key]
    return f"{name}, p99" if suffix else f"{name}, median"


def updates(figure: Figure, figures: dict[str, Any]) -> bool:
    """Quantiles of single updates of a graph, with the time of recomputing everything."""
    axes = figure.subplots(1, len(figures["tasks"]), sharey=True, squeeze=False)[0]
    for plot, entry in zip(axes, figures["tasks"], strict=True):
        values = [seconds * MICRO for seconds in entry["quantiles"]]
        plot.plot(range(len(values)), values, color=OURS, label="one update")
        plot.axhline(entry["load"] * MICRO, color=OURS, linestyle="--", label="our load")
        plot.axhline(entry["peer"] * MICRO, color=PEER, linestyle="--", label="scipy, all of it")
        plot.set(yscale="log", xlabel="percent of the updates", title=entry["title"])
    axes[0].set_ylabel("µs")
    _legend(figure, axes[0])
    return True


def epochs(figure: Figure, figures: dict[str, Any]) -> bool:
    """Deleting and adding back edges of a program, with the time of recomputing it."""
    axes = figure.subplots(1, len(figures["analyses"]), squeeze=False)[0]
    for plot, entry in zip(axes, figures["analyses"], strict=True):
        edges = [row["edges"] for row in entry["epochs"]]
        for key, color, label in (("delete", DELETE, "deletion"), ("add", ADD, "addition")):
            means = [row[f"{key}_mean"] * MILLI for row in entry["epochs"]]
            plot.plot(edges, means, "o-", color=color, label=f"{label}, mean")
        again = [row["again"] * MILLI for row in entry["epochs"]]
        plot.plot(edges, again, "--", color=FLOOR, label="computing again")
        plot.set(xscale="log", yscale="log", xlabel="edges in the epoch", ylabel="ms")
        plot.set_title(entry["title"])
    _legend(figure, axes[0])
    return True


def peers(figure: Figure, figures: dict[str, Any]) -> bool:
    """Processor time of every peer relative to ours: a load, one update, and many together."""
    relative = verdict.ratios(figures["results"])
    if not relative:
        return False
    engines = list(dict.fromkeys(engine for _, engine, _ in relative))
    tasks = list(dict.fromkeys(task for task, _, _ in relative))
    figure.set_size_inches(8, 1.5 + 0.34 * len(tasks))
    axes = figure.subplots(1, len(verdict.MEASURES), sharey=True)
    colors = dict(zip(engines, mpl.color_sequences["tab10"] * 2, strict=False))
    for plot, measure in zip(axes, verdict.MEASURES, strict=True):
        for (task, engine, measured), ratio in relative.items():
            if measured == measure:
                place = tasks.index(task) + 0.1 * (engines.index(engine) - len(engines) / 2)
                plot.plot(ratio, place, "o", markersize=4, color=colors[engine], label=engine)
        plot.axvline(1, color="black", linewidth=1)
        plot.set(xscale="log", title=measure)
        low, high = plot.get_xlim()
        plot.set_xlim(min(low, 0.1), max(high, 10))
        plot.xaxis.set_major_formatter("{x:g}")
        plot.xaxis.set_minor_formatter(NullFormatter())
    axes[len(axes) // 2].set_xlabel("times our processor time; right of the line we are faster")
    _rows(axes[0], tasks)
    _legend(figure, *axes, columns=3)
    return True


def rederiving(figure: Figure, figures: dict[str, Any]) -> bool:
    """Matches found by two ways of deletion, by graph."""
    rows = [
        row
        for result in figures["results"].values()
        if result["section"] == "deletion"
        for row in result["rows"]
    ]
    if not rows:
        return False
    plot: Axes = figure.subplots()
    series = (("rederive", PEER, "delete and rederive"), ("counts", OURS, "counts per iteration"))
    for place, (name, color, label) in enumerate(series):
        heights = [i + 0.4 * place - 0.2 for i in range(len(rows))]
        values = [row[f"matches, {name}"] for row in rows]
        plot.barh(heights, values, 0.36, color=color, label=label)
    plot.set(xscale="log", xlabel="matches of rule bodies met to remove one row, median")
    _rows(plot, [row["graph"] for row in rows])
    _legend(figure, plot)
    return True


def soak(figure: Figure, figures: dict[str, Any]) -> bool:
    """Latency, memory and files of a pipeline over hours; a dotted line is a restart."""
    samples = figures["samples"]
    axes = figure.subplots(1, 3, squeeze=False)[0]
    latency, memory, files = axes
    for name, color, label in (("p50_ms", OURS, "median"), ("greatest_ms", PEER, "greatest")):
        found = [sample for sample in samples if name in sample]
        values = [sample[name] for sample in found]
        latency.plot(_minutes(found), values, ".", color=color, markersize=3, label=label)
    for name, color, label in (("python_mib", OURS, "Python"), ("java_mib", DELETE, "Java")):
        values = [sample[name] for sample in samples]
        memory.plot(_minutes(samples), values, color=color, label=label)
    files.plot(_minutes(samples), [sample["files"] for sample in samples], color=OURS)
    latency.set(yscale="log", ylabel="ms", title="latency of 30 s")
    memory.set(ylim=(0, None), ylabel="MiB", title="memory")
    files.set(ylim=(0, None), title="files of the state")
    for plot in axes:
        plot.set_xlabel("minutes")
        for before, after in pairwise(samples):
            if after["age"] < before["age"]:
                started = (after["seconds"] - after["age"]) / 60
                plot.axvline(started, color=FLOOR, linestyle=":", linewidth=0.8)
    _legend(figure, latency, memory)
    return True


def _minutes(samples: list[dict[str, Any]]) -> list[float]:
    return [sample["seconds"] / 60 for sample in samples]


def _rows(plot: Axes, names: list[str]) -> None:
    """Name the rows of a bar chart, the first at the top."""
    plot.set_yticks(range(len(names)), names)
    plot.invert_yaxis()
    plot.grid(visible=False, axis="y")


def _legend(figure: Figure, *axes: Axes, columns: int = 5) -> None:
    """A common legend below all axes, without duplicates."""
    handles = {}
    for plot in axes:
        lines, labels = plot.get_legend_handles_labels()
        handles.update(zip(labels, lines, strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns)


PLOTS: dict[str, dict[str, tuple[str, Callable[[Figure, dict[str, Any]], bool]]]] = {
    "growth": {"growth.svg": ("Cost of one triple as state and epochs grow", growth)},
    "graphs": {"graphs.svg": ("Single updates of a graph of millions of edges", updates)},
    "program_graphs": {"program-graphs.svg": ("Epochs of edges that go and come", epochs)},
    "soak": {"soak.svg": ("Two hours of a steady load with restarts", soak)},
    "compare": {
        "peers.svg": ("A load, one update and many, compared with each peer", peers),
        "deletion.svg": ("Matches met when one row is removed", rederiving),
    },
}
