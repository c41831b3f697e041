"""Mistakes of users: one clear message, exit code 1, no traceback, nothing left running."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from pipelines import fact, new_case, produce, recreate, spawn
from thorough import THOROUGH

from streamreasoner.cli import main

# Settings of Spark with a value that it refuses when it starts.
REFUSED = {
    "spark.driver.memory": "banana",
    "spark.master": "local[x]",
    "spark.network.crypto.enabled": "true",
    "spark.serializer": "com.example.None",
    "spark.task.cpus": "many",
    "spark.local.dir": "/proc/none",
    "spark.sql.shuffle.partitions": "two",
    "spark.sql.session.timeZone": "Mars",
    "spark.eventLog.enabled": "true",
    "spark.driver.port": "99999",
    "spark.plugins": "com.example.Plugin",
    "spark.extraListeners": "com.example.Listener",
    "spark.driver.bindAddress": "203.0.113.7",
}
USUAL = {"spark.driver.memory", "spark.sql.session.timeZone"}
RULES = "path(?x, ?y) :- edge(?x, ?y) .\n"


@pytest.fixture
def run(monkeypatch, capsys, own_log):
    """Runs `streamreasoner run` in this process: exit code and output."""
    del own_log

    def call(case):
        monkeypatch.setattr(sys, "argv", ["streamreasoner", "run", "--config", str(case.file)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, "".join(capsys.readouterr())

    return call


def run_process(case):
    """Exit code and output of a process."""
    process = spawn(["-m", "streamreasoner", "run", "--config", case.file], subprocess.PIPE)
    try:
        output, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    return process.returncode, (output + errors).decode()


def assert_refused(answer, *words):
    """The output is one error message with these words."""
    code, output = answer
    assert code == 1, output
    assert output.startswith("error: ")
    assert output.count("error:") == 1
    assert "Traceback" not in output
    for word in words:
        assert word in output, output


@pytest.fixture
def case(broker, tmp_path):
    """A good case to spoil."""
    return new_case(broker, tmp_path, RULES)


def test_unknown_key(case):
    """A misspelt key is reported."""
    case.raw["kafka"]["output_topik"] = "x"
    assert_refused(run_process(case), "kafka.output_topik", "Did you mean output_topic?")


def test_environment_variable_with_a_wrong_value(run, case, monkeypatch):
    """The variable is named, not only the key."""
    monkeypatch.setenv("STREAMREASONER_SERVER__PORT", "metrics")
    assert_refused(run(case), "STREAMREASONER_SERVER__PORT", "0 to 65535")


def test_unreachable_broker(run, case):
    """The address and its key are named."""
    case.raw["kafka"]["bootstrap_servers"] = "127.0.0.1:1"
    assert_refused(run(case), "127.0.0.1:1", "kafka.bootstrap_servers", "did not answer")


def test_unknown_client_option(run, case):
    """The refusal names the option and the table it may be in."""
    case.raw["kafka"]["producer_options"] = {"acsk": "all"}
    assert_refused(run(case), "acsk", "kafka.producer_options")


def test_missing_topics(run, broker, tmp_path):
    """All missing topics are named with their keys, and the command that creates them."""
    case = new_case(broker, tmp_path, RULES, topics=False)
    words = [f"{case.kafka.output_topic} (kafka.output_topic)", "streamreasoner topics create"]
    assert_refused(run(case), case.kafka.input_topics[0], *words)


def test_changes_for_a_compacted_topic(run, broker, tmp_path):
    """Kafka would delete changes, and refuse messages without a key."""
    case = new_case(broker, tmp_path, RULES)
    recreate(case, case.kafka.output_topic, configs={"cleanup.policy": "compact,delete"})
    words = ["(kafka.output_topic) has cleanup.policy=compact,delete", "add-config cleanup.policy="]
    words.append('output.envelope = "upsert"')
    assert_refused(run(case), case.kafka.output_topic, *words)
    recreate(case, case.kafka.output_topic)
    recreate(case, case.kafka.violations_topic, configs={"cleanup.policy": "compact"})
    assert_refused(run(case), "(kafka.violations_topic) has cleanup.policy=compact, but")


def test_facts_for_a_topic_that_kafka_deletes_from(run, broker, tmp_path):
    """With a limit in time, present facts would go; without compaction, nothing would."""
    case = new_case(broker, tmp_path, RULES, output={"envelope": "upsert"})
    for policy in ("delete", "compact,delete"):
        recreate(case, case.kafka.output_topic, configs={"cleanup.policy": policy})
        words = [f"has cleanup.policy={policy}; it must be compact", "cleanup.policy=compact. Or"]
        assert_refused(run(case), '(kafka.output_topic; output.envelope = "upsert")', *words)


def test_wrong_rules(run, case):
    """The diagnostics name file, line and column."""
    (case.directory / "rules.dl").write_text("path(?x, ?y) :- edge(?x, ?z) .\n")
    assert_refused(run(case), "rules.dl:1:", "SR")


def test_a_mapping_that_does_not_fit_the_rules(run, case, monkeypatch):
    """The fact is named by its key, and the predicates of the program are listed."""
    topic = case.kafka.input_topics[0]
    fact_of_row = '{ predicate = "edges", args = ["a", "b"] }'
    mapping = f'{{ cells = {{ topic = "{topic}", facts = [{fact_of_row}] }} }}'
    monkeypatch.setenv("STREAMREASONER_INPUT__MAP", mapping)
    problem = "input.map.cells.facts[0]: the program has no predicate 'edges'; did you mean 'edge'?"
    assert_refused(run(case), problem)


def test_missing_rules(run, case):
    """The file is named."""
    (case.directory / "rules.dl").unlink()
    assert_refused(run(case), "rules.dl")


def test_problems_that_do_not_depend_on_each_other_are_one_message(run, case):
    """A dead broker, a missing program and a directory that is in use are named at once."""
    case.raw["kafka"]["bootstrap_servers"] = "127.0.0.1:1"
    case.raw["rules"]["program"] = "absent.dl"
    blocked = case.directory / "blocked"
    blocked.write_text("")
    case.raw["state"]["directory"] = str(blocked)
    assert_refused(run(case), "127.0.0.1:1", "absent.dl", f"{blocked} (state.directory)")


def test_missing_java(run, case, monkeypatch, tmp_path):
    """The message names the Java that is needed and where it was searched for."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert_refused(run(case), "Java was not found", "17")


