"""The extras. Invariant: files are reasoned over without any; a command without its own says so."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.io.spark.series import CONNECTORS
from streamreasoner.system.extras import EXTRAS, SERIES, require

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL = PROJECT["optional-dependencies"]
MODULES = sorted({module for modules in EXTRAS.values() for module in modules})
ALSO_FROM_ELSEWHERE = {"py4j", "crc32c", "deltalake", "psutil"}
"""What comes with these, or with nothing, and must not be needed either."""

RULES = """
@input parent/2 .
ancestor(?x, ?y) :- parent(?x, ?y) .
ancestor(?x, ?z) :- ancestor(?x, ?y), parent(?y, ?z) .
@output ancestor .
"""
CONFIG = """
[kafka]
bootstrap_servers = "127.0.0.1:1"
input_topics = ["in"]
output_topic = "out"
[rules]
program = "rules.dl"
control_topic = "rules"
[state]
directory = "state"
"""
BLOCKING = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in {blocked!r}):
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Blocked())
"""
COMMANDS = """
import sys
from streamreasoner.cli import main
for words in {commands!r}:
    sys.argv = ["streamreasoner", *words]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    print("exit", code, file=sys.stderr)
"""
API = """
from streamreasoner import Reasoner, Update
reasoner = Reasoner.from_rules(open("rules.dl").read())
reasoner.apply([Update("parent", ("<urn:a>", "<urn:b>"))])
assert len(list(reasoner.facts("ancestor"))) == 1
assert reasoner.explain("ancestor", "<urn:a>", "<urn:b>")
with Reasoner.open("kept", "rules.dl") as kept:
    kept.apply([Update("parent", ("<urn:a>", "<urn:b>"))])
with Reasoner.open("kept") as kept:
    assert len(list(kept.facts("ancestor"))) == 1
triples = Reasoner.from_rules("[?x, a, ?c] :- [?x, a, ?b], [?b, <urn:sub>, ?c] .")
triples.load("facts.nt")
assert len(list(triples.query("SELECT ?x {{ ?x a <urn:C> }}"))) == 1
for convert in ("to_pandas", "to_polars"):
    try:
        getattr(reasoner.facts("ancestor"), convert)()
    except Exception as error:
        print(type(error).__name__, error)
"""
FILES = [
    ["check", "rules.dl"],
    ["explain-plan", "rules.dl"],
    ["materialize", "rules.dl", "parent.csv", "--print"],
    ["materialize", "rho-df", "facts.nt", "--output", "closure"],
    ["query", "people.rq", "rho-df", "facts.nt"],
    ["explain", "rules.dl", "parent.csv", "--fact", "ancestor(<urn:a>, <urn:b>)"],
    ["check-shapes", "shapes.ttl", "--data", "facts.nt"],
    ["shell", "rules.dl", "parent.csv"],
]
OF_A_STATE = [
    ["state", "--state", "kept"],
    ["diff", "0", "0", "--state", "kept"],
    ["history", "ancestor(<urn:a>, <urn:b>)", "--state", "kept"],
    ["query", "people.rq", "--state", "kept"],
    ["purge", "--older-than", "1d", "--state", "kept"],
]
NEEDING = {
    "run": ("pipeline", ["run", "--config", "p.toml"]),
    "bootstrap": ("pipeline", ["bootstrap", "parent.csv", "--config", "p.toml"]),
    "check --config": ("pipeline", ["check", "--config", "p.toml"]),
    "doctor": ("pipeline", ["doctor"]),
    "broker": ("pipeline", ["broker", "--directory", "kafka"]),
    "demo": ("demo", ["demo"]),
    "serve": ("server", ["serve", "--state", "state"]),
    "produce": ("kafka", ["produce", "parent.csv", "--config", "p.toml"]),
    "consume": ("kafka", ["consume", "--config", "p.toml"]),
    "topics create": ("kafka", ["topics", "create", "--config", "p.toml"]),
    "topics delete": ("kafka", ["topics", "delete", "--yes", "--config", "p.toml"]),
    "reset": ("kafka", ["reset", "--yes", "--config", "p.toml"]),
    "rules add": ("kafka", ["rules", "add", "rules.dl", "--config", "p.toml"]),
    "rules remove": ("kafka", ["rules", "remove", "rules.dl", "--config", "p.toml"]),
    "rules replace": ("kafka", ["rules", "replace", "rules.dl", "--config", "p.toml"]),
    "snapshot": ("kafka", ["snapshot", "--config", "p.toml"]),
}


