"""The configuration: checked once, every problem with its key."""

from __future__ import annotations

import dataclasses
import itertools
import re
import sys
from pathlib import Path

import pytest

from streamreasoner import config
from streamreasoner.errors import ConfigError

HERE = Path("/etc/reasoner")
MINIMAL = {
    "kafka": {"bootstrap_servers": "localhost:9092", "input_topics": ["in"], "output_topic": "out"},
    "rules": {"program": "rho-df"},
    "state": {"directory": "state"},
}


def parse(environment=None, **sections):
    """The minimal document with sections merged into it."""
    raw = {
        name: {**MINIMAL.get(name, {}), **sections.get(name, {})}
        for name in {**MINIMAL, **sections}
    }
    return config.parse(raw, environment or {}, HERE)


def problems(environment=None, **sections):
    """The lines of the error."""
    with pytest.raises(ConfigError) as caught:
        parse(environment, **sections)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def test_defaults_derive_from_the_required_keys():
    """Only six keys are required; names and paths derive from them."""
    found = parse()
    assert found.kafka.dead_letter_topic == "out-dead-letter"
    assert found.kafka.progress_topic == "out-progress"
    assert found.state.directory == HERE / "state"
    assert found.state.checkpoint_directory == HERE / "state" / "checkpoint"
    assert found.rules.program == "rho-df"
    assert parse(rules={"program": "mine.dl"}).rules.program == HERE / "mine.dl"
    assert found.server.host == "127.0.0.1"


@pytest.mark.parametrize("address", ["s3://bucket/folder", "gs://b/f/g", "abfss://c@a.b.net/f"])
def test_a_state_may_be_in_an_object_store(address):
    """Its directory is then still one of this machine."""
    found = parse(state={"directory": "state", "object_store": f"{address}/"}).state
    assert (found.object_store, found.directory) == (address, HERE / "state")
    assert parse().state.object_store is None


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"directory": "s3://bucket/folder"}, "is the value of state.object_store"),
        ({"directory": "state", "object_store": "bucket/folder"}, '"s3://bucket/folder"'),
        ({"directory": "state", "object_store": "s3://bucket"}, "it names no folder"),
        ({"directory": "state", "object_store": "s3://bucket/f?k=v"}, "of the environment"),
        (
            {"directory": "a", "checkpoint_directory": "b", "object_store": "s3://bucket/f"},
            "a folder in state.directory",
        ),
    ],
)
def test_an_address_in_the_wrong_place_is_refused(section, said):
    """The message says where it belongs, or what is missing."""
    [problem] = problems(state=section)
    assert said in problem


def test_pipelines_that_choose_no_application_id_have_different_ones(tmp_path):
    """It follows from the output topic, and a state keeps the one that it began with."""
    (tmp_path / "state").mkdir()
    state = {"directory": str(tmp_path / "state")}

    def app_id(topic, **pipeline):
        found = parse(kafka={"output_topic": topic}, state=state, pipeline=pipeline)
        return found.pipeline.app_id

    assert app_id("a") == "streamreasoner-a"
    assert app_id("b") == "streamreasoner-b"
    assert app_id("t" * 249) == f"streamreasoner-{'t' * 249}"
    assert app_id("a", app_id="mine") == "mine"
    (tmp_path / "state" / "app-id").write_text("streamreasoner-a\n")
    assert app_id("b") == "streamreasoner-a"


def test_a_state_of_an_earlier_release_keeps_the_former_default(tmp_path):
    """Its tables are there, and it has no record of its application; a damaged one is refused."""
    state = {"directory": str(tmp_path)}
    (tmp_path / "tables").mkdir()
    assert parse(state=state).pipeline.app_id == "streamreasoner"
    (tmp_path / "app-id").write_text("")
    with pytest.raises(ConfigError, match=r"app-id .* is not an application id. Set pipeline"):
        parse(state=state)


