"""The command `explain`, and the examples of docs/explain.md."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.cli.offline.explain import explain
from streamreasoner.errors import DataError, ProgramError
from streamreasoner.explain import Limits

DOCUMENT = Path(__file__).parents[3] / "docs/explain.md"
TEXT = DOCUMENT.read_text("utf-8")
EX = "http://example.org/"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The program of the document, and its facts, in the working directory."""
    program, *_ = re.findall(r"^```dl\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "rules.dl").write_text(program, "utf-8")
    (tmp_path / "edge.csv").write_text(f"<{EX}a>,<{EX}b>\n<{EX}b>,<{EX}c>\n", "utf-8")
    (tmp_path / "node.csv").write_text(f"<{EX}a>\n<{EX}b>\n<{EX}c>\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options):
    """Run the command; its exceptions are not caught."""
    result = CliRunner().invoke(app, ["explain", *options], catch_exceptions=False)

    assert result.exit_code == 0, result.output
    return result.stdout


def test_limits_of_the_command_are_those_of_the_library():
    """The signature repeats them, so that `--help` need not import the library."""
    parameters = inspect.signature(explain).parameters
    command = {name: parameters[name].default for name in ("depth", "size", "matches")}
    assert Limits(**command) == Limits()


@pytest.mark.usefixtures("folder")
def test_the_document_shows_what_is_printed():
    """The trees in docs/explain.md are the command's output."""
    shown = re.findall(r"^```text\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)

    assert [
        run("rules.dl", "edge.csv", "node.csv", "--fact", fact)
        for fact in ("path(ex:a, ex:c)", "path(ex:c, ex:a)")
    ] == shown


@pytest.mark.usefixtures("folder")
def test_formats_and_limits():
    """JSON and DOT are printed unchanged, and limits shorten the output."""
    files = ("rules.dl", "edge.csv", "node.csv", "--fact", "path(ex:a, ex:c)")

    assert json.loads(run(*files, "--format", "json"))["present"] is True
    assert run(*files, "--format", "dot").startswith("digraph explanation {\n")
    assert run(*files, "--depth", "0") == "path(ex:a, ex:c)  … its derivation is cut off here\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("fact", "error"),
    [("path(ex:a, ?y)", ProgramError), ("pth(ex:a)", ProgramError), ("path(ex:a", ProgramError)],
)
def test_mistakes_are_told_before_files_are_read(fact, error):
    """A fact that cannot be explained is refused before any file is read."""
    with pytest.raises(error):
        run("rules.dl", "missing.csv", "--fact", fact)


@pytest.mark.usefixtures("folder")
def test_messages_are_facts():
    """A message as `consume` prints it is accepted, as an option or on standard input."""
    files = ("rules.dl", "edge.csv", "node.csv", "--fact")
    message = json.dumps({"predicate": "path", "args": [f"<{EX}a>", f"<{EX}c>"], "diff": 1})
    tree = run(*files, "path(ex:a, ex:c)")
    piped = CliRunner().invoke(app, ["explain", *files, "-"], input=message)

    assert run(*files, message) == tree
    assert piped.stdout == tree
    assert run(*files, f'{{"s": "<{EX}a>", "p": "<{EX}b>", "o": "\\"x\\"@en"}}') == (
        '[ex:a, ex:b, "x"@en] is absent: it is not asserted, and no rule derives such facts.\n'
    )
    with pytest.raises(DataError, match="The message contains no fact"):
        run(*files, '{"predicate": "path"}')
    with pytest.raises(DataError, match="The message is not JSON"):
        run(*files, '{"predicate"')


@pytest.mark.usefixtures("folder")
def test_prefixes_come_from_options_and_turtle_files():
    """Prefixes are resolved in the fact, and shorten the output."""
    Path("plain.dl").write_text("near(?x, ?y) :- [?x, _, ?y] .\n", "utf-8")
    Path("g.ttl").write_text("@prefix t: <http://t.org/> .\nt:a t:p <http://u.org/b> .\n", "utf-8")

    assert run("plain.dl", "g.ttl", "--prefix", "u=http://u.org/", "--fact", "near(t:a, u:b)") == (
        "near(t:a, u:b)\n│ plain.dl:1: near(?x, ?y) :- [?x, _, ?y]\n└── [t:a, t:p, u:b]  asserted\n"
    )
    for wrong in ("u", "u=", "1=http://u.org/", "u=http://u.org/ x", "u=relative"):
        with pytest.raises(DataError, match="is not NAME=IRI"):
            run("plain.dl", "g.ttl", "--prefix", wrong, "--fact", "near(t:a, u:b)")


@pytest.mark.usefixtures("folder")
def test_a_fact_that_ends_too_early_says_what_is_missing():
    """The caret is under the end of the text."""
    with pytest.raises(ProgramError) as refused:
        run("rules.dl", "edge.csv", "--fact", "path(ex:a, ex:c")

    assert str(refused.value) == (
        "<input>:1:15: SR102 the text ends here, expected `,` or `)`\n"
        "  path(ex:a, ex:c\n"
        "                ^"
    )