@pytest.fixture
def folder(tmp_path):
    """A program, facts, shapes and a configuration."""
    texts = {
        "rules.dl": RULES,
        "parent.csv": "<urn:a>,<urn:b>\n",
        "facts.nt": "<urn:x> a <urn:B> .\n<urn:B> <urn:sub> <urn:C> .\n".replace(
            " a ", " <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
        ),
        "shapes.ttl": "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        "[] a sh:NodeShape ; sh:targetClass <urn:B> ; sh:nodeKind sh:IRI .\n",
        "people.rq": "SELECT ?x { ?x a <urn:B> }",
        "p.toml": CONFIG,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def without(blocked, code, folder):
    """Runs code in a new process that cannot import some modules."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKING.format(blocked=sorted(blocked)) + code],
        cwd=folder,
        env={"PYTHONPATH": ":".join([str(ROOT), *sys.path]), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def outside(*extras):
    """The modules that none of some extras installs."""
    brought = {"anyio"} if "schema-registry" in extras else set()  # by its client of HTTP
    return {*MODULES} - {module for extra in extras for module in EXTRAS[extra]} - brought


def distributions(extra):
    """What an extra installs, with that of the extras that it names."""
    for requirement in OPTIONAL[extra]:
        if requirement.startswith("streamreasoner["):
            for other in re.search(r"\[(.*)\]", requirement)[1].split(","):
                yield from distributions(other)
        else:
            yield re.match(r"[\w-]+", requirement)[0]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_modules_are_those_of_the_extra(extra):
    """What is looked for before a command begins is what the extra installs."""
    assert {*distributions(extra)} <= {*EXTRAS[extra].values()}


def test_all_is_every_extra():
    """Nothing that an extra installs is left out of `all`."""
    every = {each for extra in EXTRAS for each in distributions(extra)}
    assert {*OPTIONAL} == {"all", *EXTRAS}
    assert {*distributions("all")} == every


def test_a_version_of_spark_that_does_not_fit_is_refused(monkeypatch):
    """Its jars would fail much later; the message has both versions and what to install."""
    monkeypatch.setattr(metadata, "version", {"pyspark": "3.5.7"}.__getitem__)
    with pytest.raises(EnvironmentSetupError) as caught:
        require("demo", "A demo")
    assert str(caught.value) == (
        "A demo needs pyspark 4.0 to 4.2, and 3.5.7 is installed. Install the extra with: "
        "pip install 'streamreasoner[demo]'"
    )
    require("server", "A server")


def test_the_series_are_those_of_the_ranges():
    """A version is refused at a start if, and only if, the extra does not allow it."""
    bounds = {each for extra in OPTIONAL.values() for each in extra if "<" in each}
    assert bounds == {"pyspark>=4.0.0,<4.3"}
    assert SERIES == {"pyspark": ("4.0", "4.1", "4.2")} == {"pyspark": (*CONNECTORS,)}


def test_python_needs_no_extra(folder):
    """Facts are applied, asked for and explained where no module of an extra can be imported."""
    found = without({*MODULES} | ALSO_FROM_ELSEWHERE, API, folder)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == [
        f"EnvironmentSetupError to_{name}() needs {name}, which is not installed. Install the "
        f"extra with: pip install 'streamreasoner[{name}]'"
        for name in ("pandas", "polars")
    ]


def test_commands_on_files_need_no_extra(folder):
    """Nor do the commands on files, the shell's scripts among them, and on a state that is kept."""
    blocked, commands = {*MODULES} | ALSO_FROM_ELSEWHERE, [*FILES, *OF_A_STATE]
    found = without(blocked, API + COMMANDS.format(commands=commands), folder)
    codes = re.findall(r"^exit (\d+)$", found.stderr, re.MULTILINE)
    assert (codes, found.returncode) == (["0"] * len(commands), 0), found.stderr


def test_a_command_names_the_extra_it_needs(folder):
    """One message with what to install, exit code 1, and nothing has begun."""
    commands = [words for _, words in NEEDING.values()]
    found = without(MODULES, COMMANDS.format(commands=commands), folder)
    lines = found.stderr.splitlines()
    assert len(lines) == 2 * len(NEEDING), found.stderr
    for (extra, _), message, code in zip(NEEDING.values(), lines[::2], lines[1::2], strict=True):
        assert message.startswith("error: ")
        assert message.endswith(f"Install the extra with: pip install 'streamreasoner[{extra}]'")
        assert code == "exit 1"
    assert not (folder / "kafka").exists()


@pytest.mark.parametrize(
    ("extras", "modules"),
    [
        (["pipeline"], ["service.supervise", "service.first_load", "upkeep.doctor"]),
        (["kafka"], ["io.kafka.topics", "io.kafka.control_outcomes", "io.kafka.deletion"]),
        (["server"], ["server.web.serve"]),
        (["demo"], ["demo.run", "demo.dashboard"]),
        (["schema-registry"], ["io.formats.schemas.client"]),
        (["shell"], ["shell.prompt"]),
    ],
)
def test_an_extra_is_enough(extras, modules, folder):
    """What an extra is for can be imported where no module of another extra can be."""
    code = "\n".join(f"import streamreasoner.{module}" for module in modules)
    found = without(outside(*extras), code, folder)
    assert found.returncode == 0, found.stderr


def test_a_served_pipeline_needs_the_server_too(folder):
    """`server.facts` is refused before the pipeline starts where only `pipeline` is installed."""
    config = folder / "p.toml"
    config.write_text(CONFIG + "[server]\nfacts = true\n", encoding="utf-8")
    command = COMMANDS.format(commands=[NEEDING["run"][1]])
    found = without(outside("pipeline"), command, folder)
    message, code = found.stderr.splitlines()
    assert message == (
        "error: server.facts = true needs anyio, starlette and uvicorn, which are not installed. "
        "Install the extra with: pip install 'streamreasoner[server]'"
    )
    assert code == "exit 1"


def test_what_is_imported_is_required():
    """Every third-party module that the package imports is a requirement, and the reverse."""
    named = set()
    for path in (ROOT / "streamreasoner").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names):
                    named |= {each.name.partition(".")[0] for each in names}
                case ast.ImportFrom(str(module)):
                    named.add(module.partition(".")[0])
    third = named - sys.stdlib_module_names - {"streamreasoner", "_typeshed"}
    elsewhere = {
        "google": "protobuf",
        "kafka": "kafka-python",
        "llvmlite": "numba",
        "py4j": "pyspark",
        "re2": "google-re2",
    }
    by_name = {"pandas", "polars"}
    needed = {elsewhere.get(name, name.replace("_", "-")) for name in third} | by_name
    required = {re.match(r"[\w-]+", each)[0] for each in PROJECT["dependencies"]}
    required |= {each for extra in EXTRAS for each in distributions(extra)}
    assert needed == required
