"""What a state holds for many programs, as digests; `python tests/states/digests.py` writes them.

A program is a golden program, an example or a packaged ruleset. Of each, three things have a
digest: its `source` (rules and updates), its `plan` (what is evaluated in which stratum; not the
order of joins, which changes no multiplicity) and the `trace` after its updates, hidden predicates
included. A trace that changes while its source does not makes states of earlier releases wrong, so
it is written under a raised `SEMANTICS` only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from driver import Driver
from golden import cases, digest

from streamreasoner import rulesets
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.load import load_program
from streamreasoner.state.version import SEMANTICS

FILE = Path(__file__).with_name("semantics.json")


def digests():
    """The digests of every program, by its name."""
    found = {name: _digests(case.checked, case.epochs) for name, case in cases().items()}
    for name in rulesets.names():
        found[f"rulesets/{name}"] = _digests(load_program(name), ())
    return found


def stored():
    """The digests in the file, and the number they were written under."""
    content = json.loads(FILE.read_text("utf-8"))
    return content["programs"], content["semantics"]


def differences(old, new, part):
    """Names of the programs whose source is the same and whose plan, or trace, is another."""
    return sorted(
        name
        for name in old.keys() & new.keys()
        if old[name]["source"] == new[name]["source"] and old[name][part] != new[name][part]
    )


def _digests(checked, epochs):
    driver = Driver(checked, store=None)
    driver.run(epochs)
    trace = driver.trace(driver.predicates)
    return {
        "source": digest([*(program.text for program in checked.programs), repr(epochs)]),
        "plan": digest(_plan(lower(checked))),
        "trace": digest(
            sorted(f"{fact} {sorted(counts.items())}" for fact, counts in trace.items())
        ),
    }


def _plan(plan):
    """Lines that are the same as long as the plan means the same; sets have no order."""
    yield f"arities {sorted(plan.arities.items())}"
    yield f"hidden {sorted(plan.hidden)}"
    yield from sorted(map(repr, plan.lattices))
    for number, stratum in enumerate(plan.strata, start=1):
        yield f"stratum {number}"
        yield from sorted(
            repr((tree.head, tree.patterns, tree.negated, tree.conditions))
            for tree in (rule.tree for rule in stratum.rules)
        )
        yield from sorted(map(repr, stratum.reductions))


def main():
    """Write the file, unless that needs another number first."""
    new = digests()
    old, number = stored() if FILE.exists() else ({}, SEMANTICS)
    changed = differences(old, new, "trace")
    if changed and number == SEMANTICS:
        names = ", ".join(changed)
        sys.exit(f"Other traces, same semantics {number}: {names}. Raise SEMANTICS first.")
    text = json.dumps({"semantics": SEMANTICS, "programs": new}, indent=1, sort_keys=True)
    FILE.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
