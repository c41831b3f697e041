"""A reasoner in a directory: what it refuses, and what the commands say of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from rdflib import URIRef
from typer.testing import CliRunner

from streamreasoner import Reasoner, Update
from streamreasoner.cli import app
from streamreasoner.errors import (
    EngineError,
    EnvironmentSetupError,
    StateError,
    StreamReasonerError,
)
from streamreasoner.state.lock import StateLock

RULES = """@prefix ex: <http://example.org/> .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
!loop(?x) :- path(?x, ?x) .
@message loop(?x) "a loop at {?x}" .
"""
A, B, C = (URIRef(f"http://example.org/{name}") for name in "abc")


def say(*arguments):
    """What a command prints."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    if isinstance(result.exception, StreamReasonerError):
        raise result.exception
    return result.output


@pytest.fixture
def state(tmp_path):
    """A state of three epochs, which is closed."""
    with Reasoner.open(tmp_path / "state", RULES) as reasoner:
        reasoner.apply([Update("edge", (A, B)), Update("edge", (B, C))])
        reasoner.apply([Update("edge", (C, A))])
        reasoner.apply([Update("edge", (C, A), -1), Update("edge", (B, C), -1)])
    return tmp_path / "state"


def test_the_commands_of_a_state_read_it(state):
    """`state`, `diff` and `history` take its directory, also while it is open."""
    with Reasoner.open(state) as reasoner:
        assert say("state", "path", "--state", state).splitlines()[0] == "path(ex:a, ex:b)"
        then = say("state", "path(ex:a, ?x)", "--at", 0, "--state", state)
        assert then.splitlines()[:2] == ["path(ex:a, ex:b)", "path(ex:a, ex:c)"]
        assert "+ edge(ex:c, ex:a)" in say("diff", 0, 1, "--state", state)
        told = say("history", "path(ex:a, ex:c)", "--state", state)
        assert [line[:9] for line in told.splitlines() if line[0] in "+-"] == [
            "+ epoch 0",
            "- epoch 2",
        ]
        assert reasoner.epochs == 3


def test_what_was_retracted_is_erased(state):
    """After `purge`, no file has the term, and the state goes on."""
    said = say("purge", "--term", "ex:c", "--state", state)
    assert "found in 0 files" in said
    assert not any(b"example.org/c" in file.read_bytes() for file in state.rglob("*.parquet"))
    with Reasoner.open(state) as reasoner:
        assert reasoner.facts("path") == [(A, B)]
        reasoner.apply([Update("edge", (B, C))])
        assert set(reasoner.facts("path")) == {(A, B), (B, C), (A, C)}


def test_purge_waits_for_nobody(state):
    """A state that is open is not erased."""
    with (
        Reasoner.open(state),
        pytest.raises(EnvironmentSetupError, match=r"state is in use by process \d+"),
    ):
        say("purge", "--term", "ex:c", "--state", state)


def test_one_process_has_it_open(state):
    """Neither another one nor the same opens it twice."""
    with Reasoner.open(state), pytest.raises(EnvironmentSetupError, match="is in use by process"):
        Reasoner.open(state)
    Reasoner.open(state).close()


def test_it_is_opened_with_its_rules_or_without(state):
    """Its own rules are accepted as they are written; others are refused with the way out."""
    Reasoner.open(state, RULES + "% as before\n").close()
    with pytest.raises(StateError, match=r"has another program.*change_program"):
        Reasoner.open(state, "p(?x) :- q(?x) .")
    with pytest.raises(StateError, match=r"There is no state in .*Reasoner.open\(directory, rules"):
        Reasoner.open(state.parent / "none")
    assert not (state.parent / "none").exists()


def test_rules_that_were_added_stay(state):
    """So do those that came by a query, and what was removed stays away."""
    with Reasoner.open(state) as reasoner:
        reasoner.add_rules("back(?y, ?x) :- path(?x, ?y) .")
        reasoner.add_query("starts", "SELECT ?s WHERE { ?s ?p ?o }")
    with Reasoner.open(state) as reasoner:
        assert reasoner.facts("back") == [(B, A)]
        reasoner.remove_rules("back(?y, ?x) :- path(?x, ?y) .")
    with Reasoner.open(state) as reasoner:
        assert "back" not in reasoner.program.arities
        assert reasoner.program.arities["starts"] == 1
        with pytest.raises(EngineError, match=r"has 9 arguments.*columns for"):
            reasoner.add_rules("wide(1, 2, 3, 4, 5, 6, 7, 8, 9) .")


def test_a_state_of_a_pipeline_is_refused(tmp_path):
    """Only the pipeline may change it."""
    (tmp_path / "app-id").write_text("x\n")
    with pytest.raises(StateError, match="belongs to a pipeline"):
        Reasoner.open(tmp_path, RULES)


def test_facts_expire_across_a_restart(tmp_path):
    """The frontier is in the state."""
    rules = '@expires seen/1 after "PT10S" .\nhere(?x) :- seen(?x) .'
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    with Reasoner.open(tmp_path, rules) as reasoner:
        reasoner.apply([Update("seen", (1,), ts=noon)])
    with Reasoner.open(tmp_path) as reasoner:
        assert reasoner.facts("here") == [(1,)]
        reasoner.advance(noon.replace(minute=1))
    with Reasoner.open(tmp_path) as reasoner:
        assert reasoner.facts("here") == []
        assert not reasoner.apply([Update("seen", (2,), ts=noon)]).changes


def test_files_and_updates_of_sparql_are_stored(tmp_path):
    """Whatever applies an epoch stores it."""
    (tmp_path / "a.nt").write_text("<a:x> <a:p> <a:y> .\n")
    with Reasoner.open(tmp_path / "state", "q(?s) :- [?s, _, _] .") as reasoner:
        reasoner.load(tmp_path / "a.nt")
        reasoner.update("INSERT DATA { <a:z> <a:p> <a:y> }")
    with Reasoner.open(tmp_path / "state") as reasoner:
        assert {str(s) for (s,) in reasoner.facts("q")} == {"a:x", "a:z"}
        assert len(list(reasoner.query("SELECT ?s { ?s ?p ?o }"))) == 2


def test_threads_share_it(tmp_path):
    """Epochs of several threads are stored one after the other."""
    with Reasoner.open(tmp_path, RULES) as reasoner, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: reasoner.apply([Update("edge", (n, n + 1))]), range(20)))
        expected = set(reasoner.facts("path"))
    with Reasoner.open(tmp_path) as reasoner:
        assert reasoner.epochs == 20
        assert set(reasoner.facts("path")) == expected


def test_the_lock_of_a_state_names_no_key(tmp_path):
    """A reasoner has no configuration whose keys a message could name."""
    held = StateLock(tmp_path, key="")
    with pytest.raises(EnvironmentSetupError, match=r"^The directory [^(]* is in use"):
        StateLock(tmp_path, timeout=0, key="")
    held.close()