def test_port_in_use(run, case):
    """The port and its key are named."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        case.raw["server"]["port"] = port
        assert_refused(run(case), str(port), "server.port")


def test_state_directory_that_cannot_be_used(run, case):
    """A file where the directory should be."""
    (case.directory / "state").write_text("")
    assert_refused(run(case), "state.directory")


def test_an_epoch_that_fails(broker, tmp_path):
    """Rules that fail without any message end the pipeline; the error names the limit."""
    rules = "@input edge/2 .\nnumber(0) .\nnumber(?m) :- number(?n), ?m = ?n + 1 .\n"
    case = new_case(broker, tmp_path, rules, rules={"recursion_limit": 30}, log={"level": "error"})
    produce(case, [fact("edge", "<http://e/1>", "<http://e/2>")])
    assert_refused(run_process(case), "recursion_limit")


@pytest.mark.parametrize(
    ("name", "value"), [each for each in REFUSED.items() if THOROUGH or each[0] in USUAL]
)
def test_spark_that_does_not_start(case, name, value):
    """A setting that Spark refuses is named, with what Spark said and without the stack."""
    case.raw["log"] = {"level": "error"}
    case.raw["spark"] = {"options": {name: value}}
    answer = run_process(case)
    assert_refused(answer, "Spark does not start. It says:\n", name)
    assert "\n\tat " not in answer[1]