def test_the_environment_wins_over_the_file():
    """Lists are comma-separated, tables are inline TOML."""
    found = parse(
        {
            "STREAMREASONER_KAFKA__INPUT_TOPICS": "a, b",
            "STREAMREASONER_KAFKA__OPTIONS": '{ "client.id" = "x", a.b = 1, c = true }',
            "STREAMREASONER_PIPELINE__TRIGGER_INTERVAL": "1.5",
            "STREAMREASONER_METRICS__PORT": "0",
            "STREAMREASONER_CACHE_DIR": "/tmp/cache",  # noqa: S108 - never opened
            "OTHER": "x",
        },
        pipeline={"trigger_interval": 3},
    )
    assert found.kafka.input_topics == ("a", "b")
    assert found.kafka.options == {"client.id": "x", "a.b": "1", "c": "true"}
    assert found.pipeline.trigger_interval == 1.5
    assert found.server.port == 0


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"kafka": {"bootstrap_servers": "localhost"}}, r"kafka.bootstrap_servers: .*host:port"),
        ({"kafka": {"bootstrap_servers": 9092}}, r"kafka.bootstrap_servers: found 9092"),
        ({"kafka": {"input_topics": []}}, r"kafka.input_topics: found \[\]"),
        ({"kafka": {"input_topics": ["a", "a"]}}, r"kafka.input_topics: .*listed twice"),
        ({"kafka": {"output_topic": "a b"}}, r'kafka.output_topic: found "a b"'),
        ({"kafka": {"output_topic": ".."}}, r"kafka.output_topic: "),
        ({"kafka": {"starting_offsets": "lastest"}}, r".*Did you mean latest\?"),
        ({"kafka": {"options": {"a": []}}}, r"kafka.options: found a value that is not shown"),
        ({"kafka": {"topic": "x"}}, r"kafka.topic: unknown key"),
        ({"kafka": {"output_topics": "x"}}, r"kafka.output_topics: .*Did you mean output_topic\?"),
        ({"rules": {"program": ""}}, r"rules.program: "),
        ({"rules": {"recursion_limit": True}}, r"rules.recursion_limit: found True"),
        ({"rules": {"recursion_limit": 0}}, r"rules.recursion_limit: found 0"),
        ({"rules": {"program": "~nouser/p.dl"}}, r'rules.program: .*\(no home .* "~nouser"\)'),
        ({"state": {"directory": 3}}, r"state.directory: found 3"),
        ({"state": {"directory": "~nouser/state"}}, r'state.directory: .*\(no home .* "~nouser"\)'),
        ({"pipeline": {"app_id": "a/b"}}, r'pipeline.app_id: found "a/b"'),
        ({"pipeline": {"batch_timeout": "fast"}}, r'pipeline.batch_timeout: found "fast"'),
        ({"pipeline": {"batch_timeout": float("nan")}}, r"pipeline.batch_timeout: "),
        ({"output": {"include": "ALL"}}, r"output.include: "),
        ({"metrics": {"port": 70000}}, r"metrics.port: found 70000"),
        ({"log": {"level": "warn"}}, r'.*"warning".*Did you mean warning\?'),
        ({"spark": {"options": {"driver.memory": "1g"}}}, r"spark.options: .*does not start with"),
        ({"spark": {"state_directory": "s3a://b/x"}}, r"spark.state_directory: removed .* delete"),
        ({"pipeline": {"backend": "spark"}}, r'pipeline.backend: .*was removed: "executors" keeps'),
        ({"sparc": {}}, r"\[sparc\]: unknown section. Did you mean spark\?"),
        ({"kafka2": 1}, r"\[kafka2\]: unknown section"),
    ],
)
def test_one_error_is_one_line(sections, said):
    """Each names the key, the value and what is allowed."""
    raw = {**MINIMAL}
    for name, table in sections.items():
        raw[name] = {**raw.get(name, {}), **table} if isinstance(table, dict) else table
    with pytest.raises(ConfigError) as caught:
        config.parse(raw, {}, HERE)
    [line] = [line.strip() for line in str(caught.value).splitlines()[1:]]
    assert re.match(said, line), line


def test_all_errors_are_reported_at_once():
    """A user fixes the file once, not once per error."""
    found = problems(
        {"STREAMREASONER_METRICS__PORT": "x", "STREAMREASONER_KAFKA_X": "1"},
        kafka={"output_topic": 1, "foo": 2},
        log={"format": "xml"},
    )
    assert len(found) == 5
    assert sum("STREAMREASONER_METRICS__PORT" in line for line in found) == 1


def test_missing_keys_are_named():
    """An empty document lacks every key without a default."""
    with pytest.raises(ConfigError) as caught:
        config.parse({}, {}, HERE)
    for key in (
        "kafka.bootstrap_servers",
        "kafka.input_topics",
        "rules.program",
        "state.directory",
    ):
        assert f"{key}: missing" in str(caught.value)


def test_passwords_are_not_shown():
    """An invalid table of options may hold secrets."""
    found = problems(kafka={"options": {"sasl.password": ["hunter2"]}})
    assert "hunter2" not in "".join(found)


def test_files_that_cannot_be_read_are_named(tmp_path):
    """Missing, not TOML, not text."""
    path = tmp_path / "c.toml"
    with pytest.raises(ConfigError, match=r"Cannot read .*c\.toml"):
        config.load(path)
    path.write_text("[kafka\n")
    with pytest.raises(ConfigError, match=r"not valid TOML.*line 1"):
        config.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not valid TOML"):
        config.load(path)


