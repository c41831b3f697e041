"""Damage to files of a state: a start finds the same state, or refuses it and names the file.

`HYPOTHESIS_PROFILE=thorough` damages every range of bytes of every file.
"""

from __future__ import annotations

import json
import random
import re
import shutil

import pytest
from storage_builders import (
    changes,
    commit_one,
    offsets,
    open_tables,
    restored,
    trace_rows,
)
from thorough import THOROUGH

from streamreasoner.errors import StateError
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline.recovery import resume
from streamreasoner.program.text import ProgramText
from streamreasoner.state.maintenance import maintain
from streamreasoner.state.record import EpochRecord

STEP = 64 if THOROUGH else 0
FILES = 20
ADVICE = re.compile(r"Restore |restore |Delete |[Rr]un: ")
LAST = 40
OTHER = ProgramText("other-hash", "r(?x) :- q(?x) .\n", ("q/1", "r/1"))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A state directory after many small epochs, and what a start reads from it."""
    state = tmp_path_factory.mktemp("state")
    tables = open_tables(state / "tables", log_entries=4, unused_files=4)
    with pytest.MonkeyPatch.context() as patch, tables:
        patch.setattr(maintain, "EPOCHS_BETWEEN_RUNS", 8)
        for epoch in range(LAST + 1):
            rows = [((epoch, 1, 2), 0, 1)]
            if epoch % 3 == 2:
                rows.append(((epoch - 1, 1, 2), 0, -1))
            few = epoch < LAST - 5
            commit_one(
                tables,
                epoch,
                trace=[trace_rows("triple", *rows), trace_rows("edge", ((epoch, 3), 1, 2))],
                new_terms=[f"t{epoch}"] if few else [],
                changed=[changes("triple", ((f"t{epoch}",) * 3, 1))] if few else [],
                program=OTHER if epoch == LAST // 2 else None,
            )
            tables.maintain_if_due()
    for log, last in (("offsets", LAST), ("commits", LAST), ("sources/0", 0)):
        (state / "checkpoint" / log).mkdir(parents=True)
        first = max(0, last - 10)
        for batch in range(first, last + 1):
            text = {
                "offsets": '{"batchWatermarkMs":0,"batchTimestampMs":1767225600000,"conf":'
                '{"spark.sql.shuffle.partitions":"2"}}\n'
                + json.dumps({"input": {"0": offsets(batch)["input"]["0"][1]}}),
                "commits": '{"nextBatchWatermarkMs":0}',
                "sources/0": '{"input":{"0":0}}',
            }[log]
            (state / "checkpoint" / log / str(batch)).write_text(f"v1\n{text}")
    (state / "checkpoint" / "metadata").write_text('{"id":"1c0b6a04-3f5c-4a6f-9d3c-0d9a4c0c0c0c"}')
    (state / "backend").write_text("columnar")
    (state / "lock").write_text("1234\n")
    return state, start(state)


def start(state):
    """Everything that a start reads from a state directory, for either backend."""
    with open_tables(state / "tables") as tables:
        found, dictionary = restored(tables, LAST + 1)
        checkpoint = Checkpoint.read(state / "checkpoint")
        marker = EpochRecord(LAST, offsets(LAST), OTHER.hash)
        point = resume(marker, tables, checkpoint)
        # A batch that is not in Spark's commit log is replayed, and changes nothing.
        assert point.before in {LAST, LAST + 1}
        assert point.previous == offsets(point.before - 1)
        return (
            found,
            dictionary.terms(0, len(dictionary)).to_pylist(),
            tables.version(),
            tables.programs,
            tables.offsets(LAST),
            point.published,
        )


def files_of(state):
    """All files of a state that a start may read, smallest first."""
    return sorted(
        (path for path in state.rglob("*") if path.is_file()),
        key=lambda path: (path.stat().st_size, path),
    )


def last_commits(state):
    """The last commit of each table; without it, a table is that of an earlier epoch."""
    logs = (state / "tables").glob("*/_delta_log")
    return [max(log.glob("[0-9]*.json")) for log in logs]


def damaged(data, generator):
    """Damaged copies of a file's content; None is a deleted file."""
    yield None
    yield b""
    yield bytes(len(data))
    if STEP:
        places = range(0, len(data), STEP)
        yield from (data[:place] for place in places)
    else:
        places = [generator.randrange(max(1, len(data))) for _ in range(2)]
        yield data[: places[0]]
    for place in places:
        position = min(len(data) - 1, place + generator.randrange(max(1, STEP)))
        changed = bytearray(data)
        changed[position] ^= 1 << generator.randrange(8)
        yield bytes(changed)
    place = generator.randrange(max(1, len(data)))
    block = data[place : place + 64]
    yield data[:place] + bytes(len(block)) + data[place + len(block) :]
    yield data[:place] + generator.randbytes(len(block)) + data[place + len(block) :]


def test_a_damaged_state_is_the_same_or_is_refused(original, tmp_path):
    """Damage to one file never gives a different state, or an error without a message."""
    pristine, expected = original
    state = tmp_path / "state"
    shutil.copytree(pristine, state)
    assert start(state) == expected
    before = {path: path.read_bytes() for path in files_of(state)}
    generator = random.Random(0)
    outcomes = {"same": 0, "refused": 0}
    newest = sorted(before, key=lambda path: path.stat().st_mtime_ns)[-3 * FILES :]
    chosen = list(before) if THOROUGH else [*generator.sample(newest, FILES), *last_commits(state)]
    for path, data in before.items():
        if path not in chosen:
            continue
        for content in damaged(data, generator):
            if content == data:
                continue
            path.unlink() if content is None else path.write_bytes(content)
            try:
                found = start(state)
            except StateError as error:
                message = str(error)
                assert ADVICE.search(message), message
                assert path.name in message or _table(state, path) in message, (path, message)
                outcomes["refused"] += 1
            else:
                assert found == expected, path
                outcomes["same"] += 1
            path.write_bytes(data)
            for new in set(files_of(state)) - before.keys():
                new.unlink()
    assert all(outcomes.values()), outcomes
    print(f"{sum(outcomes.values())} damaged states of {len(chosen)} files: {outcomes}")  # noqa: T201


def _table(state, path):
    """The table or folder of a file, as a message names it."""
    parts = path.relative_to(state).parts
    return str(state.joinpath(*parts[:2] if parts[0] == "tables" else parts[:1]))
