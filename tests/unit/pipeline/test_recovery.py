"""Where a start resumes after any crash, and which states it refuses."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from streamreasoner.errors import StateError
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline.recovery import (
    Resume,
    check,
    check_contents,
    check_file,
    check_layout,
    programs_before,
    resume,
)
from streamreasoner.program import check_text
from streamreasoner.program.text import ProgramText
from streamreasoner.state.in_effect import stored_text
from streamreasoner.state.record import EpochRecord
from streamreasoner.state.version import FORMAT, SEMANTICS

HASH = "h" * 64
PROGRAM = ProgramText(HASH, "p(?x) :- q(?x) .\n", ("p/1", "q/1"))
OTHER = ProgramText("o" * 64, "r(?x) :- q(?x) .\n", ("q/1", "r/1"))


@dataclass
class StoredTables:
    """Tables that hold all epochs up to a version; epoch n reads offsets [10n, 10n+10)."""

    last: int
    shift: int = 0
    programs: tuple = ((-1, PROGRAM),)
    completing_table: str = "tables/trace"

    def version(self):
        """The last epoch."""
        return None if self.last < 0 else self.last

    def offsets(self, epoch):
        """Its range."""
        return span(epoch, self.shift) if epoch <= self.last else None


def span(epoch, shift=0):
    """The input range of an epoch."""
    return {"in": {"0": [10 * epoch + shift, 10 * epoch + 10 + shift]}}


def checkpoint(directory, planned, committed):
    """A checkpoint directory as Spark leaves it."""
    for log, last in (("offsets", planned), ("commits", committed), ("sources/0", 0)):
        (directory / log).mkdir(parents=True)
        for batch in range(last + 1):
            (directory / log / f".{batch}.crc").write_text("")
    for batch in range(planned + 1):
        ends = json.dumps({"in": {"0": 10 * batch + 10}})
        (directory / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{ends}")
    for batch in range(committed + 1):
        (directory / "commits" / str(batch)).write_text("v1\n{}")
    (directory / "sources/0/0").write_text('\0v1\n{"in":{"0":0}}')
    return Checkpoint.read(directory)


def marker(batch, program=HASH, shift=0):
    """The marker of a batch, None before the first."""
    return None if batch < 0 else EpochRecord(batch, span(batch, shift), program)


@pytest.mark.parametrize("batch", [0, 3])
@pytest.mark.parametrize(
    ("planned", "stored", "published", "committed"),
    [
        (-1, -1, -1, -1),  # between batches
        (0, -1, -1, -1),  # planned
        (0, 0, -1, -1),  # step 1 done
        (0, 0, 0, -1),  # step 2 done
        (0, 0, 0, 0),  # committed
    ],
)
def test_every_state_of_a_crash_is_resumed(  # noqa: PLR0917 - pytest names them
    tmp_path, batch, planned, stored, published, committed
):
    """The batch after the committed one runs next, whichever steps it had completed."""
    spark = checkpoint(tmp_path, batch + planned, batch + committed)
    point = resume(marker(batch + published), StoredTables(batch + stored), spark)
    before = batch + committed + 1
    previous = span(before - 1) if before > 0 else None
    assert point == Resume(before, batch + published, previous)


@pytest.mark.parametrize(
    ("planned", "stored", "published", "committed"),
    [
        (-1, 0, 0, -1),  # the checkpoint was deleted
        (-1, 7, 7, -1),
        (5, -1, -1, 5),  # the tables were deleted
        (5, 5, -1, 5),  # the progress topic was deleted, or the app id changed
        (5, 4, 5, 4),  # tables of an older backup
        (5, 6, 6, 5),  # a checkpoint of an older backup
        (5, 5, 3, 4),
    ],
)
def test_a_state_that_no_crash_leaves_is_refused(tmp_path, planned, stored, published, committed):
    """The message names all four positions, where two of them are, and the remedy."""
    spark = checkpoint(tmp_path, planned, committed)
    pattern = rf"do not belong together.*\({tmp_path}\).*\(tables/trace\).*streamreasoner reset"
    with pytest.raises(StateError, match=pattern):
        resume(marker(published), StoredTables(stored), spark)


@pytest.mark.parametrize(
    ("planned", "stored", "published", "committed"),
    [
        (-1, -1, 7, -1),  # an empty state, and an application that has published
        (5, 5, 7, 5),  # a stale copy of its state
        (6, 5, 6, 5),
        (-1, 7, 7, -1),  # no checkpoint
        (5, -1, 5, 5),  # no tables
    ],
)
def test_a_stale_state_is_refused_before_it_fences_anyone(
    tmp_path, planned, stored, published, committed
):
    """A state that no later marker can repair is refused before the last marker is known."""
    spark = checkpoint(tmp_path, planned, committed)
    with pytest.raises(StateError, match="do not belong together"):
        check(marker(published), StoredTables(stored), spark)


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (None, 2, 'with "changes", but output.envelope is "upsert"'),
        (2, None, 'with "upsert", but output.envelope is "changes"'),
        (2, 3, "had 2 partitions .* and has 3"),
    ],
)
def test_keys_and_partitions_of_facts_do_not_change(before, now, words):
    """Neither does what the topic holds; the message names the topic and the way out."""
    check_layout(None, now, "out")
    check_layout(EpochRecord(2, span(2), HASH, layout=now), now, "out")
    with pytest.raises(StateError, match=f"topic out .*{words}.*another .*kafka.output_topic"):
        check_layout(EpochRecord(2, span(2), HASH, layout=before), now, "out")


@pytest.mark.parametrize("published", [-1, 0, 1, 2, 3])
def test_a_marker_that_is_not_the_last_one_is_no_reason_to_refuse(tmp_path, published):
    """Before a predecessor is fenced, the end of its last transaction may not be visible."""
    check(marker(published), StoredTables(3), checkpoint(tmp_path, 3, 3))


@pytest.mark.parametrize(
    ("changed", "published", "fits"),
    [
        (None, HASH, True),
        (2, OTHER.hash, True),
        (2, HASH, False),
        (1, HASH, False),
        (3, HASH, True),
        (3, OTHER.hash, False),
    ],
)
def test_the_marker_names_the_program_in_effect(tmp_path, changed, published, fits):
    """The marker names the program of its epoch in the tables, changes included."""
    programs = ((-1, PROGRAM), *(((changed, OTHER),) if changed is not None else ()))
    spark = checkpoint(tmp_path, 3, 2)
    tables = StoredTables(3, programs=programs)
    if fits:
        resume(marker(2, published), tables, spark)
    else:
        with pytest.raises(StateError, match="another rule program"):
            resume(marker(2, published), tables, spark)


def test_a_state_that_was_deleted_is_named(tmp_path):
    """The message says what happened, and what another start needs."""
    spark = checkpoint(tmp_path, -1, -1)
    pattern = r"state is empty.*published batch 7\. The state was deleted.*streamreasoner reset"
    with pytest.raises(StateError, match=pattern):
        check(marker(7), StoredTables(-1), spark)


def test_a_replay_starts_with_the_program_before_it(tmp_path):
    """A change by the replayed epoch is not in effect yet; an earlier one is."""
    programs = ((-1, PROGRAM), (1, OTHER), (3, PROGRAM))
    tables, planned = StoredTables(3, programs=programs), checkpoint(tmp_path, 3, 2)
    assert resume(marker(3), tables, planned).before == 3
    assert programs_before(tables, planned) == programs[:2]


def test_the_configured_program_must_be_one_of_the_state(caplog):
    """The one in effect is accepted, an earlier one logs a warning, any other is refused."""
    history = ((-1, PROGRAM), (4, OTHER))
    check_file(history, history[-1], check_text(OTHER.text), "a.dl")
    assert not caplog.records

    check_file(history, history[-1], check_text(PROGRAM.text), "a.dl")
    (record,) = caplog.records
    assert "The program oooooooooooo of epoch 4 is in effect" in record.getMessage()
    assert "rules replace" in record.getMessage()

    with pytest.raises(StateError, match=r"another program.*a\.dl.*rules\.control_topic"):
        check_file(history, history[-1], check_text("s(?x) :- q(?x) ."), "a.dl")


DECLARED = '@output p .\n@message bad(_) "bad" .\n!bad(?x) :- p(?x), q(?x) .\n'
OTHER_DECLARATIONS = {
    "@output q . is in the file": DECLARED.replace("@output p", "@output p, q"),
    "@output p . is in effect": DECLARED.replace("@output p", "@output q"),
    "@hidden q/1 . is in the file": "@hidden q/1 .\n" + DECLARED,
    '@message bad(_) "worse" . is in the file': DECLARED.replace('"bad"', '"worse"'),
}


@pytest.mark.parametrize("change", OTHER_DECLARATIONS)
def test_declarations_that_a_start_does_not_put_into_effect_are_named(caplog, change):
    """They are not part of what determines the state, so the file is not another program."""
    stored = stored_text(check_text(DECLARED))
    history = ((-1, stored),)
    check_file(history, history[-1], check_text("% a comment\n" + DECLARED), "a.dl")
    assert not caplog.records
    check_file(history, history[-1], check_text(OTHER_DECLARATIONS[change]), "a.dl")
    (record,) = caplog.records
    assert change in record.getMessage().replace("`", "")
    assert "rules replace FILE" in record.getMessage()


@pytest.mark.parametrize("number", ["format", "semantics"])
def test_a_marker_of_a_newer_release_is_refused(tmp_path, number):
    """A higher version is not of this state; a lower one is from before a migration."""
    spark = checkpoint(tmp_path, 3, 2)
    current = {"format": FORMAT, "semantics": SEMANTICS}
    older = EpochRecord(2, span(2), HASH, **{**current, number: current[number] - 1})
    newer = EpochRecord(2, span(2), HASH, **{**current, number: current[number] + 1})

    assert resume(older, StoredTables(3), spark).before == 3
    with pytest.raises(StateError, match=rf"marker of epoch 2.*has {number} .*at least as new"):
        resume(newer, StoredTables(3), spark)


@pytest.mark.parametrize(("table_shift", "marker_shift"), [(1, 0), (0, 1)])
def test_equal_batch_ids_over_other_data_are_refused(tmp_path, table_shift, marker_shift):
    """A new checkpoint counts from 0 again; only the ranges reveal other data."""
    with pytest.raises(StateError, match="covers the offsets"):
        resume(
            marker(2, shift=marker_shift),
            StoredTables(2, table_shift),
            checkpoint(tmp_path, 2, 2),
        )


def test_torn_logs_are_refused(tmp_path):
    """An empty offset file, or a plan two batches ahead, is refused."""
    spark = checkpoint(tmp_path, 2, 1)
    (tmp_path / "offsets" / "2").write_text("")
    with pytest.raises(StateError, match=r"2 is damaged .*Restore"):
        resume(marker(1), StoredTables(1), spark)
    (tmp_path / "commits" / "1").unlink()
    with pytest.raises(StateError, match="are inconsistent"):
        Checkpoint.read(tmp_path)


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ("derived all", "all all", 'output.include = "derived", and output.include is "all"'),
        ("all direct", "all all", 'output.inherited = "direct", and output.inherited is "all"'),
    ],
)
def test_a_topic_of_facts_holds_the_same_facts_from_start_to_start(before, now, words):
    """Others would not leave it; markers of earlier releases do not say which it holds."""
    check_contents(None, now, "out")
    check_contents(EpochRecord(2, span(2), HASH, layout=2), now, "out")
    check_contents(EpochRecord(2, span(2), HASH, layout=2, contents=now), now, "out")
    marker = EpochRecord(2, span(2), HASH, layout=2, contents=before)
    with pytest.raises(StateError, match=f"topic out .*{words}.*another .*kafka.output_topic"):
        check_contents(EpochRecord.from_marker(marker.to_marker()), now, "out")
