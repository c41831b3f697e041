"""`python -m benchmarks`: run all benchmarks in sequence, each in a separate process.

    python -m benchmarks [NAME...] [--quick] [--results DIR] [--publish]

Each prints its tables and writes `NAME.json` to the folder of results. `--publish` then puts the
results, their plots and their tables into the documents, like `python -m benchmarks.report`. The
exit code is 1 if a claim failed or a result was wrong, and 0 otherwise. A benchmark without its
data is named and skipped.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import harness, report

# Arguments for a quick run, which only shows that a benchmark works.
SCRIPTS: dict[str, tuple[str, ...]] = {
    "startup": ("--rounds", "1", "--commands-only"),
    "encoding": ("--scale", "1"),
    "memory": ("--scale", "1", "--terms", "20000"),
    "hierarchy": ("--instances", "20000", "--classes", "2000", "--scale", "1"),
    "large": ("--facts", "1", "2"),
    "decoding": ("--scale", "1"),
    "python_api": ("--rounds", "1"),
    "queries": ("--scale", "1", "--rounds", "1"),
    "explanations": ("--scale", "1", "--rounds", "1"),
    "brick": ("--rooms", "1", "--limit", "1"),
    "goals": ("--scale", "1"),
    "kernel": ("--scale", "1"),
    "single_rows": ("--epochs", "400"),
    "materialize": ("--scale", "1", "--rounds", "1"),
    "matches": ("--terms", "60"),
    "owl_rl": ("--scale", "1", "--properties", "60"),
    "negation": ("--classes", "500", "--things", "500"),
    "recompute": ("--quick",),
    "join_order": ("--quick",),
    "parts": ("closure", "--scale", "1", "--parts", "1", "3", "--rounds", "1"),
    "growth": ("--scales", "1", "--largest", "10000"),
    "graphs": ("--edges", "5000", "--updates", "50"),
    "program_graphs": ("--scale", "0.01", "--procedures", "500", "--variables", "100"),
    "compare": ("--scale", "1", "--quick"),
    "published": ("--quick",),
    "machines": ("lubm", "sssp", "--scales", "1", "--edges", "2000"),
    "bootstrap": ("--scale", "1", "--rounds", "1"),
    "throughput": ("--scale", "1", "--rounds", "1"),
    "pipeline": ("--scale", "1", "--rounds", "1", "--messages", "40"),
    "server": ("--scale", "1", "--rounds", "1", "--messages", "40"),
}
RESULTS = harness.ROOT / "benchmarks" / "results" / "local"


def main() -> int:
    """Run the scripts and report the outcome of each."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    arguments.formatter_class = argparse.RawDescriptionHelpFormatter
    arguments.add_argument("names", nargs="*", choices=(*SCRIPTS, []), help="default: all")
    arguments.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    arguments.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    arguments.add_argument("--publish", action="store_true", help="renew docs/benchmarks.md")
    options = arguments.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    names = options.names or list(SCRIPTS)
    rows = [(name, *run(name, options.results, quick=options.quick)) for name in names]
    harness.print_table("Benchmarks", ("name", "seconds", "outcome"), rows)
    if options.publish:
        report.publish([options.results / f"{name}.json" for name in names])
    return int(any(outcome == "FAILED" for _, _, outcome in rows))


def run(name: str, results: Path, *, quick: bool) -> tuple[float, str]:
    """Wall-clock seconds of a script, and its outcome."""
    print(f"\n## {name}", flush=True)
    path = results / f"{name}.json"
    path.unlink(missing_ok=True)
    script = harness.ROOT / "benchmarks" / f"{name}.py"
    command = [sys.executable, str(script), *(SCRIPTS[name] if quick else ()), "--json", str(path)]
    started = time.perf_counter()
    done = subprocess.run(command, check=False)
    outcome = {0: "ok", harness.ABSENT: "left out, no data"}.get(done.returncode, "FAILED")
    return time.perf_counter() - started, outcome


if __name__ == "__main__":
    raise SystemExit(main())
