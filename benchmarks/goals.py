"""Goals on LUBM: what a selective goal takes, compared with all consequences.

    python benchmarks/goals.py [--scale 10] [--rounds 3] [--json FILE]

The facts are loaded once, into a reasoner without rules. Each goal is then answered by demand; and
all rules are evaluated on the same facts, with the same answer. Work is facts that an engine holds,
read or derived, demands included; times are processor seconds, the median of the rounds. Claim: a
selective goal takes at most a hundredth of the work.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from benchmarks import harness
from benchmarks.driver import cpu
from streamreasoner import Reasoner
from streamreasoner.api.asking.goals import GoalEvaluation, asserted_facts
from streamreasoner.backends.store import columnar
from streamreasoner.engine.session import Session
from streamreasoner.engine.updates import Updates
from streamreasoner.explain import read_goal
from streamreasoner.facts import matching
from streamreasoner.program.load import load_program

if TYPE_CHECKING:
    from collections.abc import Sequence

RULESET = "rho-df"
UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
PREFIXES = {"ub": UB, "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#"}
DEPARTMENT = "http://www.Department0.University0.edu"
GOALS = {
    "where a student belongs": f"[<{DEPARTMENT}/GraduateStudent5>, ub:memberOf, ?y]",
    "whether a professor is a person": f"[<{DEPARTMENT}/FullProfessor7>, rdf:type, ub:Person]",
    "all chairs": "[?x, rdf:type, ub:Chair]",
    "who heads a department": f"[?x, ub:headOf, <{DEPARTMENT}>]",
}
MOST = 0.01  # the claim


def main() -> int:
    """Measure, print the table, and fail if answers differ or the claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10, 50))
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    files = harness.lubm(options.scale)
    figures = harness.machine()
    goals = harness.apart(by_demand, files, options.rounds)
    everything = harness.apart(whole, files)
    rows = [
        (name, found["answers"], found["read"], found["work"], found["work"] / everything["work"],
         1000 * found["seconds"], found["seconds"] / everything["seconds"])
        for name, found in goals.items()
    ]  # fmt: skip
    facts, seconds = everything["work"], everything["seconds"]
    figures["tables"] = [
        harness.print_table(
            f"Goals on LUBM({options.scale}) under {RULESET}; all consequences: {facts:,} facts,"
            f" {seconds:.2f} CPU s",
            ("goal", "answers", "facts read", "work", "of all", "CPU ms", "of all"),
            rows,
        )
    ]
    figures |= {"goals": goals, "whole": everything}
    harness.save(options.json, figures)
    slow = any(found["work"] > MOST * facts for found in goals.values())
    found = {name: each["answers"] for name, each in goals.items()}
    return int(slow or found != everything["answers"])


def by_demand(files: Sequence[Path], rounds: int) -> dict[str, Any]:
    """For each goal its answers, and what it takes."""
    data = Reasoner.from_rules("@input triple/3 .")
    data.load(*files)
    facts, terms = asserted_facts(data.session), data.session.dictionary
    program = load_program(RULESET)
    found: dict[str, Any] = {}
    for name, text in GOALS.items():
        goal = read_goal(text, program, PREFIXES)
        made = GoalEvaluation(program, goal, facts, terms)
        assert made.by_demand, f"{text} is not answered by demand."
        found[name] = {
            "answers": len(made.answer()),
            "read": made.read,
            "work": made.session.engine.statistics().facts,
            "seconds": median(
                cpu(lambda goal=goal: GoalEvaluation(program, goal, facts, terms).answer())
                for _ in range(rounds)
            ),
        }
    return found


def whole(files: Sequence[Path]) -> dict[str, Any]:
    """The answers of all goals from all consequences, and what these take without reading."""
    data = Reasoner.from_rules("@input triple/3 .")
    data.load(*files)
    rows = asserted_facts(data.session)["triple"]
    session = Session(load_program(RULESET), columnar(data.session.dictionary))
    updates = [Updates("triple", rows, np.ones(len(rows), np.int64))]
    seconds = cpu(lambda: session.apply(updates, report=False))
    present, answers = session.engine.facts("triple"), {}
    for name, text in GOALS.items():
        goal = read_goal(text, session.program, PREFIXES)
        answers[name] = int(matching(goal, present, session.dictionary).sum())
    return {"answers": answers, "work": session.engine.statistics().facts, "seconds": seconds}


if __name__ == "__main__":
    raise SystemExit(main())
