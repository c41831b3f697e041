"""A backup has one whole epoch and the checkpoint that belongs to it, while others are written."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from road_epochs import EX, NUMBER, PLAIN
from stored_epochs import APP, BATCH, StoredReasoner
from thorough import THOROUGH

from streamreasoner.config import parse
from streamreasoner.errors import NoEpochError
from streamreasoner.facts import FactPattern, decode_facts
from streamreasoner.history.replica import Replica
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline.recovery import check
from streamreasoner.state import Tables
from streamreasoner.state.delta.retention import Retention
from streamreasoner.upkeep.backup import back_up

BACKUPS = 200 if THOROUGH else 10
RETAINED = 10
FEW = Retention(versions=0.0, unused_files=0, log_entries=0)


def configuration(directory):
    """The configuration of a pipeline in a directory."""
    raw = {
        "kafka": {"bootstrap_servers": "none:1", "input_topics": ["in"], "output_topic": "out"},
        "rules": {"program": "rho-df"},
        "state": {"directory": "state"},
        "pipeline": {"app_id": APP},
    }
    return parse(raw, {}, directory)


class Pipeline(threading.Thread):
    """Epochs without end, as Spark plans and commits them."""

    def __init__(self, state):
        super().__init__()
        self.stored = StoredReasoner(state.tables, PLAIN, retention=FEW)
        self.ending = threading.Event()
        self._checkpoint = state.checkpoint_directory

    def run(self):
        """Run epochs, which are planned, stored and committed."""
        self.write("metadata", '{"id":"1c0b6a04-3f5c-4a6f-9d3c-0d9a4c0c0c0c"}')
        self.write("sources/0/0", 'v1\n{"in":{"0":0}}')
        while not self.ending.is_set():
            epoch = self.stored.epoch
            self.write(f"offsets/{epoch}", f'v1\n{BATCH}\n{{"in":{{"0":{epoch + 1}}}}}')
            self.stored.run([("road", (EX(str(epoch)), EX("b"), NUMBER(epoch % 7)), 1)])
            self.write(f"commits/{epoch}", 'v1\n{"nextBatchWatermarkMs":0}')
            if epoch >= RETAINED:
                for log in ("offsets", "commits"):
                    (self._checkpoint / log / str(epoch - RETAINED)).unlink()
            self.stored.tables.maintain_if_due()

    def write(self, name, text):
        """Write a file as Spark does: another one is renamed."""
        path = self._checkpoint / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(text)
        temporary.rename(path)


def present(tables):
    """The epoch and the present facts of a state, each of whose files is verified."""
    with closing(Replica.open(tables)) as replica, replica.snapshot() as snapshot:
        return replica.epoch, {
            fact
            for predicate in snapshot.program.checked.arities
            for fact in decode_facts(
                predicate, snapshot.facts(FactPattern(predicate)), snapshot.terms
            )
        }


def test_a_backup_is_one_epoch(tmp_path):
    """Its tables and its checkpoint are as a crash would leave them, at an epoch that was."""
    config = configuration(tmp_path)
    pipeline = Pipeline(config.state)
    epochs = []
    with closing(pipeline.stored) as stored:
        pipeline.start()
        try:
            while len(epochs) < BACKUPS:
                backup = tmp_path / f"backup-{len(epochs)}"
                try:
                    made = back_up(config, backup)
                except NoEpochError:
                    continue
                assert present(backup / "tables") == (made.epoch, stored.present[made.epoch])
                checkpoint = Checkpoint.read(backup / "checkpoint")
                assert checkpoint.committed == made.committed
                with Tables.open(backup / "tables", APP, None, 3, create=False) as tables:
                    check(None, tables, checkpoint)
                    # What any table has of a batch, Spark replays.
                    assert not tables.has_begun(checkpoint.planned + 1)
                epochs.append(made.epoch)
        finally:
            pipeline.ending.set()
            pipeline.join()
    assert epochs == sorted(epochs)
    assert len(set(epochs)) > 1


def test_a_state_without_an_epoch_has_no_backup(tmp_path):
    """There is nothing to copy yet."""
    config = configuration(tmp_path)
    with (
        closing(StoredReasoner(config.state.tables, PLAIN)),
        pytest.raises(NoEpochError, match="no complete epoch yet"),
    ):
        back_up(config, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
