"""Every block of every document: it is run, it is read as what it is, or it says why not.

What a guide shows is run in tests/integration/test_documents_run.py and test_tutorial.py. Here all
blocks are read: rules are checked, data parsed, and commands matched with the options there are.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import pyoxigraph
import pytest
import typer
from sessions_of_documents import blocks_of, commands_of

from streamreasoner import config
from streamreasoner.cli import app
from streamreasoner.program.checked import check_source
from streamreasoner.program.load import load_program
from streamreasoner.sparql.parse import parse_query

ROOT = Path(__file__).parents[2]
FOLDERS = ("*.md", "docs/*.md", "docs/how-to/*.md", "docs/inside/*.md", "docs/reference/*.md")
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (*FOLDERS, "examples/*.md", "examples/*/*.md")
    for path in ROOT.glob(pattern)
)
OUTPUT = {"text", "transcript"}
"""Languages of what is printed, or drawn."""
PUNCTUATION = "|&;<>()"
SMALLEST = {
    "kafka": {"bootstrap_servers": "host:1", "input_topics": ["in"], "output_topic": "out"},
    "rules": {"program": "rdfs"},
    "state": {"directory": "state"},
}


@cache
def blocks(document):
    """The blocks of a document."""
    return blocks_of((ROOT / document).read_text("utf-8"))


def cases(*languages):
    """(document, block) of the blocks in some languages that are not left out."""
    found = [
        pytest.param(each, id=f"{document}:{each.line}")
        for document in DOCUMENTS
        for each in blocks(document)
        if each.language in languages and each.reason is None
    ]
    return pytest.mark.parametrize("block", found)


KINDS = {
    *(
        "dl",
        "prolog",
        "python",
        "py",
        "json",
        "toml",
        "turtle",
        "sparql",
        "sparql-rl",
        "sql",
        "sh",
        "console",
    ),
    *OUTPUT,
}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_names_its_language(document):
    """Each fence is a block, and its language one that a test here reads."""
    text = (ROOT / document).read_text("utf-8")

    assert {each.language for each in blocks(document)} <= KINDS
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(blocks(document))


REASONS = {
    "SQL, to compare with",
    "Jena's syntax, to compare with",
    "a part of a program",
    "names files of the reader",
    "needs a broker",
}


def test_a_block_that_is_left_out_says_why():
    """The reasons for which blocks are left out are these, and each occurs."""
    found = {each.reason for document in DOCUMENTS for each in blocks(document)}

    assert found - {None} == REASONS


@cases("dl", "prolog")
def test_rules_are_a_program(block):
    """A block of rules is a program without errors."""
    load_program(block.text)


@cases("python", "py")
def test_python_is_python(block):
    """A block of Python can be compiled."""
    ast.parse(block.text)


@cases("json")
def test_json_is_json(block):
    """A block of JSON is one value, or one in each line."""
    try:
        json.loads(block.text)
    except json.JSONDecodeError:
        for line in block.text.splitlines():
            json.loads(line)


@cases("toml")
def test_a_configuration_is_accepted(block):
    """A block of TOML, with what every configuration needs, is a configuration."""
    given = tomllib.loads(block.text)
    whole = {**SMALLEST, **given}
    for section, keys in SMALLEST.items():
        whole[section] = {**keys, **given.get(section, {})}
    topics = {*given.get("input", {}).get("formats", {}), *whole["kafka"]["input_topics"]}
    whole["kafka"]["input_topics"] = sorted(topics)

    config.parse(whole, {}, Path("/"))


@cases("turtle")
def test_turtle_is_turtle(block):
    """A block of Turtle is a graph that is not empty."""
    assert [*pyoxigraph.parse(block.text.encode(), pyoxigraph.RdfFormat.TURTLE)]


@cases("sparql")
def test_sparql_is_sparql(block):
    """A block of SPARQL is a query."""
    parse_query(block.text)


@cases("sparql-rl")
def test_rule_sets_are_sparql_rl(block):
    """A block of SPARQL-RL is a rule set without mistakes."""
    check_source(block.text, "block.srl")


def lines_of_commands(block):
    """The commands of a block, continued lines joined."""
    if block.language == "console":
        commands = [command for command, _ in commands_of(block) if command is not None]
    else:
        commands = block.text.replace("\\\n", " ").splitlines()
    for command in commands:
        text = command.replace("\\\n", " ")
        lexer = shlex.shlex(text, posix=True, punctuation_chars=PUNCTUATION)
        lexer.whitespace_split = True
        words = []
        for word in [*lexer, ";"]:
            if not set(word) <= set(PUNCTUATION):
                words.append(word)
                continue
            if words[:1] == ["streamreasoner"]:
                yield words[1:]
            words = []


@cases("sh", "console")
def test_commands_and_options_exist(block):
    """Each command line of ours is one that the command line takes."""
    root = typer.main.get_command(app)
    for words in lines_of_commands(block):
        command, rest = root, words
        while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
            assert rest[0] in command.commands, words
            command, rest = command.commands[rest[0]], rest[1:]
        options = {name for each in command.params for name in [*each.opts, *each.secondary_opts]}
        for word in rest:
            if word.startswith("--"):
                assert word.split("=")[0] in {*options, "--help"}, words
