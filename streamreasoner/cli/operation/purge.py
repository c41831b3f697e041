"""`streamreasoner purge`: erase what was retracted from the state of a stopped pipeline."""

from __future__ import annotations

import json
import re
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamreasoner.cli.operation.moments import Format, Lines
from streamreasoner.cli.options import CONFIG_FILE, ConfigFile, StateDirectory
from streamreasoner.counts import counted
from streamreasoner.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from streamreasoner.config import Config
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.state.erasure.request import Request
    from streamreasoner.state.objects.mirror import Upload

_AGE = re.compile(r"(\d{1,6})([dh])")
_BACKUPS = "delete them, or make them again"


def purge(
    config: ConfigFile = CONFIG_FILE,
    *,
    state_directory: StateDirectory = None,
    term: Annotated[
        list[str] | None,
        typer.Option(
            help="A term as in a rule, with the prefixes of the program: ex:anna, '<http://…>',"
            " '\"anna@example.org\"'. All facts that have it as an argument, or in one, are erased;"
            " may be repeated."
        ),
    ] = None,
    fact: Annotated[
        list[str] | None,
        # Escaped: rich would read the bracket as markup.
        typer.Option(
            help="A fact as in a rule, '\\[ex:anna, ex:mail, \"a@b.c\"]'; may be repeated."
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            help="Erase the changes of epochs of an earlier time: an age such as 30d or 12h, or a"
            " time such as 2026-01-31T12:00:00Z."
        ),
    ] = None,
    format_: Format = Lines.TEXT,
) -> None:
    """Erase retracted facts, and terms that nothing uses any more, from the state.

    The pipeline must be stopped, or the reasoner closed, and the facts retracted before. Terms that
    no fact, program or row of `changes` uses are erased in any case. Exits with 1 if the search at
    the end finds a term.
    """
    from streamreasoner.config import load

    state = _of_a_reasoner(state_directory) if state_directory else _of_a_pipeline(load(config))
    remaining = 0
    try:
        with state.held() as upload:
            state.check()
            for line in _erase(state, upload, term or (), fact or (), older_than):
                remaining += line["line"] == "remains"
                print(_text(line) if format_ is Lines.TEXT else json.dumps(line))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StateError(
            f"The erasure was interrupted: {error}. The state is valid. Fix the cause, and run the "
            "command again."
        ) from error
    raise typer.Exit(1 if remaining else 0)


def _erase(
    stopped: _Stopped,
    upload: Upload,
    names: Sequence[str],
    facts: Sequence[str],
    older_than: str | None,
) -> Iterator[dict[str, Any]]:
    """Erase, and tell what was found, done and left; each as an object of JSON."""
    from streamreasoner.cli.operation.moments import iso
    from streamreasoner.state import check_version
    from streamreasoner.state.erasure.mentions import mentioned
    from streamreasoner.state.erasure.request import BESIDE, trails, used_ids
    from streamreasoner.state.erasure.search import occurrences
    from streamreasoner.state.erasure.steps import erase
    from streamreasoner.state.erasure.stopped import StoppedState

    tables = stopped.directory / "tables"
    check_version(tables)
    state = StoppedState.open(tables, stopped.app_id, stopped.batches())
    request = _request(state.program(), names, facts, older_than)
    used = used_ids(state, request)
    args: set[str] = set()
    for each in trails(state, request):
        args |= set() if each.kind == BESIDE else mentioned(each.fact.args)
        yield {
            "line": "found",
            "in": each.kind,
            "predicate": each.fact.predicate,
            "args": each.fact.args,
            "epoch": each.epoch,
            "ts": iso(each.time),
            "diff": each.multiplicity,
        }
    wanted = {*request.terms}
    for step in erase(state, request, used, stopped.copies):
        wanted |= args & {*step.terms}
        files = sorted(str(path) for path in step.files)
        terms = len(step.terms)
        yield {
            "line": "done",
            "step": step.number,
            "what": step.what,
            "files": files,
            "terms": terms,
        }
    left = upload.erase()
    if stopped.object_store is not None:
        what = f"deleted objects of past versions in {stopped.object_store}"
        yield {"line": "done", "step": 7, "what": what, "files": [], "terms": 0}
    found = list(occurrences(stopped.folders, sorted(wanted)))
    for path, text in found:
        yield {"line": "remains", "file": str(path), "term": text}
    for address in left:
        yield {"line": "remains", "file": address, "term": "an object that the state does not need"}
    yield {"line": "searched", "terms": sorted(wanted), "found": len(found)}
    for where, what in stopped.outside:
        yield {"line": "outside", "where": where, "what": what}


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A state that nothing is to use while it is erased.

    Attributes:
        directory: Its directory.
        app_id: The owner of its tables.
        held: Locks it.
        check: Refuses one that may not be erased now, once it is locked.
        batches: The last batch that Spark has committed, and the last one planned; None without.
        folders: What is searched at the end.
        copies: What may also hold terms, and is not needed: the next start makes it again.
        outside: Copies that this command does not reach, and what to do there.
        object_store: The address of the object store that it is in, if it is.
    """

    directory: Path
    app_id: str
    held: Callable[[], AbstractContextManager[Upload]]
    check: Callable[[], None]
    batches: Callable[[], tuple[int, int] | None]
    folders: tuple[Path, ...]
    copies: tuple[Path, ...]
    outside: tuple[tuple[str, str], ...]
    object_store: str | None = None


def _of_a_pipeline(config: Config) -> _Stopped:
    from streamreasoner.io.spark.offsets import Checkpoint
    from streamreasoner.pipeline.bootstrap.record import check_finished
    from streamreasoner.state.objects.held import held

    state = config.state

    def batches() -> tuple[int, int]:
        checkpoint = Checkpoint.read(state.checkpoint_directory)
        return checkpoint.committed, checkpoint.planned

    return _Stopped(
        state.directory,
        config.pipeline.app_id,
        lambda: held(state),
        lambda: check_finished(state),
        batches,
        (state.directory, state.checkpoint_directory),
        tuple(_copies(config)),
        tuple(_outside(config)),
        state.object_store,
    )


def _of_a_reasoner(directory: Path) -> _Stopped:
    from streamreasoner.api.durable import journal
    from streamreasoner.api.durable.opening import APP_ID, check_owner

    check_owner(directory)
    return _Stopped(
        directory,
        APP_ID,
        lambda: _locked(directory),
        lambda: None,
        lambda: None,
        (directory,),
        (directory / journal.NAME, directory / f"_{journal.NAME}.tmp"),
        (("backups and copies of the state", _BACKUPS),),
    )


@contextmanager
def _locked(directory: Path) -> Iterator[Upload]:
    from streamreasoner.state.lock import StateLock
    from streamreasoner.state.objects.mirror import NoUpload

    with closing(StateLock(directory, key="")):
        yield NoUpload()


def _copies(config: Config) -> list[Path]:
    """What of a pipeline's state may hold terms, too, and is made again."""
    state = config.state
    return [*(state.directory / name for name in ("tmp", "attempts.json")), *state.former_copies]


