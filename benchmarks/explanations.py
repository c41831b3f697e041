"""Explanations of facts in a large state: in the reasoner, and in the copy of a server.

    python benchmarks/explanations.py [--scale 50] [--rounds 5] [--json FILE]

LUBM is closed under rho-df and kept in a directory, which a replica then opens, as the server of
facts does. Both explain the same facts: why someone is a person or a member, and what is missing
for a member elsewhere. The first time, lookups sort the arguments that they bind. Then each is
explained again, in the reasoner with an epoch of one triple before each round. Times are processor
seconds, the median of the rounds; bytes are those of facts and traces. Claim: after the first time,
none takes more than 20 ms.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rdflib import URIRef

from benchmarks import harness
from benchmarks.driver import cpu
from streamreasoner import Reasoner, Update
from streamreasoner.explain import Limits, explain, read_fact
from streamreasoner.history.replica import Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RULESET = "rho-df"
MOST = 0.02  # the claim, in seconds
UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
PLACE = "http://www.Department{}.University0.edu"
FACTS = {
    "why a student is a person": f"[<{PLACE.format(0)}/GraduateStudent1>, a, <{UB}Person>]",
    "why a professor is a member": (
        f"[<{PLACE.format(0)}/FullProfessor1>, <{UB}memberOf>, <{PLACE.format(0)}>]"
    ),
    "why a professor is not one elsewhere": (
        f"[<{PLACE.format(0)}/FullProfessor1>, <{UB}memberOf>, <{PLACE.format(1)}>]"
    ),
}
TIMES = ("first", "next")
MARK = URIRef("http://example.org/mark")


def main() -> int:
    """Measure, print the tables, and fail if the claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=50, choices=(1, 10, 50))
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    figures = harness.machine()
    with tempfile.TemporaryDirectory(prefix="streamreasoner-bench-") as name:
        state = Path(name) / "state"
        ours = harness.apart(of_reasoner, state, harness.lubm(options.scale), options.rounds)
        copy = harness.apart(of_copy, state, options.rounds)
    figures["tables"] = [
        harness.print_table(
            f"Explanations on LUBM({options.scale}) under {RULESET}, {copy['facts']:,} facts,"
            " CPU ms",
            ("", "reasoner, first", "next", "server's copy, first", "next"),
            [
                (fact, *(1000 * each[when][fact] for each in (ours, copy) for when in TIMES))
                for fact in FACTS
            ],
        ),
        harness.print_table(
            "Bytes a fact, without terms",
            ("", "before the first", "after it"),
            [
                (name, each["before"] / copy["facts"], each["after"] / copy["facts"])
                for name, each in (("reasoner", ours), ("server's copy", copy))
            ],
        ),
    ]
    figures |= {"ours": ours, "copy": copy}
    harness.save(options.json, figures)
    return int(max(each["next"][fact] for each in (ours, copy) for fact in FACTS) > MOST)


def of_reasoner(state: Path, files: Sequence[Path], rounds: int) -> dict[str, Any]:
    """What explanations of a reasoner take; leaves its state in a directory."""
    with Reasoner.open(state, RULESET) as reasoner:
        reasoner.load(*files)
        return measured(
            lambda fact: reasoner.explain(fact).text(),
            lambda number: reasoner.apply([Update("triple", (MARK, MARK, number))]),
            lambda: reasoner.session.engine.statistics().bytes,
            rounds,
        )


def of_copy(state: Path, rounds: int) -> dict[str, Any]:
    """What explanations of a replica take, one snapshot for each."""
    replica = Replica.open(state / "tables")

    def explained(fact: str) -> str:
        with replica.snapshot() as snapshot:
            program = snapshot.program.checked
            target = read_fact(fact, program)
            return explain(program, snapshot, snapshot.terms, target, Limits()).text()

    def size() -> int:
        with replica.snapshot() as snapshot:
            return snapshot.nbytes

    with replica.snapshot() as snapshot:
        count = sum(map(snapshot.count, snapshot.program.checked.arities))
    return measured(explained, lambda _: None, size, rounds) | {"facts": count}


def measured(
    explained: Callable[[str], str],
    advance: Callable[[int], object],
    size: Callable[[], int],
    rounds: int,
) -> dict[str, Any]:
    """Seconds of the first and of the next explanations, and bytes before and after them."""
    before = size()
    first = {name: cpu(lambda fact=fact: explained(fact)) for name, fact in FACTS.items()}
    after = size()
    taken: dict[str, list[float]] = {name: [] for name in FACTS}
    for number in range(rounds):
        advance(number)
        for name, fact in FACTS.items():
            taken[name].append(cpu(lambda fact=fact: explained(fact)))
    following = {name: median(each) for name, each in taken.items()}
    return {"first": first, "next": following, "before": before, "after": after}


if __name__ == "__main__":
    raise SystemExit(main())