def test_every_key_is_documented():
    """The docstring of a section lists its keys in the order of the fields."""
    for section in sys.modules["streamreasoner.config.load"]._SECTIONS.values():  # noqa: SLF001
        listed = re.findall(r"^        (\w+): ", section.__doc__, re.MULTILINE)
        assert listed == [one.name for one in dataclasses.fields(section) if one.metadata]


def test_the_control_topic_is_optional():
    """Without it, the program is fixed."""
    assert parse().rules.control_topic is None
    assert parse(rules={"control_topic": "control"}).rules.control_topic == "control"


ROLES = ("input_topics", "output_topic", "dead_letter_topic", "progress_topic", "control_topic")


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(ROLES, 2)))
def test_a_topic_has_one_role(first, second):
    """Each pair of keys that name the same topic is refused, and both keys are named."""
    sections = {"kafka": {"input_topics": ["a", "in"]}, "rules": {}}
    keys = []
    for role in (first, second):
        section = "rules" if role == "control_topic" else "kafka"
        sections[section][role] = ["a", "same"] if role == "input_topics" else "same"
        keys.append(f"{section}.{role}")
    (problem,) = problems(**sections)
    assert problem.startswith(f'{keys[1]}: found "same", which {keys[0]} names too')


@pytest.mark.parametrize("written", ["in, out{}", " out{} ,in", ["in", " out{} "]])
@pytest.mark.parametrize("suffix", ["", "-dead-letter", "-progress"])
@pytest.mark.parametrize("of_output", [{}, {"output_topic": "elsewhere"}])
def test_a_pipeline_cannot_read_what_it_writes(written, suffix, of_output):
    """Whatever the spaces, and whether the file or the environment names a topic."""
    environment = {"STREAMREASONER_KAFKA__OUTPUT_TOPIC": "out"} if of_output else {}
    if isinstance(written, list):
        of_output = {**of_output, "input_topics": [name.format(suffix) for name in written]}
    else:
        environment["STREAMREASONER_KAFKA__INPUT_TOPICS"] = written.format(suffix)
    (problem,) = problems(environment, kafka=of_output)
    assert f'found "out{suffix}", which kafka.input_topics names too' in problem


def test_names_in_another_case_are_other_topics():
    """As they are to Kafka; with spaces around it, a name of a single topic is refused."""
    assert parse(kafka={"input_topics": ["OUT", "Out-progress"]}).kafka.output_topic == "out"
    (problem,) = problems(kafka={"input_topics": ["out"], "output_topic": "out "})
    assert problem.startswith('kafka.output_topic: found "out ", allowed: a topic name')


def test_topics_with_two_roles_are_reported_with_all_other_errors():
    """Defaults count, and an error elsewhere hides none of them."""
    found = problems(
        kafka={"input_topics": ["out-dead-letter", "out-progress", "x"]},
        rules={"control_topic": "x"},
        server={"port": -1},
    )
    assert [line.split(":")[0] for line in found] == [
        "server.port",
        "kafka.dead_letter_topic",
        "kafka.progress_topic",
        "rules.control_topic",
    ]


def test_the_tables_are_in_the_state_directory():
    """Readers find the tables from the configuration alone."""
    assert parse().state.tables == HERE / "state" / "tables"


def rooms(**changed):
    """A valid mapping, with some keys changed; None leaves a key out."""
    fact = {"predicate": "triple", "args": ["<http://e/{id}>", "<http://e/floor>", "floor"]}
    table = {"topic": "in", "key": ["id"], "facts": [fact], **changed}
    return {name: value for name, value in table.items() if value is not None}


def test_rows_have_a_mapping():
    """Facts of columns, templates, constants and numbers; from the environment too."""
    args = ["<{+page}>", '"{a b}{c}"@en', "_:x", '"x"', 1, True, "<http://e:{port}/>"]
    fact = {"predicate": "p", "args": args}
    table = {"format": "csv", "map": {"rooms": rooms(facts=[fact])}}
    found = parse(input=table).input.map["rooms"]
    assert (found.topic, found.table, found.key) == ("in", None, ("id",))
    assert found.columns == ("page", "a b", "c", "port")
    text = '{ rooms = { table = "s.t", facts = [{ predicate = "p", args = ["x"] }] } }'
    overridden = parse({"STREAMREASONER_INPUT__MAP": text}, input=table | {"format": "json"})
    assert overridden.input.map["rooms"].table == "s.t"


