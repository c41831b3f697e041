"""A backup of a running pipeline is whole, and a pipeline goes on exactly once from it."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest
from crashes import changing, check_output, run_to_the_end
from graphs import RULES
from pipelines import await_publication, new_case, running

from streamreasoner.errors import EnvironmentSetupError, StateError
from streamreasoner.history.epochs import Past
from streamreasoner.io.kafka.sink import Publication, Sink
from streamreasoner.service import restoring
from streamreasoner.service.checks import check_state
from streamreasoner.state.lock import StateLock
from streamreasoner.state.record import EpochRecord
from streamreasoner.state.version import FORMAT, SEMANTICS
from streamreasoner.upkeep.backup import MANIFEST, back_up, verify

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def command(name, directory, case):
    """Run a command of this package on a backup; returns what it prints."""
    words = ["-m", "streamreasoner", name, directory, "--config", case.file]
    return subprocess.run(
        [sys.executable, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def said_epoch(text):
    """The epoch that `backup` has printed."""
    return re.search(r"at the end of epoch (\d+)", text)[1]


def rows(past, epoch):
    """The trace at the end of an epoch, and what each epoch has published."""
    trace = {
        (block.predicate, tuple(fact), iteration): count
        for block in past.restore(epoch + 1)
        for fact, iteration, count in zip(
            block.args.tolist(),
            block.iteration.tolist(),
            block.multiplicity.tolist(),
            strict=True,
        )
    }
    changes = past.changes_between(0, epoch).to_pylist()
    return trace, sorted(changes, key=str), past.new_terms(0).to_pylist()


@pytest.mark.usefixtures("joined_jvm")
def test_a_restored_pipeline_publishes_every_change_once(broker, tmp_path):
    """Epochs that the backup lacks are evaluated again, to the same state, and not published."""
    case = new_case(broker, tmp_path, RULES)
    state, backup = case.config.state, tmp_path / "backup"
    with changing(case, random.Random(6)) as (sent, records):
        with running(["-m", "streamreasoner", "run", "--config", case.file], case) as process:
            await_publication(case, process)
            said = command("backup", backup, case)
            assert f"the state of {case.config.pipeline.app_id} at the end of epoch " in said
            await_publication(case, process)
            process.kill()
        former = tmp_path / "former"
        state.directory.rename(former)
        asked = ["-m", "streamreasoner", "state", "--state", str(backup), "--at", said_epoch(said)]
        assert (
            "reaches"
            in subprocess.run(
                [sys.executable, *asked], check=True, stdout=subprocess.PIPE, text=True
            ).stdout
        )
        said = command("restore", backup, case)
        assert "evaluated again" in said
        assert verify(backup).epoch < Past(state.tables).last
        before, after = Past(former / "tables"), Past(state.tables)
        assert after.last in {before.last, before.last - 1}
        found, expected = rows(after, after.last), rows(before, after.last)
        assert found[:2] == expected[:2]
        # An epoch that was not published may have left terms.
        assert expected[2][: len(found[2])] == found[2]
    run_to_the_end(case, records)
    check_output(case, sent)


@pytest.fixture(scope="module")
def stopped(broker, joined_jvm, tmp_path_factory):
    """A pipeline that has ended, and its backup."""
    del joined_jvm
    case = new_case(broker, tmp_path_factory.mktemp("stopped"), RULES)
    command = ["-m", "streamreasoner", "run", "--config", case.file]
    with (
        changing(case, random.Random(7)) as (_, records),
        running(command, case) as process,
    ):
        await_publication(case, process)
    run_to_the_end(case, records)
    backup = case.directory / "backup"
    back_up(case.config, backup)
    return case.config, backup


def emptied(config, name):
    """The same configuration with another, empty state."""
    directory = config.state.directory.with_name(name)
    state = replace(
        config.state, directory=directory, checkpoint_directory=directory / "checkpoint"
    )
    return replace(config, state=state)


def test_a_restore_can_be_repeated(stopped):
    """Until it is done no start takes the state, and it begins anew."""
    config, backup = stopped
    other = emptied(config, "repeated")
    restored, evaluated = restoring.restore(other, backup)
    assert (restored.epoch, evaluated) == (Past(config.state.tables).last, 0)
    check_state(other)
    other.state.restoring.touch()
    with pytest.raises(StateError, match=r"was interrupted or refused\. Run it again"):
        check_state(other)
    shutil.rmtree(other.state.checkpoint_directory)
    restoring.restore(other, backup)
    check_state(other)
    assert rows(Past(other.state.tables), restored.epoch) == rows(
        Past(config.state.tables), restored.epoch
    )


def test_what_does_not_fit_is_refused(stopped):
    """A state that is there, one in use, another application: nothing is copied."""
    config, backup = stopped
    with pytest.raises(StateError, match=r"There is a state already: .*tables"):
        restoring.restore(config, backup)
    other = emptied(config, "other")
    app = replace(other, pipeline=replace(other.pipeline, app_id="another"))
    with pytest.raises(StateError, match=f"is of the application {config.pipeline.app_id}, and"):
        restoring.restore(app, backup)
    with (
        closing(StateLock(other.state.directory)),
        pytest.raises(EnvironmentSetupError, match="is in use by process"),
    ):
        restoring.restore(other, backup)
    assert [path.name for path in other.state.directory.iterdir()] == ["lock"]
    with pytest.raises(StateError, match=r"exists already\. Name a new directory"):
        back_up(config, backup)


def damages(backup):
    """What may happen to a backup, by name."""
    manifest = json.loads((backup / MANIFEST).read_text())
    for name in [*manifest["files"], MANIFEST]:
        yield name, lambda path: path.unlink()
        yield name, lambda path: path.write_bytes(path.read_bytes()[:-1])
        yield name, lambda path: path.write_bytes(b"\1" + path.read_bytes()[1:])


def test_every_damage_is_refused_by_name(stopped, tmp_path):
    """Whatever file is lost, cut or changed."""
    config, backup = stopped
    other = emptied(config, "damaged")
    for name, damage in damages(backup):
        damaged = tmp_path / "damaged"
        shutil.copytree(backup, damaged)
        damage(damaged / name)
        with pytest.raises(StateError, match=name.rsplit("/", 1)[-1]):
            restoring.restore(other, damaged)
        shutil.rmtree(damaged)
    assert not other.state.directory.exists()


def test_markers_that_were_compacted_are_missed(broker, tmp_path):
    """Without them it is not known which messages an epoch had."""
    case = new_case(broker, tmp_path, RULES)
    with closing(Sink(case.kafka, case.config.pipeline.app_id, 60)) as sink:
        sink.start()
        for epoch in (0, 1, 5):
            record = EpochRecord(epoch, {}, "hash", FORMAT, SEMANTICS)
            sink.publish(Publication([], [], record))
    assert set(restoring.markers(case.config, 5, 5)) == {5}
    with pytest.raises(StateError, match="no longer has the markers of 3 epochs from 2 to 4"):
        restoring.markers(case.config, 1, 5)
