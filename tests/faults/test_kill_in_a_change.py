"""SIGKILL of the driver in epochs that change the program: nothing is lost, duplicated or mixed."""

from __future__ import annotations

import random
import uuid
from collections import Counter

import duckdb
from control_builders import control
from crashes import die_at, run_to_the_end
from deltalake import DeltaTable
from graphs import RULES, expected, random_edges
from pipelines import (
    changes,
    committed,
    net,
    new_case,
    no_change_twice,
    produce,
    triple,
)
from serving import ask, serving
from spark_jvm import MARKS_OF_KILLED_PROCESSES
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.program import check_text
from streamreasoner.state import programs

pytestmark = MARKS_OF_KILLED_PROCESSES

PREFIX = "@prefix ex: <http://example.org/> .\n"
# All of these have helpers, and two of them share one, which is there when the other is added.
CYCLE = (
    f"{PREFIX}[?x, ex:on, ex:cycle] :-"
    " [?x, ex:reaches, _], count() { [?x, ex:reaches, ?x] } > 0 .\n"
)
SIZE = """
size(?x, ?n) :- [?x, ex:reaches, _], ?n = count(?y) { [?x, ex:reaches, ?y] } .
loops(?x, ?n) :- [?x, ex:next, _], ?n = count() { [?x, ex:reaches, ?x] } .
step(?x, ?i, if(?i > 3, "far", coalesce(to_number(str(?x)), "near"))) :-
    size(?x, ?n), ?i = range(1, 9), ?i <= ?n .
weight(?n) :- ?n = sum(?y) { [_, ex:weight, ?y] } .
"""
LAST = f"{RULES}{SIZE}"
# One control message per epoch, and the point at which the process is killed, if any.
CHANGES = (
    (control("add", CYCLE), "without-program"),
    (control("remove", "no(?x) :- such(?x) ."), None),
    (control("replace", LAST), None),
    (control("add", CYCLE), "publish"),
)


def test_killed_in_epochs_that_change_the_program(broker, tmp_path):
    """Killed while `programs` lacks the epoch, and when it is published but not committed.

    The output, the dead letters and the tables are those of a run without crashes.
    """
    topic = f"control-{uuid.uuid4().hex[:12]}"
    case = new_case(
        broker,
        tmp_path,
        RULES,
        rules={"control_topic": topic},
        pipeline={"max_offsets_per_trigger": 10},
    )
    sent = list(random_edges(random.Random(7), 60))
    records = produce(case, (triple(*args, diff=diff) for args, diff in sent))
    records += produce(case, [value for value, _ in CHANGES], topic)
    for epoch, (_, point) in enumerate(CHANGES):
        if point is not None:
            die_at(case, point, epoch)
            assert no_change_twice(changes(case))
    run_to_the_end(case, records)

    output = changes(case)
    last = LAST + CYCLE.replace(PREFIX, "")
    assert no_change_twice(output)
    assert net(output) == expected(sent, last)
    letters = [dict(letter.headers) for letter in committed(case, case.kafka.dead_letter_topic)]
    assert [(letter["class"], letter["offset"]) for letter in letters] == [(b"unknown-rule", b"1")]

    tables = case.config.state.tables
    hashes = [check_text(rules).hash for rules in (RULES, RULES + CYCLE, LAST)] + [
        check_text(last).hash
    ]
    assert [(epoch, program.hash) for epoch, program in programs.read(tables / "programs")] == list(
        zip((-1, 0, 2, 3), hashes, strict=True)
    )
    # A killed process may leave files that are not part of the table.
    stored = duckdb.read_parquet(DeltaTable(tables / "changes").file_uris())
    rows = stored.project("predicate, args, multiplicity, epoch").fetchall()
    assert Counter(
        ((name, tuple(args)), diff, epoch) for name, args, diff, epoch in rows
    ) == Counter(output)
    assert_only_the_program_is_shown(case, check_text(last), sent)


def assert_only_the_program_is_shown(case, program, sent):
    """Readers of the state see the facts of the program, and no helper."""
    sums = Counter()
    for args, diff in sent:
        sums["triple", args] += diff
    facts = expected(sent, program.program.text) | {fact for fact, n in sums.items() if n > 0}
    counts = Counter(predicate for predicate, _ in facts)
    (helper, *_) = program.helpers
    with serving(case.config.state.tables) as port:
        listed = ask(port, "/facts").json["predicates"]
        assert {each["predicate"]: each["facts"] for each in listed} == {
            name: counts[name] for name in program.arities
        }
        assert ask(port, "/facts", predicate=helper).status == 404
    result = CliRunner().invoke(app, ["state", "--config", str(case.file)])
    assert result.exit_code == 0, result.output
    assert f"{len(facts)} facts at the end of epoch" in result.stderr
    assert "#" not in result.stdout
