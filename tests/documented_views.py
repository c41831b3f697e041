"""The programs of the reference of tables that make views, and a state for each example."""

from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import datetime
from pathlib import Path

from examples.cases import FOLDER, read_all
from stored_epochs import StoredReasoner

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.load import load_program
from streamreasoner.state.in_effect import stored_text

_MANUAL = Path(__file__).parents[1] / "docs/reference/tables.md"


def program(library, tables):
    """The names that the program for a library defines, without its example of a view."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", _MANUAL.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    [text] = [each for each in blocks if f"import {library}" in each or f"from {library}" in each]
    text, example, _ = text.partition('\nview("distance"')
    assert example
    names: dict[str, object] = {}
    exec(text.replace("state/tables", str(tables)), names)  # noqa: S102 - the document's program
    return names


def store(name, directory):
    """Store the epochs of an example in a state; returns (predicate, arity, best, facts) of each.

    The facts are the rows that the view of the predicate must have, in ascending order.
    """
    rules = stored_text(load_program(FOLDER / name / "rules.dl")).text
    with closing(StoredReasoner(directory, rules)) as stored:
        for epoch in _epochs(name):
            stored.run(epoch)
        best = {
            lattice.pattern.predicate: (lattice.position, lattice.function)
            for lattice in lower(stored.reasoner.program).lattices
        }
        return [
            (predicate, arity, best.get(predicate), sorted(_rows(stored.present[-1], predicate)))
            for predicate, arity in stored.reasoner.program.arities.items()
        ]


def _rows(facts, wanted):
    return (fact.arguments for fact in facts if fact.predicate == wanted)


def _epochs(name):
    """Epochs of (predicate, args, multiplicity) and, where the example has messages, the time."""
    if name in read_all():
        yield from read_all()[name].epochs
        return
    for line in (FOLDER / name / "messages.jsonl").read_text("utf-8").splitlines():
        message = json.loads(line)
        args = [each if isinstance(each, str) else to_ntriples(each) for each in message["args"]]
        time = datetime.fromisoformat(message["ts"]).timestamp() * 1000
        yield [(message["predicate"], args, message["diff"], int(time))]
