"""Rules that change while the pipeline runs, on real Kafka, Spark and Delta."""

from __future__ import annotations

import logging
import random
import uuid
from collections import Counter

import duckdb
import oracle
import pytest
import sparql_judge
from control_builders import control
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    committed,
    fact,
    net,
    new_case,
    no_change_twice,
    produce,
    published,
    triple,
)
from spark_jvm import MARKS
from sparql_judge import comparable
from sparql_judge import fact as rdf_fact
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import BrokerError, ProgramError, StateError
from streamreasoner.io.kafka.topics import create_topics
from streamreasoner.pipeline.control import Operation, write_control
from streamreasoner.program import check_text
from streamreasoner.program.checked import check_query
from streamreasoner.program.text import canonical_text
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
FAR = "far(?x, ?y) :- path(?x, ?y), not edge(?x, ?y) .\n"
WAIT = ("--wait", "--timeout", str(DEADLINE_SECONDS))
QUERY = """
PREFIX ex: <http://example.org/>
SELECT ?x ?y ?name WHERE {
  ?x ex:to+ ?y
  FILTER NOT EXISTS { ?y ex:shut true }
  OPTIONAL { ?y ex:name ?name }
}
"""
CHANGED = QUERY.replace("ex:to+", "ex:to")
DEGREE = "degree(?x, count(?y)) :- edge(?x, ?y), marked(?y) .\n"


def command(case, *arguments):
    """Exit code and output of a command of the command line."""
    result = CliRunner().invoke(app, ["rules", *arguments, "--config", str(case.file)])
    if result.exception is not None:
        raise result.exception
    return result.exit_code, result.output


def rules_of(query):
    """The rules of a query, as the command sends them."""
    return canonical_text(check_query(query, "reachable.rq", "reachable").programs)


def updates(seed):
    """Random updates as (predicate, canonical arguments, diff)."""
    rng = random.Random(seed)
    node = [f"<http://example.org/n{number}>" for number in range(6)]
    for _ in range(40):
        diff = rng.choice((1, 1, 1, -1))
        if rng.random() < 0.7:
            yield "edge", (rng.choice(node), rng.choice(node)), diff
        else:
            yield "marked", (rng.choice(node),), diff


class Run:
    """A pipeline, the input sent to it, and its expected output."""

    def __init__(self, case):
        self.case = case
        self.topic = case.config.rules.control_topic
        self.accepted = Counter()
        self.rules = RULES

    def control(self, *values):
        """Send control messages and wait for them."""
        await_published(self.case, produce(self.case, values, self.topic))

    def change(self, operation, rules, name="change.dl"):
        """Change the program by the command line and wait until it is in effect."""
        file = self.case.directory / name
        file.write_text(rules)
        before = published(self.case, self.topic).get(0, 0)
        code, output = command(self.case, operation, str(file), *WAIT)
        assert code == 0, output
        assert output.endswith("The change is in effect.\n")
        assert published(self.case, self.topic)[0] == before + 1

    def updates(self, seed):
        """Send updates and wait for them."""
        arities = check_text(self.rules).arities
        now = list(updates(seed))
        for predicate, args, diff in now:
            if predicate in arities:
                self.accepted[predicate, args] += diff
        sent = produce(
            self.case, (fact(predicate, *args, diff=diff) for predicate, args, diff in now)
        )
        await_published(self.case, sent)

    def triples(self, diff, *triples):
        """Assert or retract triples, and check the answers of the query on those that remain."""
        found = [rdf_fact((f"ex:{s}", f"ex:{p}", o, "")) for s, p, o in triples]
        for each in found:
            self.accepted["triple", each] += diff
        await_published(self.case, produce(self.case, (triple(*each, diff) for each in found)))
        present = [each for (name, each), n in self.accepted.items() if name == "triple" and n]
        assert self.answers() == sparql_judge.answers(sparql_judge.store(present), QUERY)

    def answers(self):
        """The answers of the query that the output sums to."""
        output = changes(self.case)
        assert no_change_twice(output)
        return {tuple(map(comparable, each)) for name, each in net(output) if name == "reachable"}

    def check(self):
        """The output sums to what the program derives from scratch."""
        program = check_text(self.rules)
        known = Counter(
            {fact: n for fact, n in self.accepted.items() if fact[0] in program.arities}
        )
        output = changes(self.case)
        assert no_change_twice(output)
        assert net(output) == oracle.derived(oracle.evaluate(program, known))


