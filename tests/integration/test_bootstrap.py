"""A state that was loaded from files is that of a pipeline which read the facts as messages."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path

import pytest
from faults.bootstrap_driver import POINTS
from graphs import RULES, expected, random_edges
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    committed,
    net,
    new_case,
    no_change_twice,
    produce,
    running,
    triple,
)
from spark_jvm import MARKS
from thorough import THOROUGH
from typer.testing import CliRunner

from streamreasoner import cli
from streamreasoner.backends.columnar import arena
from streamreasoner.errors import (
    ConfigError,
    DataError,
    EnvironmentSetupError,
    StateError,
    StreamReasonerError,
)
from streamreasoner.history.epochs import Past
from streamreasoner.service.assemble import pipeline
from streamreasoner.service.supervise import run
from streamreasoner.state.lock import StateLock
from streamreasoner.system.stopping import Stop

pytestmark = MARKS

DRIVER = Path(__file__).parents[1] / "faults" / "bootstrap_driver.py"
KILLS = POINTS if THOROUGH else ("within-store", "within-publish", "committed")


def invoke(case, command, *arguments):
    """Run a command in this process; its error is raised."""
    words = [command, "--config", str(case.file), *map(str, arguments)]
    result = CliRunner().invoke(cli.app, words)
    if result.exception is not None:
        raise result.exception
    return result


def patch(path, updates):
    """Write updates of triples as a patch."""
    lines = (f"{'A' if diff > 0 else 'D'} {' '.join(args)} .\n" for args, diff in updates)
    path.write_text("".join(lines))
    return path


def messages(updates):
    """The same as messages."""
    return [triple(*args, diff=diff) for args, diff in updates]


def trace(case):
    """The trace at the end, (predicate, terms, iteration) -> multiplicity."""
    past = Past(case.config.state.tables)
    terms = past.terms()
    return {
        (rows.predicate, *terms.decode(args).to_pylist(), int(iteration)): int(multiplicity)
        for rows in past.trace(past.last, {"triple"})
        for args, iteration, multiplicity in zip(
            rows.args, rows.iteration, rows.multiplicity, strict=True
        )
    }


@pytest.mark.parametrize(
    "addressable", [arena.ADDRESSABLE_UNITS, 200], ids=["one store", "ever more parts"]
)
def test_files_and_then_messages_equal_messages(broker, tmp_path, monkeypatch, caplog, addressable):
    """Facts, multiplicities, iterations, and what is published; also if records need parts."""
    monkeypatch.setattr(arena, "ADDRESSABLE_UNITS", addressable)
    rng = random.Random("columnar")
    before, after = [*random_edges(rng, 30)], [*random_edges(rng, 15)]
    loaded = new_case(broker, tmp_path / "loaded", RULES, pipeline={"backend": "auto"})
    file = patch(tmp_path / "facts.rdfp", before)
    said = invoke(loaded, "bootstrap", file, "--facts-per-epoch", 13)
    assert "Loaded 30 facts in 3 epochs. Go on" in said.stdout
    assert net(changes(loaded)) == expected(before)
    assert ("divided among" in caplog.text) == (addressable == 200)
    monkeypatch.undo()
    with pipeline(loaded.config):
        await_published(loaded, produce(loaded, messages(after)))
    sent = new_case(broker, tmp_path / "sent", RULES)
    with pipeline(sent.config):
        await_published(sent, produce(sent, messages([*before, *after])))
    assert trace(loaded) == trace(sent)
    output = changes(loaded)
    assert net(output) == net(changes(sent)) == expected([*before, *after])
    assert no_change_twice(output)
    assert len({epoch for *_, epoch in output}) > 2


def test_a_bootstrap_that_is_killed_goes_on(broker, tmp_path):
    """Killed at every durable step in turn, and run again each time, it loads every fact once."""
    case = new_case(broker, tmp_path, RULES)
    updates = [*random_edges(random.Random(4), 4 * (len(POINTS) + 2))]
    file = patch(tmp_path / "facts.rdfp", updates)
    for number, point in enumerate(KILLS):
        with running([DRIVER, case.file, file, point, number], case) as process:
            code = process.wait(DEADLINE_SECONDS)
            assert code == -signal.SIGKILL, (tmp_path / "driver.log").read_text()
        with pytest.raises(StateError, match="was interrupted"):
            run(case.config, Stop())
    for command in (["rebuild", "--into", tmp_path / "new"], ["purge", "--term", "<urn:a>"]):
        with pytest.raises(StateError, match="was interrupted"):
            invoke(case, *command)
    with pytest.raises(StateError, match=r"was interrupted .*facts per epoch: 4, not 5"):
        invoke(case, "bootstrap", file, "--facts-per-epoch", 5)
    text = file.read_text()
    file.write_text(text + text)
    with pytest.raises(StateError, match=r"sources: .*SHA-256 .* not .*SHA-256"):
        invoke(case, "bootstrap", file, "--facts-per-epoch", 4)
    file.write_text(text)
    invoke(case, "bootstrap", file, "--facts-per-epoch", 4)
    with pytest.raises(StateError, match="has been loaded already"):
        invoke(case, "bootstrap", file, "--facts-per-epoch", 4)
    assert not case.config.state.pieces.exists()
    output = changes(case)
    assert no_change_twice(output)
    assert net(output) == expected(updates)
    with pipeline(case.config):
        await_published(case, produce(case, messages(updates[:5])))
    assert net(changes(case)) == expected([*updates, *updates[:5]])
    assert net(changes(case)[: len(output)]) == net(output)


def test_a_pipeline_begins_with_a_snapshot_of_another(broker, tmp_path):
    """Its input begins where the snapshot ends, and it publishes facts under keys."""
    first = new_case(broker, tmp_path / "first", RULES)
    topic = first.kafka.output_topic
    second = new_case(
        broker,
        tmp_path / "second",
        "@prefix ex: <http://example.org/> .\n[?y, ex:reached, ?x] :- [?x, ex:reaches, ?y] .",
        kafka={"input_topics": [topic]},
        output={"envelope": "upsert", "include": "all"},
    )
    names = [f"<http://example.org/n{number}>" for number in range(6)]
    edges = [(names[n], "<http://example.org/next>", names[n + 1]) for n in range(5)]
    updates = [*((edge, 1) for edge in edges[:4]), (edges[1], -1), (edges[4], 1)]
    facts, position = tmp_path / "facts.nq", tmp_path / "position.json"
    with pipeline(first.config):
        await_published(first, produce(first, messages(updates[:4])))
        invoke(first, "snapshot", "--format", "nquads", "--output", facts, "--offsets", position)
        await_published(first, produce(first, messages(updates[4:])))
    invoke(second, "bootstrap", facts, "--starting-offsets", position)
    # Only messages behind the snapshot are read.
    starts = json.loads(position.read_text())["offsets"][topic]
    later = [each for each in committed(first, topic) if each.offset >= starts[str(each.partition)]]
    assert 0 < len(later) < len(changes(first))
    with pipeline(second.config):
        await_published(second, later)
    latest = {
        message.key: message.value for message in committed(second, second.kafka.output_topic)
    }
    found = {tuple(json.loads(key)[1:]) for key, value in latest.items() if value is not None}
    reaches = {args for _, args in expected(updates)}
    assert found == reaches | {(o, "<http://example.org/reached>", s) for s, _, o in reaches}

    # The state itself is a source too, alongside its pipeline.
    third = new_case(broker, tmp_path / "third", RULES, output={"include": "all"})
    lock = StateLock(first.config.state.directory)
    try:
        invoke(third, "bootstrap", first.config.state.directory, "--no-publish")
    finally:
        lock.close()
    assert changes(third) == []
    said = invoke(third, "state", "--format", "json").stdout.splitlines()
    assert said == invoke(first, "state", "--format", "json").stdout.splitlines()


def test_facts_of_a_topic_with_sets_are_retracted_by_it(broker, tmp_path):
    """They count as its assertions: a repeated one changes nothing, and one retraction suffices."""
    case = new_case(broker, tmp_path, RULES, input={"semantics": "set"})
    file = tmp_path / "facts.nt"
    edge = ("<urn:a>", "<http://example.org/next>", "<urn:b>")
    file.write_text(f"{' '.join(edge)} .\n" * 2)
    with pytest.raises(ConfigError, match=f"--topic {case.kafka.input_topics[0]}"):
        invoke(case, "bootstrap", file)
    invoke(case, "bootstrap", file, "--topic", case.kafka.input_topics[0])
    assert net(changes(case)) == expected([(edge, 1)])
    with pipeline(case.config):
        await_published(case, produce(case, [triple(*edge)]))
        await_published(case, produce(case, [triple(*edge, diff=-1)]))
    assert net(changes(case)) == set()


PROGRAM = """
@input edge/2, seen/1 .
@expires seen/1 after "PT10M" .
here(?x) :- seen(?x) .
!loop(?x) :- edge(?x, ?x) .
"""
NEXT = "<urn:a> <http://example.org/next> <urn:b> .\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "kind", "words"),
    [
        ("missing.nt", None, [], DataError, "missing.nt: cannot be opened"),
        ("facts.txt", NEXT, [], DataError, "suffix is not that of a known format"),
        ("facts.nt", f"{NEXT}oops\n", [], DataError, r"facts.nt:2: "),
        ("other.csv", "1,2\n", [], DataError, r"no predicate 'other'"),
        ("edge.csv", "1,2,3\n", [], DataError, "'edge' has 2 arguments in the program, not 3"),
        ("loop.csv", "1\n", [], DataError, "'loop' is a constraint"),
        ("seen.csv", "1\n", [], DataError, r"expire \(@expires\), so they need .*--ts"),
        ("seen.csv", "1\n", ["--ts", "soon"], DataError, "'soon' is not a time"),
        ("seen.csv", "1\n", ["--ts", "9000-01-01T00:00:00Z"], ConfigError, "is in the future"),
        ("empty.nt", "", [], DataError, "there is no fact to load"),
        ("long.nt", f'<urn:a> <urn:p> "{"x" * 110_000}" .\n', [], DataError, "max_term_bytes"),
        ("facts.nt", NEXT, ["--topic", "other"], ConfigError, "not one of kafka.input_topics"),
        ("facts.nt", NEXT, ["--starting-offsets", "soon"], DataError, "soon: cannot be read"),
        ("facts.nt", NEXT, ["--starting-offsets", '{"a":1}'], DataError, "not offsets by topic"),
        (
            "facts.nt",
            NEXT,
            ["--starting-offsets", '{"in": {"0": 7, "1": 0}, "x": {"0": 0}}'],
            DataError,
            r"in-\w+/0 has the offsets 0 to 0, not 7; x/0 is not a partition",
        ),
        ("facts.nt", NEXT, ["--starting-offsets", '{"in": {"0": -1}}'], DataError, "/1 has no off"),
        (".", None, [], DataError, "there is no fact to load"),
    ],
)
def test_a_mistake_is_refused_before_anything_is_stored(  # noqa: PLR0917 - the case
    case_of_mistakes, tmp_path, name, content, options, kind, words
):
    """By name, with its place and the way out; the same state can be loaded afterwards."""
    case = case_of_mistakes
    if content is not None:
        (tmp_path / name).write_text(content)
    topic = case.kafka.input_topics[0]
    options = [each.replace('"in"', f'"{topic}"') for each in options]
    with pytest.raises(kind, match=words):
        invoke(case, "bootstrap", tmp_path / name, *options)
    assert not case.config.state.tables.exists()
    assert not case.config.state.pieces.exists()


@pytest.fixture(scope="module")
def case_of_mistakes(broker, tmp_path_factory):
    """A case whose state is never created."""
    return new_case(broker, tmp_path_factory.mktemp("mistakes"), PROGRAM)


def test_a_state_that_is_there_is_refused(broker, tmp_path):
    """A state, a running pipeline, missing topics, and facts that would be lacking under keys."""
    file = tmp_path / "facts.nt"
    file.write_text(NEXT)
    case = new_case(broker, tmp_path / "case", RULES)
    with pipeline(case.config):
        await_published(case, produce(case, messages([(("<urn:a>", "<urn:b>", "<urn:c>"), 1)])))
        with pytest.raises(EnvironmentSetupError, match="is in use by process"):
            invoke(case, "bootstrap", file)
    with pytest.raises(StateError, match=r"There is a state already .*produce"):
        invoke(case, "bootstrap", file)
    other = new_case(broker, tmp_path / "other", RULES, topics=False, output={"envelope": "upsert"})
    with pytest.raises(ConfigError, match=r"--no-publish: .* would be missing"):
        invoke(other, "bootstrap", file, "--no-publish")
    with pytest.raises(StreamReasonerError, match=r"has no topics .*topics create"):
        invoke(other, "bootstrap", file)


def test_facts_that_expire_begin_with_their_time(broker, tmp_path):
    """With --ts they leave like messages of that time."""
    control = f"control-{tmp_path.name}"
    case = new_case(
        broker, tmp_path, PROGRAM, rules={"control_topic": control}, time={"idle_advance": "PT0S"}
    )
    file = tmp_path / "seen.csv"
    file.write_text("1\n2\n")
    invoke(case, "bootstrap", file, "--ts", "2026-01-01T12:00:00Z", "--starting-offsets", "latest")
    one, two = (("here", (f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>',)) for n in (1, 2))
    assert net(changes(case)) == {one, two}
    noon = 1_767_268_800_000
    with pipeline(case.config):
        for minute, number in ((9, 2), (12, 2)):
            value = {"predicate": "seen", "args": [number], "ts": noon + minute * 60_000}
            await_published(case, produce(case, [json.dumps({**value, "diff": 1}).encode()]))
    assert net(changes(case)) == {two}
