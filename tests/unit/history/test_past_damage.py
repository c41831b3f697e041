"""Damage to a state that is asked about its past: the same answer, or a refusal with the file.

`HYPOTHESIS_PROFILE=thorough` damages every file at many places.
"""

from __future__ import annotations

import random
import shutil

import pytest
from stored_epochs import StoredReasoner
from thorough import THOROUGH

from streamreasoner.errors import StateError
from streamreasoner.facts import Fact, FactPattern
from streamreasoner.history.epochs import Past
from streamreasoner.history.past_facts import PastFacts

PLACES = 40 if THOROUGH else 2
RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
least(?x, min(?y)) :- path(?x, ?y) .
"""
NODES = [f"<http://example.org/n{number}>" for number in range(5)]
EPOCHS = 6
KNOWN = Fact("path", (NODES[0], NODES[1]))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The tables of some epochs with retractions, part of them merged, and what they answer."""
    directory = tmp_path_factory.mktemp("tables")
    stored, rng = StoredReasoner(directory, RULES), random.Random(3)
    edges = [(a, b) for a in NODES for b in NODES]
    present = set()
    for epoch in range(EPOCHS):
        chosen = [(NODES[0], NODES[1]), *rng.sample(edges[2:], 5)] if epoch % 3 == 0 else edges[:2]
        updates = [("edge", edge, -1 if edge in present else 1) for edge in chosen]
        present ^= set(chosen)
        stored.run(updates)
        if epoch == EPOCHS // 2:
            stored.merge(1)
    assert any(stored.present)
    stored.close()
    return directory, answers(directory)


def answers(directory):
    """What the commands `state`, `diff` and `history` would print."""
    facts = PastFacts(Past(directory))
    return (
        {
            (name, epoch): set(facts.facts(FactPattern(name), epoch))
            for name in ("edge", "path", "least")
            for epoch in range(2, EPOCHS)
        },
        sorted(map(repr, facts.differences(2, EPOCHS - 1))),
        facts.history(KNOWN),
    )


def outcome(directory):
    """The answers, or the refusal."""
    try:
        return answers(directory)
    except StateError as error:
        return error


def damaged(data, rng):
    """Damaged copies of a file; None is a deleted file."""
    yield from (None, b"", data[: len(data) // 2], bytes(len(data)))
    for place in (rng.randrange(len(data)) for _ in range(PLACES)):
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        yield bytes(changed)


def test_a_damaged_past_is_the_same_or_is_refused(original, tmp_path):
    """No damage to one file changes an answer, or ends in an error without the file's name."""
    pristine, expected = original
    directory, rng = tmp_path / "tables", random.Random(0)
    shutil.copytree(pristine, directory)
    assert answers(directory) == expected
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    chosen = files if THOROUGH else rng.sample(files, 16)
    outcomes = {"same": 0, "refused": 0}
    for path in chosen:
        data = path.read_bytes()
        for content in damaged(data, rng):
            path.unlink() if content is None else path.write_bytes(content)
            found = outcome(directory)
            if isinstance(found, StateError):
                table = str(directory / path.relative_to(directory).parts[0])
                # Without the newest commit of a table, its epoch may be one that is being written.
                named = (path.name, table, f"Epoch {EPOCHS - 1} is not complete")
                assert any(name in str(found) for name in named), found
                outcomes["refused"] += 1
            else:
                assert found == expected, (path, content)
                outcomes["same"] += 1
            path.write_bytes(data)
    assert outcomes["refused"]
    print(f"{sum(outcomes.values())} damaged states of {len(chosen)} files: {outcomes}")  # noqa: T201