@pytest.fixture(scope="module")
def run(broker, tmp_path_factory):
    """A pipeline with a control topic."""
    rules = {"control_topic": f"control-{uuid.uuid4().hex[:12]}", "recursion_limit": 50}
    return Run(new_case(broker, tmp_path_factory.mktemp("rules"), RULES, rules=rules))


@pytest.fixture(scope="module")
def history(run):
    """Rules are added, removed and replaced by the command line while updates flow."""
    with pipeline(run.case.config):
        run.updates(1)
        run.check()
        run.change("add", FAR)
        run.rules = RULES + FAR
        run.check()
        run.updates(2)
        run.check()
        run.change("remove", FAR.replace("far(", " far("))
        run.rules = RULES
        run.check()
        assert {sign for (name, _), sign, _ in changes(run.case) if name == "far"} == {1, -1}
        ask(run)
        (run.case.directory / "imported.dl").write_text(DEGREE)
        run.change("replace", f'@import "imported.dl" .\n{FAR}{RULES}')
        run.rules = RULES + FAR + DEGREE
        run.updates(3)
        run.check()
    return run


def ask(run):
    """A query is added and removed by the command line; meanwhile its answers come and go."""
    run.change("add", QUERY, "reachable.rq")
    run.triples(1, ("a", "to", "ex:b"), ("b", "to", "ex:c"), ("c", "to", "ex:a"))
    run.triples(1, ("b", "name", '"B"'), ("c", "shut", "true"))
    run.triples(-1, ("a", "to", "ex:b"), ("c", "shut", "true"))
    (run.case.directory / "reachable.rq").write_text(CHANGED)
    with pytest.raises(ProgramError, match="To change a query, first remove the one"):
        command(run.case, "add", str(run.case.directory / "reachable.rq"), *WAIT)
    assert run.answers()
    run.change("remove", QUERY, "reachable.rq")
    assert not run.answers()
    run.check()


def test_consequences_follow_the_rules(history):
    """Facts of new rules appear, those of removed rules disappear, each in one epoch."""
    output = changes(history.case)
    by_epoch = {}
    for (name, _), sign, epoch in output:
        by_epoch.setdefault(epoch, set()).add((name, sign))
    assert {("far", 1)} in by_epoch.values()
    assert {("far", -1)} in by_epoch.values()
    assert {("reachable", 1)} in by_epoch.values()
    assert {("reachable", 1), ("reachable", -1)} in by_epoch.values()
    assert {("reachable", -1)} in by_epoch.values()


def test_programs_are_in_the_table(history):
    """Each program is stored with its first epoch, readable by another reader."""
    files = history.case.config.state.tables / "programs"
    rows = duckdb.read_parquet(f"{files}/*.parquet").project("epoch, hash").order("epoch")
    asked = RULES + rules_of(QUERY)
    texts = (RULES, RULES + FAR, RULES, asked, RULES, history.rules)
    hashes = [check_text(rules).hash for rules in texts]
    programs = rows.fetchall()
    assert [value for _, value in programs] == hashes
    assert programs[0][0] == -1
    markers = committed(history.case, history.case.kafka.progress_topic)
    assert hashes[-1].encode() in markers[-1].value
    code, output = command(history.case, "show")
    assert code == 0, output
    assert output.startswith(f"% in effect from epoch {programs[-1][0]} on; hash {hashes[-1]}\n")
    assert check_text(output).hash == hashes[-1]


