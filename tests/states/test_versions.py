"""A state of another version is refused with the way out; migration keeps its content."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable
from driver import Driver
from storage_builders import PROGRAM, commit_one, open_tables, restored
from typer.testing import CliRunner

from streamreasoner import Reasoner, Update
from streamreasoner.cli import app
from streamreasoner.errors import DataError, StateError
from streamreasoner.program import load_program
from streamreasoner.program.text import ProgramText
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.terms import Term
from streamreasoner.state import Tables, check_version, migrate, schemas, version
from streamreasoner.state.migrate import seal, set_properties, versions
from streamreasoner.state.version import FORMAT, SEMANTICS, StateVersion

_ARCHIVE = Path(__file__).with_name("66d5e30.tar.xz")
"""A state of a release without numbers, written by `write_state.py`."""
_FORMAT_1 = Path(__file__).with_name("state-845dc16.tar.xz")
TABLES = "state/tables"


@pytest.fixture
def earlier(tmp_path):
    """The folder of a state of the earlier release."""
    with tarfile.open(_ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def content(directory):
    """Terms, trace and programs of the tables in a directory, as this release reads them."""
    with Tables.open(directory, "state", PROGRAM, 3, create=False) as tables:
        trace, dictionary = restored(tables, 1 << 40)
        return tables.version(), tables.programs, trace, dictionary.terms(0, len(dictionary))


def test_new_tables_have_the_numbers_of_the_release(tmp_path):
    """Every table says the format and the semantics that it is written with."""
    open_tables(tmp_path).close()

    assert set(versions(tmp_path).values()) == {StateVersion(FORMAT, SEMANTICS)}
    check_version(tmp_path)


@pytest.mark.parametrize("name", schemas.NAMES)
@pytest.mark.parametrize(
    ("other", "advice"),
    [
        (StateVersion(FORMAT - 1, SEMANTICS), "streamreasoner migrate --config"),
        (StateVersion(FORMAT, SEMANTICS - 1), "streamreasoner migrate --config"),
        (StateVersion(FORMAT + 1, SEMANTICS), "at least as new"),
        (StateVersion(FORMAT, SEMANTICS + 1), "at least as new"),
    ],
)
def test_another_version_is_refused(tmp_path, name, other, advice):
    """One table with another number is enough; the message has both numbers and the way out."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
    set_properties(tmp_path / name, other.properties)
    what, found, current = (
        ("format", other.format, FORMAT)
        if other.format != FORMAT
        else ("semantics", other.semantics, SEMANTICS)
    )

    for start in (lambda: check_version(tmp_path), lambda: open_tables(tmp_path)):
        with pytest.raises(StateError, match=advice) as refusal:
            start()
        assert f"has {what} {found}; this release reads {what} {current}" in str(refusal.value)


