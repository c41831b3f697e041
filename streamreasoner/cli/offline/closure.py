"""The closure in files and formats, as `materialize` writes it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from streamreasoner.errors import DataError
from streamreasoner.facts import decode_facts, in_order
from streamreasoner.io.formats.csv import NO_ARGUMENTS
from streamreasoner.io.formats.registry import NQUADS, graph_syntax, message_writer
from streamreasoner.io.formats.writing.graphs import write_graph
from streamreasoner.io.formats.writing.writer import is_rdf
from streamreasoner.lang.ast import ARITIES, QUAD, TRIPLE
from streamreasoner.rdf.texts import scalar
from streamreasoner.rdf.version import has_new_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from streamreasoner.engine.session import Session
    from streamreasoner.io.formats.reading.format import Format
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.rdf.dictionary import Dictionary

GENERALIZED = ".generalized"
"""Part of the names of files of triples and quads that are not RDF."""
_CHUNK = 1 << 18
_OBJECT = 2
_LINES = {TRIPLE: ".nt", QUAD: ".nq"}
_NUMBERS = ["iteration", "multiplicity"]
_BLANK, _END = map(scalar, (" ", ".\n"))


def facts_of(session: Session, predicate: str, *, inferred: bool) -> NDArray[np.int32]:
    """The present facts of a predicate, of shape (n, arity), or those that are not asserted."""
    facts = session.engine.facts(predicate)
    return facts[session.engine.asserted(predicate, facts) <= 0] if inferred else facts


def write_closure(
    session: Session,
    directory: Path,
    predicates: Iterable[str],
    *,
    inferred: bool,
    trace: bool,
    header: bool,
) -> int:
    """Write the facts of predicates to a directory; returns how many are not RDF.

    Args:
        session: Has the facts.
        directory: Gets triple.nt, quad.nq, and a .csv for each other predicate; generalized RDF
            goes to files named `GENERALIZED`.
        predicates: Whose facts are written.
        inferred: Leave out what is asserted.
        trace: Also write iterations and multiplicities.
        header: Begin CSV files with a header line.

    Raises:
        DataError: The directory cannot be written.
    """
    generalized = 0
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for predicate in predicates:
            facts = facts_of(session, predicate, inferred=inferred)
            if predicate in _LINES:
                generalized += _write_lines(directory, predicate, facts, session.dictionary)
            else:
                with _complete(directory / f"{predicate}.csv") as path:
                    _write_rows(path, facts, session.dictionary, header=header)
            if trace:
                rows = session.engine.trace(predicate)
                numbers = [pa.array(rows.iteration), pa.array(rows.multiplicity)]
                with _complete(directory / f"{predicate}.trace.csv") as path:
                    _write_rows(path, rows.args, session.dictionary, numbers, header=header)
    except OSError as error:
        raise DataError(f"{directory}: cannot be written: {error.strerror}.") from None
    return generalized


def write_provenance(session: Session, path: Path) -> None:
    """Write where all facts come from to a file, in order, hidden ones included.

    Raises:
        DataError: The file cannot be written.
    """
    from streamreasoner.explain import provenance

    program, engine, terms = session.program, session.engine, session.dictionary
    facts = (
        fact
        for predicate in sorted({**program.arities, **program.helpers})
        for fact in decode_facts(predicate, in_order(engine.facts(predicate), terms), terms)
    )
    try:
        with _complete(path) as part, part.open("w", encoding="utf-8") as file:
            file.writelines(provenance(program, engine, terms, facts))
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}.") from None


def check_printable(predicates: Sequence[str], format_: Format) -> None:
    """Check that a format has the predicates whose facts are printed.

    Raises:
        DataError: It lacks some; names them.
    """
    syntax = graph_syntax(format_)
    if syntax is None:
        known = message_writer(format_).predicates
    else:
        known = tuple(ARITIES) if syntax.supports_datasets else (TRIPLE,)
    others = [name for name in predicates if known is not None and name not in known]
    if others:
        raise DataError(
            f"--format {format_.name} has facts of {' and '.join(known or ())} only, but those of"
            f" {', '.join(others)} would be printed too. Declare what to print, for example with"
            ' "@output triple .", or use --format json.'
        )


def printed(program: CheckedProgram, *, hidden: bool) -> list[str]:
    """The predicates whose facts are printed: those that a pipeline publishes, or all."""
    return sorted(program.arities if hidden else program.published)


def print_closure(
    session: Session,
    predicates: Sequence[str],
    format_: Format,
    stream: BinaryIO,
    prefixes: Mapping[str, str],
    *,
    inferred: bool,
) -> int:
    """Print the facts in a format, sorted; returns how many are not printed, as they are not RDF.

    Args:
        session: Has the facts.
        predicates: Whose facts are printed.
        format_: The format.
        stream: Gets the text.
        prefixes: Prefix name to IRI, for the formats that have them.
        inferred: Leave out what is asserted.
    """
    syntax = graph_syntax(format_)
    writer, generalized = message_writer(format_ if syntax is None else NQUADS), 0

    def blocks() -> Iterator[list[bytes]]:
        nonlocal generalized
        for predicate in predicates:
            present = facts_of(session, predicate, inferred=inferred)
            facts = in_order(present, session.dictionary)
            if syntax is not None and predicate == QUAD:
                facts = _by_graph(facts)
            for start in range(0, len(facts), _CHUNK):
                columns = _columns(facts[start : start + _CHUNK], session.dictionary)
                ones = np.ones(len(facts[start : start + _CHUNK]), dtype=np.int64)
                said = writer.said(predicate, columns, len(ones))
                generalized += len(said) - int(said.sum())
                texts = writer.texts(predicate, columns, ones).filter(pa.array(said))
                yield texts.cast(pa.large_binary()).to_pylist()

    document = writer.document(blocks())
    if syntax is None:
        stream.writelines(document)
    else:
        new = any(_has_new_terms(session, each, inferred=inferred) for each in predicates)
        write_graph(document, syntax, prefixes, stream, has_new_terms=new)
    return generalized


def _has_new_terms(session: Session, predicate: str, *, inferred: bool) -> bool:
    """Whether a triple or quad has an object that RDF 1.1 lacks."""
    objects = np.unique(facts_of(session, predicate, inferred=inferred)[:, _OBJECT])
    chunks = (objects[start : start + _CHUNK] for start in range(0, len(objects), _CHUNK))
    return any(has_new_terms(session.dictionary.decode(chunk)) for chunk in chunks)


def _by_graph(facts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Quads in order, so that each graph stands together, the graphs in the order they come in."""
    _, first, graphs = np.unique(facts[:, -1], return_index=True, return_inverse=True)
    return facts[np.argsort(first[graphs], kind="stable")]


