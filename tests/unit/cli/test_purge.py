"""`purge` reports what there was, what it did, what it searched, and what it cannot reach."""

from __future__ import annotations

import errno
import json
from contextlib import closing

import pytest
from stored_epochs import APP, StoredReasoner, write_checkpoint
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import StateError, StreamReasonerError
from streamreasoner.state.delta import datafile

RULES = """@prefix ex: <http://example.org/> .
pays(?x) :- [?x, ex:paid, _] .
"""
EX = "<http://example.org/{}>".format
CONFIGURATION = f"""
[kafka]
bootstrap_servers = "127.0.0.1:9"
input_topics = ["in"]
output_topic = "out"
[rules]
program = "./rules.dl"
[state]
directory = "state"
[pipeline]
app_id = "{APP}"
"""
ANNA = ("triple", (EX("anna"), EX("paid"), '"9"'))


@pytest.fixture
def folder(tmp_path):
    """A stopped pipeline that has forgotten Anna, in an epoch of its own."""
    (tmp_path / "pipeline.toml").write_text(CONFIGURATION)
    with closing(StoredReasoner(tmp_path / "state/tables", RULES)) as stored:
        stored.run([(*ANNA, 1), ("triple", (EX("bert"), EX("paid"), '"8"'), 1)])
        stored.run([(*ANNA, -1)])
    write_checkpoint(tmp_path / "state/checkpoint", 2)
    return tmp_path


def purge(folder, *arguments):
    """Run the command; returns its result."""
    result = CliRunner().invoke(
        app, ["purge", "--config", str(folder / "pipeline.toml"), *arguments]
    )
    if isinstance(result.exception, StreamReasonerError):
        raise result.exception
    return result


def test_the_report_in_json(folder):
    """Each line is an object; the last ones name what lies outside."""
    said = purge(folder, "--term", "ex:anna", "--format", "json")
    rows = [json.loads(line) for line in said.stdout.splitlines()]

    assert said.exit_code == 0
    assert [(row["in"], row["predicate"], row["epoch"], row["diff"]) for row in rows[:4]] == [
        ("asserted", "triple", 0, 1),
        ("asserted", "triple", 1, -1),
        ("published", "pays", 0, 1),
        ("published", "pays", 1, -1),
    ]
    assert [row["step"] for row in rows if row["line"] == "done"] == [1, 2, 3, 4, 5, 6]
    [searched] = [row for row in rows if row["line"] == "searched"]
    assert searched == {"line": "searched", "terms": ['"9"', EX("anna")], "found": 0}
    assert "topics in, out, out-violations, out-dead-letter" in {row.get("where") for row in rows}


def test_a_term_that_is_still_somewhere_is_reported(folder):
    """A file that nothing else knows holds it: the command names the file and fails."""
    (folder / "state/notes.txt").write_text("http://example.org/anna called")
    said = purge(folder, "--term", "<http://example.org/anna>")

    assert said.exit_code == 1
    assert f"STILL THERE: {EX('anna')} in {folder / 'state/notes.txt'}" in said.stdout
    assert "+1 triple(<http://example.org/anna>, " in said.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Nothing is named to erase"),
        (("--term", "ex:anna, ex:bert"), "is not a term"),
        (("--term", "?x"), "is not a term"),
        (("--older-than", "long"), "neither an age such as 30d"),
        (("--term", "ex:bert"), "Not everything has been retracted"),
        (("--fact", "pays(ex:bert)"), r"still in the state: pays\("),
    ],
)
def test_what_cannot_be_erased_is_refused(folder, arguments, message):
    """One message names what is wrong and what to do."""
    with pytest.raises(StreamReasonerError, match=message):
        purge(folder, *arguments)


def test_old_changes_are_erased(folder):
    """An age is counted from now; the last epoch stays, so that the table says where it ends."""
    assert purge(folder, "--older-than", "0h").exit_code == 0
    said = CliRunner().invoke(
        app, ["history", "pays(ex:anna)", "--config", str(folder / "pipeline.toml")]
    )
    assert said.stdout.splitlines() == [
        "# `changes` begins with epoch 1; older rows are deleted",
        "- epoch 1  2026-01-01T01:00:00.000Z  published",
        "absent at the end of epoch 1, the oldest one",
        "absent at the end of epoch 1, the last one",
    ]


def test_a_pipeline_that_would_replay_is_refused(folder):
    """Spark has planned a batch that is not committed."""
    (folder / "state/checkpoint/commits/1").unlink()
    with pytest.raises(StreamReasonerError, match="interrupted in epoch 1"):
        purge(folder, "--term", "ex:anna")


def test_a_full_disk_is_reported(folder, monkeypatch):
    """One message says that the state is valid, and what to do; then the command erases it."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(datafile, "write", full)
        with pytest.raises(StateError, match=r"No space left.*The state is valid.*again"):
            purge(folder, "--term", "ex:anna")
    assert purge(folder, "--term", "ex:anna").exit_code == 0
