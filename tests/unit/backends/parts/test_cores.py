"""How many cores a state uses: as asked for, with the same results."""

from __future__ import annotations

import threading

import pytest
from typer.testing import CliRunner

from streamreasoner import Reasoner, Update
from streamreasoner.backends.parts.crew import Crew
from streamreasoner.backends.parts.here import PartsHere
from streamreasoner.cli import app
from streamreasoner.config import parse
from streamreasoner.errors import ConfigError, DataError

RULES = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"
EDGES = [Update("edge", (n, (7 * n + 3) % 90)) for n in range(90)]


@pytest.mark.parametrize("cores", [2, 3])
def test_large_epochs_are_taken_in_threads(cores, monkeypatch):
    """Whatever the threads do, the facts are those of one core; and several threads take part."""
    seen = set()
    add = PartsHere.large

    class Watched(Crew):
        """Notes the threads that take steps."""

        def take(self, step, parts):
            """Take a step in each part."""

            def watched(part):
                seen.add(threading.current_thread().name)
                step(part)

            super().take(watched, parts)

    assert add > 1
    monkeypatch.setattr(PartsHere, "large", 1)
    monkeypatch.setattr("streamreasoner.backends.parts.here.Crew", lambda _: Watched(cores))
    one, many = Reasoner.from_rules(RULES), Reasoner.from_rules(RULES, cores=cores)
    for updates in (EDGES, [Update("edge", each.args, -1) for each in EDGES[::4]]):
        one.apply(updates)
        many.apply(updates)

        assert sorted(many.facts("path")) == sorted(one.facts("path"))
        assert sorted(many.trace("path")) == sorted(one.trace("path"))
    assert len(seen) > 1


MAKING = """
whole(?x, ?n) :- edge(?x, ?y), ?n = 1000003 * ?x + ?y % 50 .
half(?x, ?n) :- edge(?x, ?y), ?n = (?x + ?y) / 16 .
name(?x, ?t) :- edge(?x, ?y), ?t = concat(to_string(?y % 700), "of", to_string(?x % 7)) .
code(?x, ?t) :- name(?x, ?s), ?t = replace(?s, "o", "0") .
mean(?x, avg(?n)) :- half(?x, ?n) .
most(?x, count(?y)) :- edge(?x, ?y) .
"""


def test_parts_add_terms_at_the_same_time(monkeypatch):
    """Each term has one id and its value, whichever parts make it, and the dictionary grows."""
    monkeypatch.setattr(PartsHere, "large", 1)
    monkeypatch.setattr("streamreasoner.backends.parts.here.Crew", lambda _: Crew(4))
    updates = [Update("edge", (n % 3000, 31 * n % 9973)) for n in range(40_000)]
    one, many = Reasoner.from_rules(MAKING), Reasoner.from_rules(MAKING, cores=4)
    for reasoner in (one, many):
        reasoner.apply(updates)
        reasoner.apply([Update("edge", each.args, -1) for each in updates[::3]])
    for name in ("whole", "half", "name", "code", "mean", "most"):
        assert sorted(many.trace(name)) == sorted(one.trace(name))
    terms = many.session.dictionary
    texts = terms.terms(0, len(terms)).to_pylist()
    assert len(set(texts)) == len(texts)


def test_a_failing_step_waits_for_the_others():
    """No part is used while a thread is in it, whichever part has failed."""
    done = threading.Event()

    def step(part):
        if part == 0:
            raise DataError("first")
        done.wait(1)
        done.set()

    with pytest.raises(DataError, match="first"):
        Crew(2).take(step, 2)
    assert done.is_set()


@pytest.mark.parametrize("cores", [0, 65, 1.5, True])
def test_what_is_not_a_number_of_cores_is_refused(cores):
    """It is said by name."""
    with pytest.raises(DataError, match="cores must be an integer from 1 to 64"):
        Reasoner.from_rules(RULES, cores=cores)


def test_a_state_is_opened_with_other_cores(tmp_path):
    """How it is divided is not stored."""
    with Reasoner.open(tmp_path / "state", RULES, cores=3) as reasoner:
        reasoner.apply(EDGES)
        facts = set(reasoner.facts("path"))
    for cores in (1, 2):
        with Reasoner.open(tmp_path / "state", cores=cores) as reasoner:
            assert set(reasoner.facts("path")) == facts


def test_the_command_and_the_key(tmp_path):
    """`materialize --cores` prints the same facts, and `pipeline.cores` is checked."""
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "edge.csv").write_text("".join(f"{e.args[0]},{e.args[1]}\n" for e in EDGES))
    files = [str(tmp_path / name) for name in ("rules.dl", "edge.csv")]
    printed = {
        CliRunner().invoke(app, ["materialize", *files, "--print", *cores]).stdout
        for cores in ([], ["--cores", "2"])
    }
    assert len(printed) == 1
    raw = {
        "kafka": {"bootstrap_servers": "h:1", "input_topics": ["i"], "output_topic": "o"},
        "rules": {"program": "rules.dl"},
        "state": {"directory": "state"},
    }
    assert parse({**raw, "pipeline": {"cores": 4}}, {}, tmp_path).pipeline.cores == 4
    with pytest.raises(ConfigError, match=r"pipeline\.cores"):
        parse({**raw, "pipeline": {"cores": 0}}, {}, tmp_path)
