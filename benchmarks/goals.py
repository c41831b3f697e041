"""Goals on LUBM: what selective goals take, compared with all consequences.

    python benchmarks/goals.py [--scale 10] [--json FILE]

The facts are loaded once, into a reasoner without rules, which is then asked for goals of a few
shapes: each for the first time, and then with other constants. All rules are evaluated on the same
facts, with the same answers. Work is facts that an engine holds, read or derived, demands included;
times are processor seconds, of the next goals the median. Claims: the first goal of a shape takes
at most a hundredth of the work, and the next ones at most a hundredth of the time, too. LUBM(1) is
too small for the second claim, and for owl-rl to be answered by demand.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from benchmarks import harness
from benchmarks.driver import cpu
from streamreasoner import Reasoner
from streamreasoner.api.asking.goals import Goals
from streamreasoner.backends.store import columnar
from streamreasoner.engine.session import Session
from streamreasoner.engine.updates import Updates
from streamreasoner.explain import read_goal
from streamreasoner.program.load import load_program
from streamreasoner.query.goals.evaluation import selected

if TYPE_CHECKING:
    from collections.abc import Sequence

UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
PREFIXES = {"ub": UB, "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#"}
DEPARTMENT = "http://www.Department0.University0.edu"
GOALS = {
    "where a student belongs": (
        "[<%s>, ub:memberOf, ?y]",
        [f"{DEPARTMENT}/GraduateStudent{number}" for number in range(5, 25)],
    ),
    "whether a professor is a person": (
        "[<%s>, rdf:type, ub:Person]",
        [f"{DEPARTMENT}/FullProfessor{number}" for number in range(7)],
    ),
    "whom a professor advises": (
        "[?x, ub:advisor, <%s>]",
        [f"{DEPARTMENT}/FullProfessor{number}" for number in range(7)],
    ),
    "all of a class": ("[?x, rdf:type, <%s>]", [f"{UB}{name}" for name in ("Chair", "Dean")]),
    "who heads a department": (
        "[?x, ub:headOf, <%s>]",
        [f"http://www.Department{number}.University0.edu" for number in range(15)],
    ),
}
SMALL = 1
RULESETS = {"rho-df": [*GOALS], "owl-rl": ["where a student belongs", "who heads a department"]}
MOST = 0.01  # the claims


def main() -> int:
    """Measure, print the tables, and fail if answers differ or a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=10, choices=(1, 10, 50))
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    files = harness.lubm(options.scale)
    figures = harness.machine()
    figures["tables"], failed = [], False
    is_small = options.scale == SMALL
    for ruleset in ["rho-df"] if is_small else RULESETS:
        goals = harness.apart(by_demand, files, ruleset)
        everything = harness.apart(whole, files, ruleset)
        facts, seconds = everything["work"], everything["seconds"]
        rows = [
            (name, found["answers"], found["read"], found["work"], found["work"] / facts,
             1000 * found["first"], found["first"] / seconds, 1000 * found["next"],
             found["next"] / seconds, seconds / found["next"])
            for name, found in goals.items()
        ]  # fmt: skip
        figures["tables"] += [
            harness.print_table(
                f"Goals on LUBM({options.scale}) under {ruleset}; all consequences: {facts:,}"
                f" facts, {seconds:.2f} CPU s",
                ("goal", "answers", "facts read", "work", "of all", "first, CPU ms", "of all",
                 "next, CPU ms", "of all", "times less"),
                rows,
            )
        ]  # fmt: skip
        figures[ruleset] = {"goals": goals, "whole": everything}
        failed |= {name: each["answers"] for name, each in goals.items()} != everything["answers"]
        failed |= any(
            found["work"] > MOST * facts or (found["next"] > MOST * seconds and not is_small)
            for found in goals.values()
        )
    harness.save(options.json, figures)
    return int(failed)


def by_demand(files: Sequence[Path], ruleset: str) -> dict[str, Any]:
    """For each kind of goal the answers, and what the first and the next ones take."""
    data = Reasoner.from_rules("@input triple/3 .")
    data.load(*files)
    Goals(data.session).program_of(ruleset)  # the parser of rules is made once in a process
    found: dict[str, Any] = {}
    for name in RULESETS[ruleset]:
        goals, (text, terms) = Goals(data.session), GOALS[name]
        answers: list[int] = []
        seconds, read, work = [], [], []
        for term in terms:
            began = time.process_time()
            answers.append(ask(goals, text % term, ruleset))
            seconds.append(time.process_time() - began)
            assert not goals.work.reason, f"{text % term}: {goals.work}"
            read.append(goals.work.read)
            work.append(goals.evaluation.session.engine.statistics().facts)
        found[name] = {
            "answers": sum(answers),
            "read": read[0],
            "work": work[0],
            "first": seconds[0],
            "next": median(seconds[1:]),
        }
    return found


def ask(goals: Goals, text: str, ruleset: str) -> int:
    """Ask for a goal as `Reasoner.ask_goal` does; returns the number of answers."""
    program = goals.program_of(ruleset)
    return len(goals.answered(program, read_goal(text, program, PREFIXES))[0])


def whole(files: Sequence[Path], ruleset: str) -> dict[str, Any]:
    """The answers of all goals from all consequences, and what these take without reading."""
    data = Reasoner.from_rules("@input triple/3 .")
    data.load(*files)
    rows = data.session.engine.facts("triple")
    session = Session(load_program(ruleset), columnar(data.session.dictionary))
    updates = [Updates("triple", rows, np.ones(len(rows), np.int64))]
    seconds = cpu(lambda: session.apply(updates, report=False))
    answers = {}
    for name in RULESETS[ruleset]:
        text, terms = GOALS[name]
        goals = [read_goal(text % term, session.program, PREFIXES) for term in terms]
        answers[name] = sum(len(selected(goal, session)) for goal in goals)
    return {"answers": answers, "work": session.engine.statistics().facts, "seconds": seconds}


if __name__ == "__main__":
    raise SystemExit(main())
