"""Builders of small epochs for the tests of the tables."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from streamreasoner.engine.updates import TraceRows
from streamreasoner.program.text import ProgramText
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.state.delta.retention import Retention
from streamreasoner.state.record import EpochRecord
from streamreasoner.state.tables import Tables

APP = "test-application"
PROGRAM = ProgramText("program-hash", "p(?x) :- q(?x) .\n", ("p/1", "q/1"))
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def open_tables(
    directory,
    *,
    app=APP,
    program=PROGRAM,
    arity=3,
    create=True,
    waiting=False,
    trace_epochs=1000,
    **retained,
):
    """Tables of the test application."""
    options = {"create": create, "waiting": waiting}
    options["retention"] = Retention(trace_epochs=trace_epochs, **retained)
    return Tables.open(directory, app, program, arity, **options)


def trace_rows(predicate, *rows):
    """`TraceRows` from (args, iteration, multiplicity) triples."""
    return TraceRows(
        predicate,
        np.array([args for args, _, _ in rows], np.int32).reshape(len(rows), -1 if rows else 1),
        np.array([iteration for _, iteration, _ in rows], np.int32),
        np.array([multiplicity for _, _, multiplicity in rows], np.int64),
    )


def terms(*names):
    """Canonical IRIs, as an array like the dictionary's."""
    return pa.array([f"<http://example.org/{name}>" for name in names], pa.large_string())


def changes(predicate, *rows):
    """Decoded changes from (argument names, multiplicity) pairs."""
    columns = [terms(*column) for column in zip(*(args for args, _ in rows), strict=True)]
    return (predicate, columns, np.array([sign for _, sign in rows], np.int8))


def offsets(epoch):
    """An input range, different for each epoch."""
    return {"input": {"0": [epoch * 10, epoch * 10 + 10]}}


def record(epoch, program=PROGRAM):
    """The record of an epoch, with the program in effect."""
    return EpochRecord(epoch, offsets(epoch), program.hash)


def commit_one(tables, epoch, *, trace=None, new_terms=(), changed=(), program=None):
    """Commit an epoch, by default with one trace row."""
    rows = [trace_rows("triple", ((epoch, 1, 2), 0, 1))] if trace is None else trace
    added = (tables.terms_stored, terms(*new_terms))
    tables.commit(record(epoch, program or PROGRAM), added, rows, [(NOW, changed)], program)


def restored(tables, before):
    """The restored trace as {predicate: {(args, iteration): multiplicity}}, and the dictionary."""
    dictionary = Dictionary()
    tables.restore_terms(dictionary)
    trace = {}
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
        by_fact = trace.setdefault(block.predicate, {})
        assert not by_fact.keys() & rows.keys()
        by_fact.update(rows)
    return trace, dictionary
