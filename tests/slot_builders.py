"""Logs of partitions, read in batches by the runner of a pipeline whose epochs are slots.

Tables and their files are real. What is published is kept instead of sent, and Spark's files are
those that it would have written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pyarrow as pa

from streamreasoner.backends.store import restored
from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.engine.session import Session
from streamreasoner.io.codec.decode import InputOptions
from streamreasoner.io.codec.encode import ChangeEncoder
from streamreasoner.io.formats.reading.timestamps import iso
from streamreasoner.io.formats.records.record import NO_SCHEMAS
from streamreasoner.io.observer import Observers
from streamreasoner.io.spark.offsets import Checkpoint, in_order
from streamreasoner.pipeline.batch import EpochRunner, Parts
from streamreasoner.pipeline.pressure.outage import Outage
from streamreasoner.pipeline.published import Published
from streamreasoner.pipeline.recovery import check_granularity, resume
from streamreasoner.pipeline.slots.evaluator import SlotEvaluator
from streamreasoner.pipeline.slots.waiting import Waiting
from streamreasoner.pipeline.slots.watermarks import Watermarks
from streamreasoner.plan.program_plan import InputSources
from streamreasoner.state.in_effect import ProgramInEffect, stored_text
from streamreasoner.state.tables import Tables

SECOND = 1000
START = 1_767_225_600_000
SOURCES = InputSources(("set",), ("keyed",))
PARTITIONS = (("bag", 0), ("bag", 1), ("set", 0), ("keyed", 0))
AHEAD = 5 * SECOND
_SCHEMA = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("ms", "UTC"),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
)


@dataclass(frozen=True)
class Sent:
    """A message of a log.

    Attributes:
        updates: Predicate, arguments, multiplicity and time of each.
        appended: When the broker appended it.
        key: Its key, in a topic with keys.
        header: Its time, if it has no updates.
    """

    updates: tuple
    appended: int
    key: str | None = None
    header: int | None = None

    def row(self, topic, partition, offset):
        """The message as Spark delivers it."""
        value = [
            {"predicate": predicate, "args": list(args), "diff": diff, "ts": iso(ts)}
            for predicate, args, diff, ts in self.updates
        ]
        header = None if self.header is None else str(self.header).encode()
        return {
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "timestamp": self.appended,
            "key": None if self.key is None else self.key.encode(),
            "value": json.dumps(value).encode(),
            "headers": None if header is None else [{"key": "ts", "value": header}],
        }


class Topics:
    """Keeps what is committed.

    Attributes:
        changes: Key, value and headers of messages on the output topic, in their order.
        violations: The same of violations.
        letters: Values and headers of dead letters.
        marker: The last marker.
    """

    def __init__(self):
        self.changes, self.violations, self.letters, self.marker = [], [], [], None

    def publish(self, publication):
        """Commit a transaction."""
        assert self.marker is None or publication.marker.epoch == self.marker.epoch + 1
        for kept, parts in (
            (self.changes, publication.changes),
            (self.violations, publication.violations),
        ):
            kept.extend(
                (part.partition, key, value, tuple(part.headers))
                for part in parts
                for key, value in zip(part.keys, part.values, strict=True)
            )
        self.letters += ((each.value, tuple(each.headers)) for each in publication.dead_letters)
        self.marker = publication.marker
        return 0

    def ask(self):
        """They are those on record."""
        return lambda: None


@dataclass
class Stream:
    """The logs, a state, and what was published.

    Attributes:
        directory: Of tables and checkpoint.
        checked: The program.
        logs: Messages by partition.
        granularity: Length of a slot.
        lateness: Allowed lateness.
        store: Makes the store of a process, given tables and the next epoch.
        encoder: How changes are written.
    """

    directory: object
    checked: object
    logs: dict
    granularity: int = SECOND
    lateness: int = 0
    store: object = None
    encoder: ChangeEncoder = field(default_factory=ChangeEncoder)
    limit: int = 100

    def __post_init__(self):
        self.topics = Topics()
        self.ends = [dict.fromkeys(self.logs, 0)]
        self._plan("sources/0/0", self.ends[0])
        self.process = None

    def table(self, first, after):
        """The messages of a range, in the order of a replay."""
        rows = [
            log[offset].row(*place, offset)
            for place, log in self.logs.items()
            for offset in range(first[place], after[place])
        ]
        return in_order(pa.Table.from_pylist(rows, _SCHEMA))

    def read(self, ends, crash=None):
        """Read up to these offsets as a batch, in a process that dies at a step, if it does."""
        epoch = len(self.ends) - 1
        self.ends.append(ends)
        self._plan(f"offsets/{epoch}", ends)
        if crash is not None:
            process = self.process or Process(self)
            process.die_at(crash)
            try:
                self._run(process, epoch)
            except KeyboardInterrupt:
                process.close()
                self.process = None
        if self.process is None:
            self.process = Process(self)
        if self.process.runner.next == epoch:
            self._run(self.process, epoch)
        self._plan(f"commits/{epoch}", None)

    def restart(self):
        """End the process; the next batch begins another."""
        if self.process is not None:
            self.process.close()
        self.process = None

    def _run(self, process, epoch):
        batch = self.table(self.ends[epoch], self.ends[epoch + 1])
        # Spark delivers partitions in any order.
        backwards = pa.array(range(len(batch))[::-1], pa.int64())
        process.runner.run(batch.take(backwards), epoch, lambda: None)

    def _plan(self, name, ends):
        path = self.directory / "checkpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = {}
        for (topic, partition), end in (ends or {}).items():
            text.setdefault(topic, {})[str(partition)] = end
        lines = (
            [json.dumps(text)] if ends is None or "sources" in name else ["{}", json.dumps(text)]
        )
        path.write_text("\n".join(["v1", *lines]))

    def messages(self, offsets):
        """Messages of ranges, as `reread` gives them."""
        rows = [
            self.logs[topic, int(partition)][offset].row(topic, int(partition), offset)
            for topic, partitions in offsets.items()
            for partition, (first, after) in partitions.items()
            for offset in range(first, after)
        ]
        return pa.Table.from_pylist(rows, _SCHEMA)


class Process:
    """A process of the pipeline on a state."""

    def __init__(self, stream):
        self.stream = stream
        checked = stream.checked
        text = stored_text(checked)
        plan = Checkpoint.read(stream.directory / "checkpoint")
        self.tables = Tables.open(
            stream.directory / "tables", "app", text, max(text.arities.values()) + 1, waiting=True
        )
        check_granularity(self.tables.last_record, stream.granularity)
        point = resume(stream.topics.marker, self.tables, plan)
        record = self.tables.record(point.before - 1) if point.before else None
        frontier = NO_FRONTIER if record is None or record.frontier is None else record.frontier
        marks = Watermarks(
            stream.granularity, stream.lateness, AHEAD, record and record.slots, frontier
        )
        waiting = Waiting(
            {topic for topic, _ in stream.logs},
            (*SOURCES.sets, *SOURCES.keyed),
            self.tables.waiting(point.before, marks.closed),
        )
        self.waiting, self.marks = waiting, marks
        make = stream.store or restored
        self.session = Session(
            checked,
            make(self.tables, point.before),
            recursion_limit=stream.limit,
            sources=SOURCES,
        )
        self.session.resume_before(point.before, marks.closed)
        options = InputOptions(
            max_message_bytes=10_000, max_term_bytes=10_000, sources=SOURCES, max_ahead=AHEAD
        )
        in_effect = ProgramInEffect(checked, text, text.arities, 8)
        evaluator = SlotEvaluator(
            self.session,
            in_effect,
            options,
            Published(closure=True, upsert=stream.encoder.holds is not None),
            Observers(),
            marks,
            waiting,
            stream.messages,
        )
        self.parts = Parts(
            checkpoint=plan,
            topics=stream.topics,
            schemas=NO_SCHEMAS,
            evaluation=evaluator,
            dictionary=self.session.dictionary,
            tables=self.tables,
            upload=lambda: None,
            encoder=stream.encoder,
            sink=stream.topics,
            marker=lambda: stream.topics.marker,
            observer=Observers(),
            outage=Outage(Observers()),
            semantics={"set": "set", "keyed": "upsert"},
        )
        self.runner = EpochRunner(self.parts, point)

    def die_at(self, step):
        """End the process in evaluation (0), after durable step 1 or after 2."""
        tables, topics = self.tables, self.stream.topics

        class Dying:
            """A sink that ends the process."""

            def publish(self, publication):
                """Step 2, before or after the commit."""
                if step == 2:
                    topics.publish(publication)
                raise KeyboardInterrupt

        if step == 0:

            def commit(*_):
                raise KeyboardInterrupt

            tables.commit = commit
        self.parts = replace(self.parts, sink=Dying())
        point = resume(topics.marker, tables, Checkpoint.read(self.stream.directory / "checkpoint"))
        self.runner = EpochRunner(self.parts, point)

    def close(self):
        """Close the tables."""
        self.tables.close()


def cut(logs, weights):
    """Ends of batches: each weight moves one partition; the last batch reads the rest."""
    ends = [dict.fromkeys(logs, 0)]
    for place, count in weights:
        ends.append({**ends[-1], place: min(ends[-1][place] + count, len(logs[place]))})
    return [*ends[1:], {place: len(log) for place, log in logs.items()}]
