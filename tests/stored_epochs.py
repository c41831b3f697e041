"""Epochs of a reasoner that are stored in tables, as a pipeline stores them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.backends.store import columnar
from streamreasoner.facts import decode_facts
from streamreasoner.io.codec.encode import decode_changes
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.state import Tables
from streamreasoner.state.in_effect import stored_text
from streamreasoner.state.maintenance.maintain import merge
from streamreasoner.state.record import EpochRecord

APP = "test-application"
BATCH = '{"batchWatermarkMs":0,"batchTimestampMs":1767225600000,"conf":{}}'
"""What Spark records of a batch."""
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class StoredReasoner:
    """A reasoner and the tables of its epochs.

    Attributes:
        present: The present facts at the end of each epoch, as sets.
        arities: Arity of each predicate at the end of each epoch.
    """

    def __init__(self, directory, rules, *, closure=False, **options):
        self.directory, self.closure = directory, closure
        program = check_text(rules)
        self.reasoner = Reasoner(program)
        width = max(3, *program.arities.values())
        self.tables = Tables.open(directory, APP, stored_text(program), width, **options)
        self.present, self.arities = [], []

    @classmethod
    def resumed(cls, directory, rules, before):
        """A reasoner of another process, restored before an epoch."""
        stored = cls(directory, rules)
        dictionary = Dictionary()
        stored.tables.restore_terms(dictionary)
        stored.reasoner = Reasoner(stored.reasoner.program, store=columnar(dictionary))
        stored.reasoner.session.engine.restore(stored.tables.restore(before), before)
        stored.present, stored.arities = [None] * before, [None] * before
        return stored

    @property
    def epoch(self):
        """The next epoch."""
        return len(self.present)

    def run(self, updates=(), rules=None, **options):
        """One epoch of (predicate, terms, multiplicity), with another program if it is given.

        After the multiplicity there may be a time.
        """
        reasoner, epoch = self.reasoner, self.epoch
        encoded = [
            replace(
                reasoner.session.rows(predicate, [list(args)], [diff]),
                times=np.array(time, np.int64) if time else None,
            )
            for predicate, args, diff, *time in updates
        ]
        program = None if rules is None else check_text(rules)
        if program is None:
            result = reasoner.session.engine.apply(epoch, encoded, **options)
        else:
            result = reasoner.session.apply(encoded, program, epoch=epoch)
        changes = result.closure if self.closure else result.derived
        terms = reasoner.session.dictionary
        text = stored_text(reasoner.program)
        self.tables.commit(
            EpochRecord(epoch, {"in": {"0": [epoch, epoch + 1]}}, text.hash),
            (0, terms.terms(0, len(terms))),
            result.trace,
            [(BEGINNING + timedelta(hours=epoch), decode_changes(changes, terms))],
            None if program is None else text,
        )
        self.arities.append(dict(reasoner.program.arities))
        self.present.append(
            {
                fact
                for predicate in reasoner.program.arities
                for fact in decode_facts(predicate, reasoner.session.engine.facts(predicate), terms)
            }
        )

    def merge(self, horizon):
        """Merge the files of each predicate, and sum the epochs up to this one."""
        trace = self.tables._tables["trace"]  # noqa: SLF001 - what maintenance works on
        groups = {}
        for file in trace.files():
            groups.setdefault(file.predicate, []).append(file)
        merge(trace, list(groups.values()), horizon)

    def close(self):
        """Release the tables."""
        with ExitStack() as stack:
            stack.callback(self.tables.close)


def write_checkpoint(directory, epochs):
    """A checkpoint of Spark in which so many batches are committed."""
    for name in ("offsets", "commits", "sources/0"):
        (directory / name).mkdir(parents=True)
    (directory / "metadata").write_text('{"id":"1c0b6a04-3f5c-4a6f-9d3c-0d9a4c0c0c0c"}')
    (directory / "sources/0/0").write_text('v1\n{"in":{"0":0}}')
    for epoch in range(epochs):
        offsets = f'v1\n{BATCH}\n{{"in":{{"0":{epoch + 1}}}}}'
        (directory / "offsets" / str(epoch)).write_text(offsets)
        (directory / "commits" / str(epoch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
