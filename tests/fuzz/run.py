"""Fuzz a target: `python tests/fuzz/run.py TARGET --runs N`, see CONTRIBUTING.md."""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import random
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from fuzz.mutation import Mutator
from fuzz.target import search
from fuzz.targets import TARGETS, crashers

_HANG_SECONDS = 300
_REPORT_SECONDS = 60


def main() -> int:
    """Search for inputs that go wrong, and write them to a folder."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("target", choices=TARGETS)
    arguments.add_argument("--runs", type=int, default=100_000, help="how many inputs")
    arguments.add_argument("--seed", type=int, default=0, help="of the random generator")
    arguments.add_argument("--limit", type=float, default=1.0, help="processor seconds of an input")
    arguments.add_argument(
        "--findings", type=Path, default=Path("findings"), help="folder for them"
    )
    options = arguments.parse_args()
    target = TARGETS[options.target]()
    seeds = [*target.seeds, *crashers(options.target)]
    last = [time.monotonic()]

    def progress(report: object) -> None:
        faulthandler.dump_traceback_later(_HANG_SECONDS, exit=True)
        if time.monotonic() > last[0] + _REPORT_SECONDS:
            last[0] = time.monotonic()
            print(f"{options.target}: {report}", flush=True)  # noqa: T201

    mutator = Mutator(random.Random(options.seed), target.tokens)
    report = search(target, seeds, mutator, options.runs, options.limit, progress)
    faulthandler.cancel_dump_traceback_later()
    print(f"{options.target}, seed {options.seed}: {report}")  # noqa: T201
    for kind, finding in report.findings.items():
        options.findings.mkdir(parents=True, exist_ok=True)
        name = f"{options.target}-{hashlib.sha256(finding.data).hexdigest()[:8]}"
        (options.findings / name).write_bytes(finding.data)
        print(f"{options.findings / name}: {kind}\n  {finding.error}")  # noqa: T201
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
