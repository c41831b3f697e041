"""What is not asked for is not imported: a start takes the time of what it does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from streamreasoner import cli

LIBRARIES = (
    "confluent_kafka",
    "duckdb",
    "fastavro",
    "httpx2",
    "kafka",
    "lark",
    "numba",
    "numpy",
    "prometheus_client",
    "pyarrow",
    "pyoxigraph",
    "pyspark",
    "rdflib",
)
FRONT_END = (
    "analysis",
    "program",
    "lang.parser",
    "plan.delta.differentiate",
    "plan.lower.lowering",
    "plan.order.left_deep",
    "plan.print.plans",
)


def imported(code, *names, **environment):
    """Which of some modules a new Python has after running some code."""
    shown = f"""
import atexit, sys
atexit.register(lambda: print("\\n" + " ".join(m for m in {names!r} if m in sys.modules)))
{code}
"""
    result = subprocess.run(
        [sys.executable, "-c", shown],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "", **environment},
    )
    return result.stdout.rsplit("\n", 2)[-2].split(), result.stdout


def test_the_package_imports_no_library():
    """Nor does it when its names are listed; `Reasoner` brings what it needs."""
    assert imported("import streamreasoner; dir(streamreasoner)", *LIBRARIES)[0] == []
    assert "numba" in imported("from streamreasoner import Reasoner", *LIBRARIES)[0]


def test_a_first_epoch_loads_what_it_runs():
    """Neither explanations, formats, queries, pandas, nor what numba needs to compile."""
    code = """
from streamreasoner import Reasoner, Update
Reasoner.from_rules("q(?x) :- p(?x) .").apply([Update("p", ("a",))])
"""
    formats = (f"streamreasoner.io.formats.{name}" for name in ("csv", "json", "lines", "turtle"))
    queries = ("streamreasoner.sparql", "rdflib.plugins.sparql", "pyparsing")
    compiling = ("scipy.linalg", "numba.np.linalg")
    names = (*compiling, *queries, "streamreasoner.explain", "msgspec", "pandas", *formats)
    imported(code)
    assert imported(code, *names)[0] == []


def test_a_closure_in_files_imports_no_pandas(tmp_path):
    """Arrow would import it where it is installed, and that costs 50 MiB."""
    facts = tmp_path / "facts.nt"
    facts.write_text("<urn:a> <urn:p> <urn:b> .\n")
    words = ["streamreasoner", "materialize", "--output", str(tmp_path), "rho-df", str(facts)]
    found, output = imported(COMMAND.format(words), "pandas", "pyarrow")
    assert (found, output.split()[:2]) == (["pyarrow"], ["1", "fact,"])


def test_public_names_are_listed():
    """`dir` has the names that are imported when they are asked for."""
    code = "import streamreasoner as s; print(set(s.__all__) <= set(dir(s)))"
    assert imported(code)[1].startswith("True")


COMMAND = "import sys; from streamreasoner.cli import main; sys.argv = {!r}; main()"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_imports_no_library(option):
    """The list of commands is known without them."""
    found, _ = imported(COMMAND.format(["streamreasoner", option]), *LIBRARIES)
    assert found == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("e", ["explain", "explain-plan"]),
        ("consume --from", ["--from-beginning"]),
        ("run --c", ["--config"]),
        ("rules add --w", ["--wait"]),
        ("materialize --tr", ["--trace"]),
        ("explain --format t", ["text"]),
        ("explain-plan --stage lo", ["lower"]),
        ("produce --format nq", ["nquads"]),
    ],
)
def test_words_are_completed_without_a_library(words, expected):
    """A shell asks at every press of a key."""
    asked = {
        "_STREAMREASONER_COMPLETE": "complete_bash",
        "COMP_WORDS": f"streamreasoner {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    found, output = imported(COMMAND.format(["streamreasoner"]), *LIBRARIES, **asked)
    assert (found, output.split()) == ([], expected)


@pytest.mark.parametrize("module", FRONT_END)
def test_a_program_is_read_and_planned_without_kernels(module):
    """Front end and planner import neither numba, nor Spark, nor what reads files of facts."""
    readers = ("streamreasoner.io.formats.registry", "streamreasoner.rdf.dictionary")
    heavy = (*set(LIBRARIES) - {"lark", "pyoxigraph"}, *readers)
    assert imported(f"import streamreasoner.{module}", *heavy)[0] == []


def test_a_check_imports_no_kernels():
    """Nor does the printing of plans."""
    for command in ("check", "explain-plan"):
        code = COMMAND.format(["streamreasoner", command, "rho-df"])
        found, _ = imported(code, *set(LIBRARIES) - {"lark", "pyoxigraph"})
        assert found == []


def test_every_module_of_a_command_is_listed():
    """No command is forgotten."""
    files = {path.stem for path in Path(cli.__file__).parent.rglob("*.py")}
    names = {name.replace("-", "_") for name in get_command(cli.app).commands}
    helpers = {
        "answer_table",
        "beside",
        "closure",
        "confirm",
        "files",
        "templates",
        "help",
        "interrupts",
        "logs",
        "moments",
        "options",
        "violations",
    }
    assert names == files - {"__init__"} - helpers
