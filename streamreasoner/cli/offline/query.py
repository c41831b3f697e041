"""`streamreasoner query`: the answer of a query in SPARQL, or of a goal, over files or a state."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.cli.operation.moments import MOMENT_HELP, tables_of
from streamreasoner.cli.options import (
    CONFIG_FILE,
    GraphsOption,
    HeaderLine,
    ReadAs,
    StateDirectory,
    reading,
)
from streamreasoner.errors import DataError
from streamreasoner.format_names import FormatName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.io.files.documents import Reading
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.query.sparql.answers import Answer


_ATOM = re.compile(r"\s*([A-Za-z]\w*\s*\(|\[)")


class Form(StrEnum):
    """How the answer is written."""

    TABLE = "table"
    JSON = "json"
    XML = "xml"
    CSV = "csv"
    TSV = "tsv"
    TURTLE = FormatName.TURTLE
    NTRIPLES = FormatName.NTRIPLES
    RDF_XML = FormatName.RDF_XML
    JSON_LD = FormatName.JSON_LD


def query(
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUERY|GOAL",
            help="A query in SPARQL, a file such as late.rq (- reads standard input); or a goal, an"
            " atom of the rules such as 'path(ex:a, ?x)', for which no more is evaluated than it"
            " needs.",
        ),
    ],
    rules: Annotated[
        str | None, typer.Argument(help="A rule file, or the name of a packaged ruleset.")
    ] = None,
    facts: Annotated[
        list[Path] | None, typer.Argument(help="Files of facts, as `materialize` takes them.")
    ] = None,
    *,
    graphs: GraphsOption = None,
    state: StateDirectory = None,
    config: Annotated[Path | None, typer.Option(help="The configuration file (TOML).")] = None,
    at: Annotated[
        str | None, typer.Option(help=f"Of a state, the end of {MOMENT_HELP}; default: the last.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="The IRI that relative ones are resolved against, before any BASE, in the query"
            " and in files; default of a file: its own address."
        ),
    ] = None,
    header: HeaderLine = False,
    read_as: ReadAs = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            help="Default: table of SELECT and ASK at a terminal, else tsv of SELECT, json of ASK; "
            "turtle of CONSTRUCT and DESCRIBE.",
        ),
    ] = None,
) -> None:
    """Answer a query in SPARQL 1.1, or a goal, over the closure."""
    from streamreasoner.program.load import load_program

    if [rules is not None, state is not None, config is not None].count(True) != 1:
        raise DataError("Say what to ask: rules with files of facts, --state or --config.")
    how = reading(read_as, header=header, base=base)
    if _is_goal(question):
        if rules is None:
            raise DataError(
                "A goal is asked of rules and files of facts. Ask a state by a query in SPARQL, or"
                " list its facts with `streamreasoner state`."
            )
        _write(*_of_goal(question, how, load_program(rules, graphs), facts or []), form)
        return
    file = Path(question)
    text = sys.stdin.read() if question == "-" else _read(file)
    if rules is not None:
        answer, names = _of_files(text, file, how, load_program(rules, graphs), facts or [])
    else:
        answer, names = _of_state(
            text, file, base or "", tables_of(config or CONFIG_FILE, state), at
        )
    _write(answer, names, form)


def _is_goal(asked: str) -> bool:
    """Whether an argument is an atom, not the name of a file."""
    if _ATOM.match(asked) is None:
        return False
    try:
        return not Path(asked).exists()
    except OSError:  # too long for a name
        return True


def _of_goal(
    text: str, how: Reading, program: CheckedProgram, files: list[Path]
) -> tuple[Answer, Mapping[str, str]]:
    """The answer, and the prefixes of the program and of the files."""
    from streamreasoner.api.asking.goals import Goals, facts_alone, solutions
    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.cli.files import load_files
    from streamreasoner.explain.fact import prefixes, read_goal
    from streamreasoner.io.files.documents import declared_prefixes

    names = {**declared_prefixes(files), **prefixes(program)}
    goal = read_goal(text, program, names)
    reasoner = Reasoner(facts_alone(program))
    goals = Goals(reasoner.session)
    load_files(reasoner.session, files, how, goals.read_for(program, goal))
    found = goals.answered(program, goal)
    if goals.work.reason:
        print(goals.work, file=sys.stderr)
    return solutions(goal, *found, program.columns(goal.predicate)), names


def _write(answer: Answer, prefixes: Mapping[str, str], form: Form | None) -> None:
    from streamreasoner.cli.offline.answer_table import show
    from streamreasoner.query.sparql.answers import Triples, Truth
    from streamreasoner.query.sparql.formats import written

    if isinstance(answer, Triples):
        form = form or Form.TURTLE
    elif form is Form.TABLE or (form is None and sys.stdout.isatty()):
        show(answer, prefixes)
        return
    else:
        form = form or (Form.JSON if isinstance(answer, Truth) else Form.TSV)
    sys.stdout.buffer.write(written(answer, form, prefixes))
    sys.stdout.flush()


def _read(file: Path) -> str:
    from streamreasoner.program.imports import read_file, reason

    try:
        return read_file(file)
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: {reason(error)}.") from None


def _of_files(
    text: str, file: Path, how: Reading, program: CheckedProgram, facts: list[Path]
) -> tuple[Answer, Mapping[str, str]]:
    """The answer, and the prefixes of the program."""
    from streamreasoner.api.asking.epoch import EpochFacts
    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.cli.files import load_files
    from streamreasoner.explain.fact import prefixes
    from streamreasoner.query.sparql.evaluate import evaluate
    from streamreasoner.sparql.parse import parse_query

    base = how.base or ""
    parse_query(text, str(file), base)  # before the files are read
    reasoner = Reasoner(program)
    load_files(reasoner.session, facts, how)
    answer = evaluate(text, EpochFacts(reasoner.session).facts(), source=str(file), base=base)
    return answer, prefixes(reasoner.program)


def _of_state(
    text: str, file: Path, base: str, tables: Path, at: str | None
) -> tuple[Answer, Mapping[str, str]]:
    """The answer, and the prefixes of the program in effect."""
    from streamreasoner.cli.operation.moments import epoch_of
    from streamreasoner.explain.fact import prefixes
    from streamreasoner.history.epochs import Past
    from streamreasoner.history.replica import Replica
    from streamreasoner.query.sparql.evaluate import evaluate
    from streamreasoner.query.sparql.facts import facts_of_snapshot

    epoch = None if at is None else epoch_of(Past(tables), at)
    with Replica.open(tables, epoch).snapshot() as snapshot:
        answer = evaluate(text, facts_of_snapshot(snapshot), source=str(file), base=base)
        print(f"At the end of epoch {snapshot.epoch}.", file=sys.stderr)
        return answer, prefixes(snapshot.program.checked)