def test_a_restart_continues_with_the_changed_program(history, caplog):
    """The configured file has an earlier program: a warning names the one in effect."""
    with caplog.at_level(logging.INFO, "streamreasoner"), pipeline(history.case.config):
        history.updates(4)
        history.check()
        endless = control("add", "n(?m) :- n(?k), ?m = ?k + 1 .")
        refused = [
            control("add", "far(?x) :- edge(?x, ?y) ."),
            control("remove", FAR.replace("?x", "?v")),
            control("add", '@import "imported.dl" .'),
            control("add", "more(?x) :- far(?x, _) ."),
            control("delete", FAR),
            control("add", "n(0) . n(?m) :- n(?k), ?m = ?k + 1, ?m < 10 ."),
        ]
        history.control(*refused)
        history.control(endless)
        absent = history.case.directory / "absent.dl"
        absent.write_text("nowhere(?x) :- edge(?x, ?y) .")
        with pytest.raises(ProgramError, match=r"unknown-rule: .*\s+nowhere"):
            command(history.case, "remove", str(absent), *WAIT)
        history.rules += "more(?x) :- far(?x, _) . n(0) . n(?m) :- n(?k), ?m = ?k + 1, ?m < 10 .\n"
        history.updates(5)
        history.check()
    logged = [record.getMessage() for record in caplog.records]
    (warning,) = [line for line in logged if "not that of rules.program" in line]
    assert "rules replace" in warning
    in_effect = f"The program {check_text(history.rules).hash[:12]} is in effect from epoch"
    assert [line for line in logged if line.startswith(in_effect)]
    assert any(line.startswith("Rejected: ") and "1 rules-refused" in line for line in logged)
    letters = [
        (dict(letter.headers)["class"].decode(), letter.value)
        for letter in committed(history.case, history.case.kafka.dead_letter_topic)
        if dict(letter.headers)["topic"].decode() == history.topic
    ]
    assert letters == [
        (
            "rules-refused",
            write_control(Operation.ADD, rules_of(CHANGED), "reachable.rq", "reachable"),
        ),
        ("rules-refused", refused[0]),
        ("unknown-rule", refused[1]),
        ("import-of-a-file", refused[2]),
        ("unknown-operation", refused[4]),
        ("epoch-failed", endless),
        ("unknown-rule", write_control(Operation.REMOVE, absent.read_text(), absent.name)),
    ]


def test_dead_letters_are_shown_with_their_reasons(history):
    """Reasons are on standard error or among the headers; values are shown unchanged."""
    topic = history.case.kafka.dead_letter_topic
    [first, *_] = committed(history.case, topic)
    arguments = ["consume", "--config", str(history.case.file), "--topic", topic]
    arguments += ["--from-beginning", "--count", "1"]
    plain = CliRunner().invoke(app, arguments)
    assert plain.stdout_bytes == first.value + b"\n"
    sent = {name: value.decode() for name, value in first.headers}
    place = "/".join(sent[name] for name in ("topic", "partition", "offset"))
    assert plain.stderr.startswith(f"{place}: {sent['class']}: {sent['reason'][:20]}")
    *headers, value = CliRunner().invoke(app, [*arguments, "--headers"]).stdout_bytes.splitlines()
    assert value == first.value
    headers_shown = dict(line.removeprefix(b"# ").split(b": ", 1) for line in headers)
    assert headers_shown[b"class"].decode() == sent["class"]
    assert headers_shown[b"topic"].decode() == sent["topic"]
    assert headers_shown[b"reason"].replace(b"\\n", b"\n").decode() == sent["reason"]


def test_a_file_that_was_never_in_effect_is_refused(history):
    """The message names the control topic; an earlier program in effect is accepted."""
    rules = history.case.directory / "rules.dl"
    rules.write_text(RULES + DEGREE)
    with (
        pytest.raises(StateError, match=r"another program.*control_topic"),
        pipeline(history.case.config),
    ):
        pass
    rules.write_text(RULES)


def test_a_control_topic_needs_one_partition(broker, tmp_path):
    """Several partitions would leave the order of changes undefined."""
    name = f"control-{uuid.uuid4().hex[:12]}"
    case = new_case(broker, tmp_path, RULES, rules={"control_topic": name}, topics=False)
    with pytest.raises(BrokerError, match=r"rules\.control_topic"), pipeline(case.config):
        pass
    create_topics(case.kafka, 2, 1)
    other = new_case(broker, tmp_path, RULES, kafka={"input_topics": [name]}, topics=False)
    create_topics(other.kafka, 3, 1)
    with (
        pytest.raises(BrokerError, match=r"has 3 partitions.*order of changes"),
        pipeline(case.config),
    ):
        pass
