"""Files of facts as commands load them. Invariant: what is not read is told, once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import TRIPLE
from streamreasoner.rdf.vocabulary import OWL, RDF_TYPE

if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from pathlib import Path

    from streamreasoner.engine.session import Session
    from streamreasoner.io.files.documents import Reading

_TOLD = 5


def load_files(
    session: Session, paths: Iterable[Path], how: Reading, needed: Container[str] | None = None
) -> None:
    """Take the facts of files as one epoch, and tell on standard error what is not read.

    Args:
        session: Takes them.
        paths: The files.
        how: How to read them.
        needed: The predicates whose facts are taken; None: all.

    Raises:
        DataError: A file cannot be read, or its facts do not fit the program.
    """
    from streamreasoner.api.files import updates_of_file

    paths = tuple(paths)
    tell_skipped(paths, how)
    blocks = (block for path in paths for block in updates_of_file(session, path, how))
    if needed is not None:
        blocks = (block for block in blocks if block.predicate in needed)
    session.load(blocks, report=False)
    tell_imported(session)


def tell_skipped(paths: Iterable[Path], how: Reading) -> None:
    """Tell on standard error which files of folders and archives are not read."""
    from streamreasoner.io.files.documents import skipped

    if names := skipped(paths, how):
        print(f"Skipped, not facts: {_some(names)}.", file=sys.stderr)


def tell_imported(session: Session) -> None:
    """Tell on standard error which ontologies the files import, but do not have."""
    if TRIPLE not in session.program.arities:
        return
    ontologies = {
        *_column(session, 0, {1: RDF_TYPE, 2: f"{OWL}Ontology"}),
        *_column(session, 2, {1: f"{OWL}versionIRI"}),
    }
    names = {*_column(session, 2, {1: f"{OWL}imports"})} - ontologies
    if names:
        them = "them" if len(names) > 1 else "it"
        print(
            f"Imported with owl:imports, but not read: {_some(sorted(names))}. Imports are not"
            f" followed: name the files of {them}, too, if they are needed.",
            file=sys.stderr,
        )


def _column(session: Session, position: int, bound: dict[int, str]) -> list[str]:
    """The terms at a position of the present triples with these IRIs at others."""
    ids = {at: session.dictionary.find(f"<{iri}>") for at, iri in bound.items()}
    known = {at: number for at, number in ids.items() if number is not None}
    if len(known) < len(ids):
        return []
    found = session.engine.select(TRIPLE, known)
    terms: list[str] = session.dictionary.decode(
        found.args[found.since >= 0][:, position]
    ).to_pylist()
    return terms


def _some(names: list[str]) -> str:
    more = len(names) - _TOLD
    return ", ".join(names[:_TOLD]) + (f" and {more:,} more" if more > 0 else "")
