"""Small epochs for the tests of the tables; not a test."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from streamreasoner.collection.programs import ProgramText
from streamreasoner.collection.updates import TraceRows
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.storage import Tables

APP = "test-application"
PROGRAM = ProgramText("program-hash", "p(?x) :- q(?x) .\n", ("p/1", "q/1"))
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def open_tables(directory, *, app=APP, program=PROGRAM, arity=3, create=True, history=1000):
    """Tables of the test application."""
    return Tables.open(directory, app, program, arity, create=create, history=history)


def trace_rows(predicate, *rows):
    """`TraceRows` from (args, iteration, multiplicity) triples."""
    return TraceRows(
        predicate,
        np.array([args for args, _, _ in rows], np.int32).reshape(len(rows), -1 if rows else 1),
        np.array([iteration for _, iteration, _ in rows], np.int32),
        np.array([multiplicity for _, _, multiplicity in rows], np.int64),
    )


def terms(*names):
    """Canonical IRIs as the dictionary gives them."""
    return pa.array([f"<http://example.org/{name}>" for name in names], pa.large_string())


def changes(predicate, *rows):
    """Decoded changes from (argument names, multiplicity) pairs."""
    columns = [terms(*column) for column in zip(*(args for args, _ in rows), strict=True)]
    return (predicate, columns, np.array([sign for _, sign in rows], np.int8))


def offsets(epoch):
    """An input range that is different for each epoch."""
    return {"input": {"0": [epoch * 10, epoch * 10 + 10]}}


def commit_one(tables, epoch, *, trace=None, new_terms=(), changed=(), program=None):
    """One epoch with one trace row unless told otherwise."""
    rows = [trace_rows("triple", ((epoch, 1, 2), 0, 1))] if trace is None else trace
    given = (tables.terms_stored, terms(*new_terms))
    tables.commit(epoch, NOW, given, rows, changed, offsets(epoch), program)


def restored(tables, before):
    """The restored trace as {predicate: {(args, iteration): multiplicity}}, and the dictionary."""
    dictionary = Dictionary()
    tables.restore_terms(dictionary)
    found = {}
    for block in tables.restore(before):
        rows = {
            (tuple(args), iteration): multiplicity
            for args, iteration, multiplicity in zip(
                block.args.tolist(),
                block.iteration.tolist(),
                block.multiplicity.tolist(),
                strict=True,
            )
        }
        before_it = found.setdefault(block.predicate, {})
        assert not before_it.keys() & rows.keys()
        before_it.update(rows)
    return found, dictionary
