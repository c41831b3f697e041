"""`streamreasoner rules` on a real broker: a mistake is reported before anything is sent."""

from __future__ import annotations

import uuid

import pytest
from pipelines import committed, new_case
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import ConfigError, ProgramError, StateError, StreamReasonerError
from streamreasoner.io.codec.encode import Message
from streamreasoner.io.kafka.control_outcomes import ControlOutcomes
from streamreasoner.io.kafka.sink import Publication, Sink
from streamreasoner.pipeline.control import Operation, read_control
from streamreasoner.program import check_text
from streamreasoner.state.record import EpochRecord


@pytest.fixture(scope="module")
def case(broker, tmp_path_factory):
    """A case with a control topic whose pipeline never runs."""
    rules = {"control_topic": f"control-{uuid.uuid4().hex[:12]}"}
    case = new_case(broker, tmp_path_factory.mktemp("command"), "p(1) .", rules=rules)
    (case.directory / "good.dl").write_text("@prefix e: <http://e/> . q(e:x, ?y) :- p(?y) .")
    return case


def run(case, operation, rules):
    """Run a command on a file of rules."""
    (case.directory / "mine.dl").write_text(rules)
    files = [str(case.directory / "mine.dl")] if operation != "show" else []
    return CliRunner().invoke(app, ["rules", operation, *files, "--config", str(case.file)])


@pytest.mark.parametrize(
    ("operation", "rules", "kind", "words"),
    [
        ("add", "p(?x) :- q(?x", ProgramError, "mine.dl:1:"),
        ("add", "p(?y) :- q(?x) .", ProgramError, "SR"),
        ("add", '@import "good.dl" . p(2) .', ProgramError, 'the file "good.dl"'),
        ("add", '@import "none.dl" . p(2) .', ProgramError, "SR222"),
        ("remove", "p(?x)", ProgramError, "mine.dl:1:"),
        ("remove", '@import "good.dl" .', ProgramError, 'the file "good.dl"'),
        ("replace", "@output nothing .", ProgramError, "SR211"),
        ("replace", f"p('{'x' * 110_000}') .", ConfigError, "pipeline.max_term_bytes"),
        ("show", "", StateError, "no pipeline has used this state yet"),
    ],
)
def test_mistakes_are_reported_before_anything_is_sent(case, operation, rules, kind, words):
    """Mistakes of syntax, meaning, files and size are one error each, with its place if any."""
    before = len(committed(case, case.config.rules.control_topic))
    error = run(case, operation, rules).exception
    assert isinstance(error, kind), error
    assert words in str(error)
    assert len(committed(case, case.config.rules.control_topic)) == before


@pytest.mark.parametrize(
    ("operation", "rules"),
    [
        ("add", "@output path . p(1) ."),
        ("add", '@import "rdfs" .'),
        ("remove", "p(?x) :- q(?x) ."),
    ],
)
def test_rules_are_sent_unchanged(case, operation, rules):
    """Outputs, rulesets and rules to remove are checked by the pipeline, not the command."""
    assert "Sent to" in run(case, operation, rules).output
    *_, last = committed(case, case.config.rules.control_topic)
    message = read_control(last.value)
    assert (message.operation, message.rules, message.source) == (
        Operation(operation),
        rules,
        "mine.dl",
    )


def test_a_query_is_sent_as_its_rules(case):
    """With the name of its answers, by which the pipeline knows that it is new."""
    (case.directory / "mine.rq").write_text("SELECT ?x { ?x <http://e/p> ?y }")
    for operation, options, name in (("add", [], "mine"), ("remove", ["--name", "other"], "other")):
        arguments = ["rules", operation, str(case.directory / "mine.rq"), *options]
        assert "Sent to" in CliRunner().invoke(app, [*arguments, "--config", str(case.file)]).output
        *_, last = committed(case, case.config.rules.control_topic)
        message = read_control(last.value)
        assert (message.operation.value, message.query) == (operation, name)
        assert message.rules == f"{name}(?x) :- [?x, <http://e/p>, _] .\n"


def test_a_whole_program_is_sent_with_its_imports(case):
    """The command replaces imports of files by their rules."""
    rules = "p(2) .\nr(?unused) :- p(?unused), q(?once, 1) ."
    output = run(case, "replace", f'@import "good.dl" .\n{rules}').output
    assert "SR5" in output
    *_, last = committed(case, case.config.rules.control_topic)
    message = read_control(last.value)
    assert "@import" not in message.rules
    same = f"{rules} q(<http://e/x>, ?y) :- p(?y) ."
    assert check_text(message.rules).hash == check_text(same).hash


def test_waiting_times_out(case):
    """A timeout reports that no pipeline has read the message, which is sent."""
    before = len(committed(case, case.config.rules.control_topic))
    (case.directory / "mine.dl").write_text("p(3) .")
    arguments = ["rules", "add", str(case.directory / "mine.dl"), "--config", str(case.file)]
    error = CliRunner().invoke(app, [*arguments, "--wait", "--timeout", "0"]).exception
    assert isinstance(error, StreamReasonerError)
    assert f"has not read offset {before} of" in str(error)
    assert len(committed(case, case.config.rules.control_topic)) == before + 1


def test_an_answer_comes_from_a_published_epoch(case):
    """A message of the epoch was applied, unless a dead letter of the same epoch says why not."""
    app_id, topic = f"answers-{uuid.uuid4().hex[:12]}", case.config.rules.control_topic
    headers = {"class": "rules-refused", "reason": "No.", "topic": topic}
    headers |= {"partition": "0", "offset": "1"}
    letter = Message(b"x", None, [(name, text.encode()) for name, text in headers.items()])
    sink = Sink(case.kafka, app_id, 60)
    sink.start()
    with ControlOutcomes(case.kafka, app_id) as answers:
        with pytest.raises(StreamReasonerError, match="has not read offset 0 of"):
            answers.why_rejected(topic, 0, 0)
        marker = EpochRecord(0, {topic: {"0": [0, 2]}}, "hash")
        sink.publish(Publication([], [letter], marker))

        assert answers.why_rejected(topic, 1, 60) == "rules-refused: No."
        assert answers.why_rejected(topic, 0, 60) is None
        with pytest.raises(StreamReasonerError, match="has not read offset 2 of"):
            answers.why_rejected(topic, 2, 0)
    sink.close()


def test_a_pipeline_without_a_control_topic(broker, tmp_path):
    """The message names the key and the remedy."""
    case = new_case(broker, tmp_path, "p(1) .", topics=False)
    error = run(case, "add", "p(2) .").exception
    assert isinstance(error, ConfigError)
    assert "rules.control_topic is not set" in str(error)
