"""Tables and claims of `machines.py`, and what they come to at sizes that were not measured.

Invariant: the only assumption is that what one fact and one term take does not depend on how many
there are. What grows with the facts of a part is divided by the number of parts; what grows with
the terms is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from benchmarks import harness

if TYPE_CHECKING:
    from collections.abc import Sequence

Run = dict[str, Any]
Table = dict[str, Any]

BILLION = 1_000_000_000
TARGETS = (BILLION, 10 * BILLION)
EXECUTORS = 64
ONE = "one triple"
LATER = 0.05  # seconds that one triple may take longer than in one store
CLAIMED_ON, MOST_OF_LOAD = 50, 2.5  # scale of LUBM; CPU seconds of one store
MILLI, KIB, MIB, GIB, HOUR = 1e3, 2**10, 2**20, 2**30, 3600.0
IDS = 2**31 - 1
MEMORY = 64 * GIB  # of the driver, and of each executor


def tables(runs: Sequence[Run]) -> list[Table]:
    """The tables of the figures, printed."""
    printed = [loads(runs), epochs(runs)]
    if large := [run for run in runs if run["case"] == "lubm"]:
        printed += extrapolated(large[-1])
    printed.append(harness.print_table("Claims", ("claim", "holds"), claims(runs)))
    return printed


def processor(cost: dict[str, float]) -> float:
    """CPU seconds of all processes."""
    return cost["driver"] + cost["parts"] + cost["java"]


def loads(runs: Sequence[Run]) -> Table:
    """Loads, in which all changes are read."""
    return harness.print_table(
        "Loads: CPU seconds",
        (
            *("input", "rows", "facts", "one store", "driver", "parts", "Java"),
            *("Python / one store", "plain Spark", "seconds", "rounds"),
            *("MiB exchanged", "one store, MiB", "largest part, MiB", "equal"),
        ),
        [
            (
                *(run[key] for key in ("title", "rows", "facts")),
                run["load"]["store"]["driver"],
                *(run["load"]["parts"][key] for key in ("driver", "parts", "java")),
                share_of_load(run),
                processor(run["plain"]),
                run["load"]["parts"]["seconds"],
                round(run["load"]["parts"]["rounds"]),
                run["load"]["parts"]["bytes"] / MIB,
                run["store_bytes"] / MIB,
                max(run["part_bytes"]) / MIB,
                run["equal"],
            )
            for run in runs
        ],
        "Driver and parts are Python's. A part has the MiB that its process has more than before.",
    )


def epochs(runs: Sequence[Run]) -> Table:
    """Epochs after a load."""
    return harness.print_table(
        "Epochs after it",
        (
            *("input", "epoch", "facts changed", "one store, ms", "parts, ms"),
            *("one store, CPU ms", "parts, CPU ms", "of Java", "rounds", "KiB exchanged"),
            "plain Spark CPU / parts",
        ),
        [
            (
                run["title"],
                row["kind"],
                round(row["parts"]["changed"]),
                *(MILLI * row[kind]["seconds"] for kind in ("store", "parts")),
                MILLI * row["store"]["driver"],
                MILLI * processor(row["parts"]),
                MILLI * row["parts"]["java"],
                row["parts"]["rounds"],
                row["parts"]["bytes"] / KIB,
                processor(run["plain"]) / processor(row["parts"]),
            )
            for run in runs
            for row in run["epochs"]
        ],
        "One triple: of twenty that go and come, the median of the milliseconds and the mean of the"
        " others.",
    )


def share_of_load(run: Run) -> float:
    """CPU seconds of Python of a load into parts, by those of one store."""
    load = run["load"]
    return float((load["parts"]["driver"] + load["parts"]["parts"]) / load["store"]["driver"])


def claims(runs: Sequence[Run]) -> list[tuple[str, bool]]:
    """What is claimed of each run, and whether it holds."""
    outcomes = []
    for run in runs:
        title = run["title"]
        one = next(row for row in run["epochs"] if row["kind"] == ONE)
        later = one["parts"]["seconds"] - one["store"]["seconds"]
        claim = f"{title}: one triple takes {MILLI * later:.2g} ms more than in one store, < 50 ms"
        outcomes.append((claim, later < LATER))
        if run["case"] == "lubm" and run["size"] >= CLAIMED_ON:
            share = share_of_load(run)
            claim = f"{title}: the load takes {share:.3g} times the CPU seconds of one store, ≤ 2.5"
            outcomes.append((claim, share <= MOST_OF_LOAD))
        dearest = max(processor(row["parts"]) for row in run["epochs"])
        share = dearest / processor(run["plain"])
        claim = f"{title}: the dearest epoch takes {share:.2g} of plain Spark's CPU seconds, ≤ 1"
        outcomes.append((claim, share <= 1))
    return outcomes


# What was not measured ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limit:
    """A limited resource.

    Attributes:
        name: The resource.
        share: The use of one fact.
        most: The amount available.
    """

    name: str
    share: float
    most: float

    @property
    def facts(self) -> float:
        """The number of facts at which the limit is reached."""
        return self.most / self.share if self.share > 0 else float("inf")


def extrapolated(run: Run) -> list[Table]:
    """The same on 64 executors at sizes that were not measured, and which limit comes first."""
    facts, parts = run["facts"], len(run["part_bytes"])
    terms = run["terms"] / facts
    term_bytes = run["term_bytes"]
    fact_bytes = (run["store_bytes"] - term_bytes * run["terms"]) / facts
    load, restore = run["load"]["parts"], run["restore"]
    sent = load["bytes"] / facts * (1 - 1 / EXECUTORS) / (1 - 1 / parts)
    figures = {
        "terms, millions": (terms, 1e6),
        "an executor: facts, GiB": (fact_bytes / EXECUTORS, GIB),
        "an executor: arrays by id, GiB": (term_bytes * terms, GIB),
        "driver: dictionary, GiB": (run["dictionary_bytes"] / facts, GIB),
        "load: CPU of the driver, hours": (load["driver"] / facts, HOUR),
        "load: CPU of each executor, hours": (load["parts"] / facts / EXECUTORS, HOUR),
        "load: GiB exchanged": (sent, GIB),
        "start: CPU of the driver, hours": (restore["driver"] / facts, HOUR),
        "start: CPU of each executor, hours": (restore["parts"] / facts / EXECUTORS, HOUR),
    }
    sizes = harness.print_table(
        f"On {EXECUTORS} executors, from {run['title']}",
        (
            "figure",
            f"at {facts:,} facts",
            *(f"at {target // BILLION} billion" for target in TARGETS),
        ),
        [
            (name, *(each * count / unit for count in (facts, *TARGETS)))
            for name, (each, unit) in figures.items()
        ],
        "As many terms, and as much of everything, for each fact as there.",
    )
    executor = fact_bytes / EXECUTORS + term_bytes * terms
    limits = [
        Limit("ids of terms have 31 bits", terms, IDS),
        Limit("the dictionary takes 64 GiB of the driver", run["dictionary_bytes"] / facts, MEMORY),
        Limit("a part takes 64 GiB of its executor", executor, MEMORY),
        Limit("a load takes the driver an hour", load["driver"] / facts, HOUR),
        Limit("a start takes the driver an hour", restore["driver"] / facts, HOUR),
    ]
    order = harness.print_table(
        f"What comes first on {EXECUTORS} executors",
        ("limit", "million facts"),
        [(limit.name, limit.facts / 1e6) for limit in sorted(limits, key=attrgetter("facts"))],
    )
    return [sizes, order]