def test_triple_terms_are_refused_by_releases_before_them(tmp_path, monkeypatch):
    """A release of format 1 would take a triple term for an IRI; it names both numbers instead."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 0)
    monkeypatch.setattr(version, "FORMAT", 1)

    for start in (lambda: check_version(tmp_path), lambda: open_tables(tmp_path)):
        with pytest.raises(StateError, match=r"format 2; this release reads format 1.*as new as"):
            start()


def test_a_state_of_format_1_is_refused_until_it_is_migrated(tmp_path):
    """Nothing but the number changes: files, terms and trace are those of before."""
    with tarfile.open(_FORMAT_1) as archive:
        archive.extractall(tmp_path, filter="data")
    tables = tmp_path / TABLES
    with pytest.raises(StateError, match=r"format 1; this release reads format 2.*migrate"):
        check_version(tables)
    files = {path: path.read_bytes() for path in tables.rglob("*.parquet")}

    assert "from format 1 to 2" in command(tmp_path, "migrate").output
    check_version(tables)
    assert {path: path.read_bytes() for path in tables.rglob("*.parquet")} == files
    with Tables.open(tables, "state-845dc16", PROGRAM, 3, create=False) as opened:
        trace, dictionary = restored(opened, 1 << 40)
    assert len(trace) > 5
    assert len(dictionary) == opened.terms_stored


def test_the_state_of_a_reasoner_is_migrated(tmp_path):
    """Refused when it is opened, migrated by its directory, it has the facts that it had."""
    with Reasoner.open(tmp_path, "path(?x, ?y) :- edge(?x, ?y) .") as reasoner:
        reasoner.apply([Update("edge", ("a", "b"))])
    for name in schemas.NAMES:
        set_properties(tmp_path / "tables" / name, StateVersion(1, SEMANTICS).properties)

    with pytest.raises(StateError, match=r"streamreasoner migrate .*--state DIRECTORY"):
        Reasoner.open(tmp_path)
    said = CliRunner().invoke(app, ["migrate", "--state", str(tmp_path)])
    assert "from format 1 to 2" in said.output
    with Reasoner.open(tmp_path) as reasoner:
        assert {*reasoner.facts("path")} == {("a", "b")}


def test_a_number_that_is_none_is_refused(tmp_path):
    """A property that holds no number is a damaged state."""
    open_tables(tmp_path).close()
    set_properties(tmp_path / "trace", {"streamreasoner.format": "one"})

    with pytest.raises(StateError, match=r"not a number.*'one'"):
        check_version(tmp_path)


def test_properties_are_set_as_delta_says(tmp_path):
    """Setting a property keeps schema, other properties, rows and transactions of the table."""
    with open_tables(tmp_path) as tables:
        commit_one(tables, 3)
    before = DeltaTable(tmp_path / "trace")
    set_properties(tmp_path / "trace", {"streamreasoner.format": str(FORMAT)})
    after = DeltaTable(tmp_path / "trace")

    assert after.version() == before.version() + 1
    assert after.schema() == before.schema()
    assert after.metadata().configuration == before.metadata().configuration
    assert after.metadata().partition_columns == ["predicate"]
    assert after.transaction_version("test-application") == 3
    assert after.to_pyarrow_table() == before.to_pyarrow_table()


def test_a_state_without_numbers_is_refused_until_it_is_migrated(earlier):
    """The earlier release's state is not opened as it is; migrated, it has the same content."""
    record = json.loads((earlier / "record.json").read_text())
    tables = earlier / TABLES
    with pytest.raises(StateError, match=r"has format 0.*streamreasoner migrate"):
        check_version(tables)
    with pytest.raises(StateError, match=r"no digest.*streamreasoner migrate"):
        Tables.open(tables, "state", PROGRAM, 3)

    assert migrate(tables) == 0
    check_version(tables)
    epoch, programs, trace, terms = content(tables)
    assert epoch == json.loads(record["markers"][-1][1])["batch"]
    assert len(programs) == 2
    assert len(trace) > 5
    assert terms

    # A second time there is nothing to do.
    before = {name: DeltaTable(tables / name).version() for name in schemas.NAMES}
    assert migrate(tables) == FORMAT
    assert {name: DeltaTable(tables / name).version() for name in schemas.NAMES} == before


@pytest.mark.parametrize("done", range(1, len(schemas.NAMES)))
def test_a_migration_that_was_cut_short_is_run_again(earlier, tmp_path, done):
    """After a crash in between a start is refused; a second migration ends the first."""
    whole = tmp_path / "whole"
    shutil.copytree(earlier / TABLES, whole)
    migrate(whole)
    tables = earlier / TABLES
    for name in schemas.NAMES[:done]:
        seal(tables / name)
        set_properties(tables / name, StateVersion(FORMAT, SEMANTICS).properties)
    seal(tables / schemas.NAMES[done])

    with pytest.raises(StateError, match="streamreasoner migrate"):
        check_version(tables)
    assert migrate(tables) == 0
    assert content(tables) == content(whole)


def command(directory, *arguments):
    """The result of a command on the state in a directory."""
    config = directory / "pipeline.toml"
    config.write_text(
        '[kafka]\nbootstrap_servers = "localhost:1"\ninput_topics = ["in"]\noutput_topic = "out"\n'
        '[rules]\nprogram = "rules.dl"\n[state]\ndirectory = "state"\n'
    )
    return CliRunner().invoke(app, [*arguments, "--config", str(config)])


def test_the_command_migrates_under_the_lock(earlier):
    """`streamreasoner migrate` says what it did; without a state it is refused."""
    assert "from format 0 to 2" in command(earlier, "migrate").output
    assert "already has format 2" in command(earlier, "migrate").output
    shutil.rmtree(earlier / TABLES)
    assert isinstance(command(earlier, "migrate").exception, StateError)