def _request(
    program: CheckedProgram, terms: Sequence[str], facts: Sequence[str], older_than: str | None
) -> Request:
    from streamreasoner.errors import DataError
    from streamreasoner.explain.fact import read_fact
    from streamreasoner.io.formats.json import fact_of_message
    from streamreasoner.state.erasure.request import Request, StoredFact

    if not terms and not facts and older_than is None:
        raise DataError("Nothing is named to erase: use --term, --fact or --older-than.")
    found = [read_fact(fact_of_message(text), program) for text in facts]
    return Request(
        tuple(_term(text, program) for text in terms),
        tuple(StoredFact(each.predicate, each.arguments) for each in found),
        None if older_than is None else _moment(older_than),
    )


def _term(text: str, program: CheckedProgram) -> str:
    """The canonical term that a text is, with the prefixes of the program."""
    from streamreasoner.errors import DataError, ProgramError
    from streamreasoner.explain.fact import read_term

    try:
        return read_term(text, program)
    except ProgramError:
        raise DataError(
            f"--term {text} is not a term; write it as in a rule, with the prefixes of the "
            'program: ex:anna, <http://example.org/anna> or "anna@example.org".'
        ) from None


def _moment(text: str) -> datetime:
    """The time that a text names, or that was as long ago as it says."""
    from streamreasoner.cli.operation.moments import time_of
    from streamreasoner.errors import DataError

    age = _AGE.fullmatch(text)
    if age is not None:
        number = int(age[1])
        return datetime.now(UTC) - (timedelta(hours=number) if age[2] == "h" else timedelta(number))
    moment = time_of(text)
    if moment is None:
        raise DataError(
            f"--older-than {text} is neither an age such as 30d or 12h nor a time such as "
            "2026-01-31T12:00:00Z."
        )
    return moment


def _outside(config: Config) -> Iterator[tuple[str, str]]:
    """Copies that this command does not reach, and what to do there."""
    from streamreasoner.config.kafka import TopicKey, topic_keys

    kafka = config.kafka
    keys = topic_keys(kafka, config.rules.control_topic)
    topics = [name for name, key in keys if key is not TopicKey.PROGRESS]
    yield f"topics {', '.join(topics)}", "their messages go with the retention of the topics"
    yield f"readers of {kafka.output_topic}", "they have applied the changes of -1; erase copies"
    if "spark.local.dir" in config.spark.options:
        what = "temporary files of Spark; delete what a killed process has left"
        yield config.spark.options["spark.local.dir"], what
    if config.state.object_store is not None:
        what = "versions that the bucket keeps of deleted objects; let them expire, or delete them"
        yield config.state.object_store, what
    yield "backups and copies of the state", _BACKUPS
    yield "logs", "they hold no terms at level info and above"


def _text(line: dict[str, Any]) -> str:
    """A line for people."""
    match line:
        case {"line": "found", "in": kind, "predicate": name, "args": args}:
            sign = f"{line['diff']:+d}"
            time = f" {line['ts']}" if line["ts"] else ""
            return f"{sign} {name}({', '.join(args)})  {kind}, epoch {line['epoch']}{time}"
        case {"line": "done", "step": step, "what": what, "files": files, "terms": terms}:
            listed = f": {', '.join(files)}" if files else ""
            number = f" ({counted(terms, 'term')})" if terms else ""
            return f"step {step}: {what}{number}{listed}"
        case {"line": "remains", "file": file, "term": term}:
            return f"STILL THERE: {term} in {file}"
        case {"line": "searched", "terms": terms, "found": found}:
            searched = f"searched every file for {counted(len(terms), 'term')}"
            return f"{searched}: found in {counted(found, 'file')}"
        case _:
            return f"not in this state: {line['where']}: {line['what']}"
