"""What `explain` prints for many programs, as digests.

Of each golden program and example, facts that are present and facts that are absent are explained
as text, JSON and DOT. `python tests/unit/explain/outputs.py` writes the digests; with the name of a
program it prints the explanations, so that those of two releases can be compared.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from driver import Driver
from golden import cases, digest

from streamreasoner.explain import Fact, Limits, explain

ROOT = Path(__file__).parents[3]
FILE = Path(__file__).with_name("outputs.json")
# Of each predicate as many facts are explained, and as many that are absent.
_FACTS = 3


def stored():
    """The digests in the file."""
    return json.loads(FILE.read_text("utf-8"))


def outputs(case):
    """The explanations of some facts of a case, one after the other."""
    driver = Driver(case.checked, store=None)
    driver.run(case.epochs)
    session = driver.session
    parts = []
    for predicate, args in explained(driver.closure()):
        fact = Fact(predicate, args)
        explanation = explain(session.program, session.engine, session.dictionary, fact, Limits())
        parts += [explanation.text(), explanation.json(), explanation.dot()]
    return "\n".join(parts).replace(f"{ROOT}/", "")


def explained(closure):
    """Some facts of a closure, and some that are made of their arguments but are not in it."""
    facts = sorted(closure)
    for predicate in sorted({predicate for predicate, _ in facts}):
        rows = [args for name, args in facts if name == predicate]
        step = -(-len(rows) // _FACTS)
        for args in rows[::step]:
            yield predicate, args
        others = {(*one[:-1], *other[-1:]) for one, other in pairwise(rows)}
        others |= {args[::-1] for args in rows}
        for args in sorted(others - {*rows})[:_FACTS]:
            yield predicate, args


def main(*names):
    """Write the digests, or print the explanations of some programs."""
    if names:
        known = cases()
        print(*(outputs(known[name]) for name in names), sep="\n")  # noqa: T201
    else:
        digests = {name: digest([outputs(case)]) for name, case in cases().items()}
        FILE.write_text(f"{json.dumps(digests, indent=1)}\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