@pytest.mark.parametrize("matches", [False, True])
def test_semantics_are_adopted_where_the_program_derives_the_same(tmp_path, matches):
    """Patterns of `matches` changed with semantics 2: a program with them must derive again."""
    condition = ', matches(?x, "^a")' if matches else ""
    program = ProgramText("hash", f"p(?x) :- q(?x){condition} .\n", ("p/1", "q/1"))
    with open_tables(tmp_path, program=program) as tables:
        commit_one(tables, 0)
    for name in schemas.NAMES:
        set_properties(tmp_path / name, StateVersion(FORMAT, 1).properties)

    if matches:
        with pytest.raises(StateError, match=r"semantics 1, .* 3: `matches`.*rebuild --config"):
            migrate(tmp_path)
        assert {each.semantics for each in versions(tmp_path).values()} == {1}
    else:
        migrate(tmp_path)
        check_version(tmp_path)


@pytest.mark.parametrize(
    ("rules", "nodes", "refused"),
    [
        ("p(min(?x)) :- q(?x) .", ("urn:a1", "urn:a10"), "min"),
        ('p(sort_key("a", ?x)) :- q(?x) .', ("urn:a", "urn:a/b"), "sort_key"),
        ("p(max(?x)) :- q(?x) .", ("urn:a", "urn:ab"), None),
        ("p(count(?x)) :- q(?x) .", ("urn:a1", "urn:a10"), None),
        ("p(?x) :- q(?x), effective_boolean(?x) .", ("urn:a",), "effective_boolean"),
    ],
)
def test_another_order_of_iris_is_adopted_where_the_state_has_none(tmp_path, rules, nodes, refused):
    """With semantics 3 an IRI comes before those that it begins, whatever they go on with.

    Fewer literals have an effective boolean value, whatever the order is.
    """
    with Reasoner.open(tmp_path, rules) as reasoner:
        reasoner.apply([Update("q", (Term.parse(f"<{node}>"),)) for node in nodes])
    for name in schemas.NAMES:
        set_properties(tmp_path / "tables" / name, StateVersion(1, 2).properties)

    if refused:
        with pytest.raises(StateError, match=rf"semantics 2, .* 3: `{refused}`.*rebuild --config"):
            migrate(tmp_path / "tables")
    else:
        assert migrate(tmp_path / "tables") == 1
        check_version(tmp_path / "tables")


def test_a_rebuilt_state_derives_what_readers_have(earlier):
    """Program and asserted facts of a state, from nothing, derive what it had published."""
    into = earlier / "new"
    record = json.loads((earlier / "record.json").read_text())
    said = command(earlier, "rebuild", "--into", str(into))
    assert said.exit_code == 0, said.output
    assert "as of epoch 2" in said.output
    assert isinstance(command(earlier, "rebuild", "--into", str(into)).exception, DataError)

    facts = [json.loads(line) for line in (into / "facts.jsonl").read_text().splitlines()]
    sent = Counter()
    for topic, value in record["sent"]:
        if topic == "state-in":
            update = json.loads(value)
            sent[update["predicate"], *update["args"]] += update["diff"]
    assert {(one["predicate"], *one["args"]): one["diff"] for one in facts} == +sent

    driver = Driver(load_program(into / "program.dl"))
    driver.apply([(one["predicate"], tuple(one["args"]), one["diff"]) for one in facts])
    published = Counter()
    for predicate, args, diff in record["changes"]:
        published[predicate, tuple(args)] += diff
    asserted = {(predicate, tuple(args)) for predicate, *args in +sent} | {("town", ('"home"',))}
    assert driver.closure() - asserted == set(+published)


def test_a_state_without_a_finished_batch_is_not_rebuilt(earlier):
    """There is nothing to take over, and the message says so."""
    shutil.rmtree(earlier / "state" / "checkpoint")
    refused = command(earlier, "rebuild", "--into", str(earlier / "new"))
    assert isinstance(refused.exception, StateError)
    assert "nothing to rebuild" in str(refused.exception)


def test_terms_of_the_earlier_state_keep_their_ids(earlier):
    """A migrated state restores into a dictionary with the ids that its trace has."""
    migrate(earlier / TABLES)
    dictionary = Dictionary()
    with Tables.open(earlier / TABLES, "state", PROGRAM, 3, create=False) as tables:
        tables.restore_terms(dictionary)
        assert len(dictionary) == tables.terms_stored
