"""Suites fail on bugs that are planted in a copy of the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from thorough import THOROUGH

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Bug:
    """A bug, and the suite that must find it.

    Attributes:
        module: The file with the bug.
        right: A text that occurs once in it.
        wrong: What the bug has in its place.
        suite: The test that must fail.
        profile: In this profile.
    """

    module: str
    right: str
    wrong: str
    suite: str
    profile: str = "ci"


BUGS = {
    "directories are not flushed": Bug(
        "system/disk.py",
        "        os.fsync(descriptor)\n",
        "        pass\n",
        "tests/faults/test_power_loss.py",
    ),
    "data files are not flushed": Bug(
        "state/delta/datafile.py",
        "        os.fsync(file.fileno())\n",
        "",
        "tests/faults/test_power_loss.py",
    ),
    "an empty commit is believed": Bug(
        "state/delta/log.py",
        "    if not actions or not known:",
        "    if not known:",
        "tests/unit/history/test_past_damage.py",
    ),
    "an error of a write is swallowed": Bug(
        "state/delta/table.py",
        "        except (OSError, pa.ArrowException) as error:\n            raise StateError(\n"
        '                f"{self.directory} cannot be written',
        "        except (OSError, pa.ArrowException) as error:\n            return 0\n"
        '            raise StateError(\n                f"{self.directory} cannot be written',
        "tests/faults/test_full_disk.py",
    ),
    "a replayed epoch is appended again": Bug(
        "state/delta/table.py",
        "if self.epoch is not None and record.epoch <= self.epoch:",
        "if False:",
        "tests/unit/state/test_storage_tables.py",
    ),
    "a state that no crash leaves is resumed": Bug(
        "pipeline/recovery.py",
        "if not checkpoint.committed <= stored <= checkpoint.planned or published > stored:",
        "if False:",
        "tests/unit/pipeline/test_recovery.py",
    ),
    "the lock is not taken": Bug(
        "state/lock.py",
        "            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "            pass\n",
        "tests/unit/pipeline/test_guards.py",
    ),
    "the marker is not read": Bug(
        "pipeline/recovery.py",
        "return Resume(checkpoint.next, published, _previous(tables, checkpoint))",
        "return Resume(checkpoint.next, -1, _previous(tables, checkpoint))",
        "tests/faults/test_kill_driver.py",
    ),
    "the last epoch is not restored": Bug(
        "state/tables.py",
        "restore.restore_trace(self._tables[schemas.TRACE], before)",
        "restore.restore_trace(self._tables[schemas.TRACE], before - 1)",
        "tests/faults/test_kill_at_random.py",
    ),
    "the last epoch is lost with its JVM": Bug(
        "state/tables.py",
        "restore.restore_trace(self._tables[schemas.TRACE], before)",
        "restore.restore_trace(self._tables[schemas.TRACE], before - 1)",
        "tests/faults/test_kill_with_jvm.py",
    ),
    "a stale state fences the running process": Bug(
        "pipeline/recovery.py",
        "    published, stored = _published(marker), _stored(tables)\n    if not",
        "    return\n    published, stored = _published(marker), _stored(tables)\n    if not",
        "tests/integration/test_twins.py",
    ),
    "a state publishes to another topic": Bug(
        "io/kafka/topic_ids.py",
        "        if others:\n",
        "        if False:\n",
        "tests/integration/test_topic_ids.py",
    ),
    "changes of another application are passed over": Bug(
        "io/kafka/owners/claims.py",
        "        if publisher != own.app_id:",
        "        if False:",
        "tests/integration/test_claims.py",
    ),
    "files are deleted while they are being written": Bug(
        "state/delta/table.py",
        "set() if self._broken.is_set() else present",
        "present",
        "tests/unit/state/test_storage_maintain.py",
    ),
    "the clock of a tick is believed": Bug(
        "pipeline/rule_changes.py",
        "time = min(message.tick, int(times[row]) + max_ahead)",
        "time = message.tick",
        "tests/faults/test_clock_jumps.py",
    ),
    "what was read ahead passes for what was planned": Bug(
        "io/spark/buffer.py",
        "if start != first or end < after:",
        "if start != first:",
        "tests/unit/io/test_buffer.py",
    ),
    "a hostile message is read with its neighbours": Bug(
        "io/codec/decode.py",
        "            good = _not_rejected(group.rows, rejected)",
        "            good = np.ones(len(group.rows.messages), np.bool_)",
        "tests/fuzz/test_fuzz.py",
    ),
    "a replayed epoch begins with its own program": Bug(
        "pipeline/recovery.py",
        "return _until(tables.programs, checkpoint.committed)",
        "return tables.programs",
        "tests/faults/test_kill_in_a_change.py",
    ),
    "a verdict is forgotten": Bug(
        "pipeline/attempts.py",
        "            self.forget()\n        return self._content\n",
        "            self.forget()\n        return None\n",
        "tests/faults/test_kill_in_a_search.py",
    ),
    "Spark is not started again": Bug(
        "service/supervise.py",
        "if stop.requested or slower is None or guest or spark_session.submitted():",
        "if True:",
        "tests/faults/test_kill_spark.py",
    ),
    "a broker that is away for a second ends the pipeline": Bug(
        "io/spark/source.py",
        "_PATIENCE_MS = 600_000",
        "_PATIENCE_MS = 1_000",
        "tests/faults/test_kill_broker.py",
    ),
    "an epoch that could not be published passes for published": Bug(
        "pipeline/batch.py",
        "            return parts.sink.publish(self._publication(evaluated, record))\n",
        "            return 0\n",
        "tests/faults/test_output_unavailable.py",
    ),
    "a batch that does not fit is an error": Bug(
        "io/spark/query.py",
        "            if _TOO_LARGE in str(error):",
        "            if False:",
        "tests/integration/test_backpressure.py",
    ),
    "lost input is passed over": Bug(
        "io/spark/source.py",
        '.option("failOnDataLoss", "true")',
        '.option("failOnDataLoss", "false")',
        "tests/faults/test_lost_input.py",
    ),
    "a damaged checkpoint ends with a traceback": Bug(
        "io/spark/offsets.py",
        "    except (OSError, ValueError) as error:\n        raise _damage(path, error) from None\n"
        "    if (",
        "    except OSError as error:\n        raise _damage(path, error) from None\n    if (",
        "tests/unit/state/test_storage_damage.py",
    ),
    "a process that stands by takes what is not committed": Bug(
        "service/standby/follower.py",
        "self._advance(past, min(last, past.last))",
        "self._advance(past, past.last)",
        "tests/laws/test_standby_follows.py",
    ),
    "a process that stands by trusts its own ids": Bug(
        "service/standby/follower.py",
        "return bool(np.array_equal(session.dictionary.encode(terms), ids))",
        "return len(session.dictionary.encode(terms)) == len(ids)",
        "tests/laws/test_standby_follows.py",
    ),
    "a backup lacks the plan of an epoch that has begun": Bug(
        "upkeep/backup.py",
        "range(max(0, committed - 1), last + 1 + has_begun)",
        "range(max(0, committed - 1), last + 1)",
        "tests/unit/upkeep/test_backup_while_running.py",
        profile="thorough",
    ),
    "a restored backup publishes again": Bug(
        "pipeline/recovery.py",
        "return Resume(checkpoint.next, marker.epoch, _previous(tables, checkpoint))",
        "return Resume(checkpoint.next, -1, _previous(tables, checkpoint))",
        "tests/integration/test_backup.py",
    ),
    "an epoch is acknowledged before it is stored": Bug(
        "state/tables.py",
        "self._bytes += sum(_results([*appended.values(), last]))",
        "self._bytes += 0",
        "tests/integration/test_storage_crash.py",
    ),
    "an epoch is published before it is uploaded": Bug(
        "pipeline/batch.py",
        "                evaluated.waiting,\n            )\n        parts.upload()\n",
        "                evaluated.waiting,\n            )\n",
        "tests/faults/test_object_store.py",
    ),
    "a pod does not claim the state": Bug(
        "service/recover.py",
        "        checked.upload.claim()\n",
        "",
        "tests/faults/test_overtaken_pod.py",
    ),
    "a trial that ended a process passes": Bug(
        "pipeline/failing/last_resort.py",
        "            result = _ENDED\n",
        "            result = None\n",
        "tests/faults/test_endless_evaluation.py",
        "thorough",
    ),
}
CHOSEN = BUGS if THOROUGH else ["directories are not flushed"]


@pytest.mark.parametrize("name", CHOSEN)
def test_a_planted_bug_is_found(name, tmp_path):
    """The suite passes on the package and fails on its copy with the bug."""
    bug = BUGS[name]
    for folder in ("streamreasoner", "tests", "scripts"):
        # With the kernels that are compiled already, which takes a minute.
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = tmp_path / "streamreasoner" / bug.module
    text = path.read_text()
    assert text.count(bug.right) == 1
    path.write_text(text.replace(bug.right, bug.wrong))

    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", bug.suite],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": str(tmp_path),
            "HYPOTHESIS_PROFILE": bug.profile,
            # A suite that waits for what a bug prevents gives up soon.
            "TEST_DEADLINE_SECONDS": "60",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == pytest.ExitCode.TESTS_FAILED, result.stdout
    assert " failed" in result.stdout.splitlines()[-1]
    assert "ImportError" not in result.stdout