@contextmanager
def _complete(path: Path) -> Iterator[Path]:
    """A file that takes the place of another one once it is complete."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _write_lines(
    directory: Path, predicate: str, facts: NDArray[np.int32], dictionary: Dictionary
) -> int:
    """Write RDF to one file, and generalized RDF, if any, to another."""
    suffix = _LINES[predicate]
    generalized_path = directory / f"{predicate}{GENERALIZED}{suffix}"
    generalized_path.unlink(missing_ok=True)
    generalized, extra = 0, None
    with ExitStack() as stack:
        path = stack.enter_context(_complete(directory / f"{predicate}{suffix}"))
        file = stack.enter_context(path.open("wb"))
        for start in range(0, len(facts), _CHUNK):
            columns = _columns(facts[start : start + _CHUNK], dictionary)
            valid = is_rdf(columns)
            lines = pc.binary_join_element_wise(*columns, _END, _BLANK)
            _write_text(file, lines.filter(valid))
            others = lines.filter(pc.invert(valid))
            if len(others):
                generalized += len(others)
                if extra is None:
                    path = stack.enter_context(_complete(generalized_path))
                    extra = stack.enter_context(path.open("wb"))
                _write_text(extra, others)
    return generalized


def _write_text(file: BinaryIO, lines: pa.Array) -> None:
    # The column's data buffer holds the lines back to back.
    if len(lines):
        file.write(lines.buffers()[2])


def _write_rows(
    path: Path,
    facts: NDArray[np.int32],
    dictionary: Dictionary,
    numbers: list[pa.Array] | None = None,
    *,
    header: bool,
) -> None:
    names = [f"a{i}" for i in range(facts.shape[1])]
    names += _NUMBERS if numbers else []
    if not names:
        path.write_text(f"{NO_ARGUMENTS}\n" * (header + len(facts)), encoding="utf-8")
        return
    options = pyarrow.csv.WriteOptions(include_header=header, quoting_style="needed")
    schema = pa.schema(
        [(name, pa.large_string()) for name in names[: facts.shape[1]]]
        + [(name, a.type) for name, a in zip(names[facts.shape[1] :], numbers or [], strict=True)]
    )
    with pyarrow.csv.CSVWriter(path, schema, write_options=options) as writer:
        for start in range(0, len(facts), _CHUNK):
            columns = _columns(facts[start : start + _CHUNK], dictionary)
            extra = [column.slice(start, _CHUNK) for column in numbers or []]
            writer.write(pa.record_batch([*columns, *extra], schema=schema))


def _columns(facts: NDArray[np.int32], dictionary: Dictionary) -> list[pa.Array]:
    return [dictionary.decode(facts[:, i]) for i in range(facts.shape[1])]
