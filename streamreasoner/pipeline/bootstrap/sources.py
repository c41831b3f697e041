"""Where the facts of a bootstrap come from. Invariant: they fit the program, or are refused.

A source is a file of facts, a Delta table, or the state directory of another pipeline, whose facts
are those that it publishes, asserted or derived, at its last epoch.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.api.updates import check_asserted, check_predicate
from streamreasoner.errors import DataError, StateError
from streamreasoner.facts import having, ids_of
from streamreasoner.history.epochs import Past
from streamreasoner.history.past_facts import PastFacts
from streamreasoner.io.files.documents import Reading, expanded, load
from streamreasoner.pipeline.bootstrap.pieces import Block
from streamreasoner.pipeline.bootstrap.record import Source
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from streamreasoner.plan.operands import Pattern
    from streamreasoner.program.checked import CheckedProgram

_MOST_TERMS = 1 << 25


def identify(paths: Sequence[Path]) -> tuple[Source, ...]:
    """The sources as they are now; for a folder of files, these.

    Raises:
        DataError: A file cannot be read.
    """
    files = (file for path in paths for file in ([path] if _is_state(path) else expanded(path)))
    return tuple(map(_identified, files))


def blocks_of(
    paths: Sequence[Path], program: CheckedProgram, how: Reading, *, timed: bool
) -> Iterator[Block]:
    """The facts of sources, one after the other.

    Args:
        paths: The sources.
        program: Has their predicates.
        how: How files are read.
        timed: Whether facts have an event time, which those that expire need.

    Raises:
        DataError: A source cannot be read, is malformed, or does not fit the program.
    """
    expiring = () if timed else tuple(each.pattern for each in lower(program).expiries)
    dictionary = Dictionary()
    for path in paths:
        if len(dictionary) > _MOST_TERMS:
            dictionary = Dictionary()
        found = _of_state(path) if _is_state(path) else _of_file(path, dictionary, how)
        for block in found:
            where = f"{path}: "
            check_predicate(block.predicate, block.args.shape[1], program, where)
            check_asserted(block.predicate, program.constraints, where)
            if any(_matches(block, pattern) for pattern in expiring):
                raise DataError(
                    f"{where}facts of {block.predicate} expire (@expires), so they need an event "
                    "time. Give one for all facts: --ts 2026-01-31T12:00:00Z."
                )
            yield block


def _of_file(path: Path, dictionary: Dictionary, how: Reading) -> Iterator[Block]:
    for facts in load(path, dictionary, how):
        yield Block(facts.predicate, facts.args, facts.diff, dictionary, str(path))


def _of_state(path: Path) -> Iterator[Block]:
    try:
        facts = PastFacts(Past(path / "tables"))
        epoch = facts.past.last
        for predicate in sorted(facts.program(epoch).published):
            rows, terms = facts.published(predicate, epoch, asserted=True)
            yield Block(predicate, rows, np.ones(len(rows), np.int64), terms, str(path))
    except StateError as error:
        raise DataError(f"{path}: this state cannot be read. {error}") from None


def _identified(path: Path) -> Source:
    if path.is_dir():
        return Source(str(path))
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Source(str(path), path.stat().st_size, digest)
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror}).") from None


def _is_state(path: Path) -> bool:
    return (path / "tables" / "trace" / "_delta_log").is_dir()


def _matches(block: Block, pattern: Pattern) -> bool:
    """Whether a block has facts of a pattern."""
    if block.predicate != pattern.predicate:
        return False
    return bool(having(block.args, ids_of(pattern.constants, block.terms.find)).any())
