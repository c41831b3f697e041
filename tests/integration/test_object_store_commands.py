"""Commands on a state in an object store. Invariant: they work on what is there, or refuse."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from object_store import object_store
from pipelines import await_published, changes, fact, net, new_case, produce
from spark_jvm import MARKS
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import EnvironmentSetupError, StateError
from streamreasoner.service.assemble import pipeline
from streamreasoner.state.objects.bucket import Bucket
from streamreasoner.state.objects.held import upload_of

pytestmark = MARKS

RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"


def command(*words):
    """What a command prints."""
    result = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.stdout
    return result.stdout


def run(case, *facts):
    """Run the pipeline until it has published the facts."""
    records = produce(case, facts)
    with pipeline(case.config):
        await_published(case, records)


def lose_the_disk(case):
    """Delete the state directory."""
    shutil.rmtree(case.config.state.directory)


def everything(url):
    """The bytes of all objects of a state."""
    bucket = Bucket(url)
    keys = [*bucket.keys("files"), *bucket.keys("journal")]
    return b"".join(bucket.read(key) for key in keys)


def test_a_life_of_commands(broker, tmp_path):
    """Each on an empty disk: ask, erase, begin from nothing."""
    with object_store() as store:
        url = store.folder()
        case = new_case(broker, tmp_path, RULES, state={"object_store": url})
        config = "--config", case.file
        run(case, fact("edge", "<urn:anna>", "<urn:b>"), fact("edge", "<urn:c>", "<urn:d>"))
        run(case, fact("edge", "<urn:anna>", "<urn:b>", diff=-1))
        lose_the_disk(case)
        assert command("state", *config) == "edge(<urn:c>, <urn:d>)\npath(<urn:c>, <urn:d>)\n"
        lose_the_disk(case)
        assert "path(" in command("rules", "show", *config)
        with pytest.raises(StateError, match="may be old"):
            command("state", "--state", case.config.state.directory)
        assert b"anna" in everything(url)
        lose_the_disk(case)
        said = command("purge", "--term", "<urn:anna>", *config)
        assert "step 7: deleted objects of past versions in" in said
        assert "STILL THERE" not in said
        assert b"anna" not in everything(url)
        lose_the_disk(case)
        run(case, fact("edge", "<urn:e>", "<urn:f>"))
        assert net(changes(case)) == {
            ("path", pair) for pair in (("<urn:c>", "<urn:d>"), ("<urn:e>", "<urn:f>"))
        }
        lose_the_disk(case)
        command("backup", tmp_path / "backup", *config)
        lose_the_disk(case)
        command("reset", "--yes", *config)
        lose_the_disk(case)
        run(case, fact("edge", "<urn:g>", "<urn:h>"))
        assert ("path", ("<urn:c>", "<urn:d>")) in net(changes(case))


def test_a_state_whose_pipeline_has_not_ended_is_not_changed(broker, tmp_path):
    """Elsewhere nothing shows that it runs but the journal."""
    with object_store() as store:
        case = new_case(broker, tmp_path, RULES, state={"object_store": store.folder()})
        run(case, fact("edge", "<urn:a>", "<urn:b>"))
        state = case.config.state
        # As a pipeline on another machine does.
        upload = upload_of(state)
        upload.fill()
        upload.claim()
        for words in (
            ["purge", "--term", "<urn:a>"],
            ["migrate"],
            ["rebuild", "--into", tmp_path / "n"],
        ):
            with pytest.raises(StateError, match="has not ended"):
                command(*words, "--config", case.file)
        upload.end()
        command("migrate", "--config", case.file)


@pytest.mark.parametrize(
    "words",
    [
        ["state"],
        ["history", 'path("a", "<urn:b>")'],
        ["diff", "0"],
        ["purge", "--older-than", "1d"],
        ["migrate"],
        ["serve"],
    ],
)
def test_an_address_is_no_directory(words, tmp_path, monkeypatch):
    """It is refused by name, and no folder of that name is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EnvironmentSetupError, match="is an address, not a directory"):
        command(*words, "--state", "s3://bucket/folder")
    assert [*Path().iterdir()] == []