def test_every_problem_of_a_mapping_is_listed():
    """Each with its key, what was found and what is allowed."""
    fact = {"predicate": "", "args": ["", [], "<e>", "{id}", "<http://e/{id>", "_:{id}"], "x": 1}
    others = {"predicate": "p", "args": ['"{+x}"', '"x"^^<http://e/{x}>', '"a', "<http://e/}>"]}
    mappings = {
        "a": rooms(table="t", key=["id", "id"], facts=[fact, others, 1, {}], name="x"),
        "b": rooms(topic=None, facts=[]),
        "c": rooms(topic=1, key="id"),
        "d": 1,
        "e": rooms(topic="none"),
        "f": rooms(topic="none"),
    }
    found = problems(input={"format": "json", "map": mappings})
    starts = [
        "input.map.a.name: unknown key. Known: topic, table, key, facts",
        "input.map.a: found [",
        "input.map.a.key: found ['id', 'id'], allowed: a list of columns, each once",
        "input.map.a.facts[0].x: unknown key. Known: predicate, args",
        'input.map.a.facts[0].predicate: found "", allowed: the name of a predicate',
        'input.map.a.facts[0].args[0]: found "", allowed: a column, an <IRI> or a "literal"',
        "input.map.a.facts[0].args[1]: found [], allowed: ",
        'input.map.a.facts[0].args[2]: found "<e>", allowed: ',
        'input.map.a.facts[0].args[3]: found "{id}", allowed: ',
        'input.map.a.facts[0].args[4]: found "<http://e/{id>", allowed: ',
        'input.map.a.facts[0].args[5]: found "_:{id}", allowed: ',
        'input.map.a.facts[1].args[0]: found ""{+x}"", allowed: ',
        'input.map.a.facts[1].args[1]: found ""x"^^<http://e/{x}>", allowed: ',
        'input.map.a.facts[1].args[2]: found ""a", allowed: ',
        'input.map.a.facts[1].args[3]: found "<http://e/}>", allowed: ',
        "input.map.a.facts[2]: found 1, allowed: a table with the keys predicate, args",
        "input.map.a.facts[3].predicate: found nothing, allowed: the name of a predicate",
        "input.map.a.facts[3].args: found nothing, allowed: a list of arguments",
        "input.map.b: found ['key', 'facts'], allowed: exactly one of the keys topic and table",
        "input.map.b.facts: found [], allowed: a list of facts, at least one",
        "input.map.c.topic: found 1, allowed: an input topic",
        'input.map.c.key: found "id", allowed: a list of columns, each once',
        "input.map.d: found 1, allowed: a table with the keys topic, table, key, facts",
        'input.map.e.topic: found "none", which another mapping names too',
        'input.map.f.topic: found "none", which another mapping names too',
    ]
    for start in starts:
        assert any(line.startswith(start) for line in found), (start, found)


def test_a_topic_of_rows_has_a_mapping():
    """Without one every message would be rejected; a mapping of a table is one for Debezium."""
    of_table = {"t": rooms(topic=None, table="s.t")}
    for name, mappings, allowed in (
        ("json-rows", {}, 'a mapping with topic = "in"'),
        ("csv", of_table, 'a mapping with topic = "in"'),
        ("debezium", {}, 'a mapping with topic = "in" or with a table'),
    ):
        expected = f'input.map: nothing for the topic "in", whose format is {name}, allowed: '
        assert problems(input={"format": name, "map": mappings}) == [expected + allowed]
        found = problems(input={"formats": {"in": name}, "map": mappings})
        assert found == [expected + allowed]
    assert parse(input={"format": "debezium", "map": of_table}).input.format == "debezium"
    assert problems(input={"map": {"t": rooms(topic="other")}}) == [
        'input.map.t.topic: found "other", allowed: a topic of kafka.input_topics (in)'
    ]


def test_a_table_with_both_states_of_a_row_has_no_keys():
    """Debezium says itself which facts go; the way out is named."""
    rows = {"t": rooms(topic=None, table="s.t")}
    given = {"format": "debezium", "semantics_by_topic": {"in": "upsert"}, "map": rows}
    [problem] = problems(input=given)
    assert problem.startswith('input.semantics: found "upsert" for the topic "in"')
    assert problem.endswith('allowed: "multiset" or "set" for it')


def test_slots_are_long_enough_and_have_no_control_topic():
    """A granularity is a duration of a millisecond at least, and the program does not change."""
    assert parse().time.granularity is None
    assert parse(time={"granularity": "PT0.5S"}).time.granularity == 500
    for wrong in ("PT0S", "1s", 1000):
        [problem] = problems(time={"granularity": wrong})
        assert problem.startswith("time.granularity: found ")
        assert problem.endswith('allowed: a duration from "PT0.001S" to "P365D"')
    [problem] = problems(
        time={"granularity": "PT1S"}, rules={"program": "rho-df", "control_topic": "control"}
    )
    assert problem.startswith('time.granularity: found "PT1S" together with rules.control_topic')
