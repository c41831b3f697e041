"""SIGKILL of the driver in an epoch that leaves a message out: each process leaves out the same."""

from __future__ import annotations

import duckdb
from counting import RULES, expected
from crashes import die_at, run_to_the_end
from deltalake import DeltaTable
from pipelines import changes, committed, fact, net, new_case, no_change_twice, produce
from spark_jvm import MARKS_OF_KILLED_PROCESSES

pytestmark = MARKS_OF_KILLED_PROCESSES

LIMIT = 50


def test_killed_after_the_verdict_and_in_step_1(broker, tmp_path):
    """Killed before a table has the epoch, and while some have: tables and topics agree.

    The last process could evaluate the message, but must follow the recorded verdict.
    """
    case = new_case(broker, tmp_path, RULES, rules={"recursion_limit": LIMIT})
    good = [1, 2, 3, 5]
    records = produce(case, [fact("ask", number) for number in (*good[:2], 4 * LIMIT, *good[2:])])
    die_at(case, "verdict", 0)
    case.raw["rules"]["recursion_limit"] = 10 * LIMIT
    die_at(case, "within-store", 0)
    assert changes(case) == []
    run_to_the_end(case, records)

    [letter] = committed(case, case.kafka.dead_letter_topic)
    headers = dict(letter.headers)
    assert letter.value == fact("ask", 4 * LIMIT)
    assert headers["class"] == b"epoch-failed"
    assert int(headers["offset"]) == records[2].offset
    output = changes(case)
    assert no_change_twice(output)
    derived = expected(good)
    assert net(output) == derived
    stored = duckdb.read_parquet(
        DeltaTable(case.config.state.tables / "changes").file_uris()
    ).project("predicate, args, multiplicity")
    assert {(name, tuple(args)) for name, args, _ in stored.fetchall()} == derived
