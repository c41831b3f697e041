"""A reasoner in a Spark session that exists: streams, frames, and states as tables."""

from __future__ import annotations

import json
import pickle

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from rdflib import URIRef
from spark_jvm import MARKS

from streamreasoner import Reasoner, Update
from streamreasoner.errors import DataError, EnvironmentSetupError
from streamreasoner.spark import reason, reasoner, register

pytestmark = MARKS

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
COLUMNS = "a0 string, a1 string, diff long"
BATCHES = [
    [("a", "b", 1), ("b", "c", 1), ("c", "d", 1)],
    [("b", "c", -1), ("a", "c", 1)],
    [("d", "a", 1), ("b", "c", 1)],
]


def iri(name):
    """A term."""
    return f"<http://example.org/{name}>"


def send(folder, number, rows):
    """A file of updates, which a stream takes as one batch."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"a0": iri(x), "a1": iri(y), "diff": diff}) for x, y, diff in rows]
    (folder / f"{number}.json").write_text("\n".join(lines) + "\n")


def stream(spark, folder, function, checkpoint):
    """Hand a function all that is new in a folder, a file a batch."""
    frame = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder))
    query = (
        frame.writeStream.foreachBatch(function)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def from_scratch(batches):
    """What a reasoner derives from the same updates at once."""
    fresh = Reasoner.from_rules(RULES)
    fresh.apply(
        Update("edge", (iri_of(x), iri_of(y)), diff) for rows in batches for x, y, diff in rows
    )
    return set(fresh.facts("path"))


def iri_of(name):
    """A term as rdflib has it."""
    return URIRef(iri(name)[1:-1])


@pytest.fixture
def place(tmp_path):
    """Folders of input, state and checkpoint."""
    return tmp_path / "input", tmp_path / "state", tmp_path / "checkpoint"


def test_a_stream_is_kept_up_to_date(spark, place):
    """Batches are epochs, over restarts; the consequences equal those from scratch."""
    folder, state, checkpoint = place
    for number, rows in enumerate(BATCHES):
        send(folder, number, rows)
        # Without rules, from the second start on: the state has them.
        with reasoner(RULES if number == 0 else None, state, predicate="edge") as keep:
            stream(spark, folder, keep, checkpoint)
            assert keep.reasoner.epochs == number + 1
            assert set(keep.reasoner.facts("path")) == from_scratch(BATCHES[: number + 1])


def test_a_batch_counts_once(spark, place):
    """A crash before or after the state has a batch loses and doubles nothing."""
    folder, state, checkpoint = place
    for number, rows in enumerate(BATCHES):
        send(folder, number, rows)

    with reasoner(RULES, state, predicate="edge") as keep:
        crashes = {(1, "after"), (2, "before")}

        def crashing(frame, batch):
            for moment in ("before", "after"):
                if (batch, moment) in crashes:
                    crashes.remove((batch, moment))
                    raise OSError(moment)
                if moment == "before":
                    keep(frame, batch)

        for moment in ("after", "before"):
            with pytest.raises(StreamingQueryException, match=f"OSError: {moment}"):
                stream(spark, folder, crashing, checkpoint)
        assert keep.reasoner.epochs == 2
    with reasoner(None, state, predicate="edge") as keep:
        keep.reasoner.add_rules("back(?y, ?x) :- path(?x, ?y) .")
        stream(spark, folder, keep, checkpoint)
        assert keep.reasoner.epochs == 4
        assert set(keep.reasoner.facts("path")) == from_scratch(BATCHES)


def test_another_checkpoint_is_refused(spark, place):
    """It would read the source again, so that updates count twice."""
    folder, state, checkpoint = place
    send(folder, 0, BATCHES[0])
    with reasoner(RULES, state, predicate="edge") as keep:
        stream(spark, folder, keep, checkpoint)
        with pytest.raises(StreamingQueryException, match=r"new checkpoint.*another name"):
            stream(spark, folder, keep, checkpoint.with_name("other"))
    with reasoner(None, state, predicate="edge", stream="second") as keep:
        stream(spark, folder, keep, checkpoint.with_name("other"))
        assert set(keep.reasoner.trace("edge").to_arrow()["multiplicity"].to_pylist()) == {2}


def test_invalid_rows_are_set_aside(spark, place):
    """Rows that are not facts, and rows that make an epoch fail; the others are applied."""
    folder, state, checkpoint = place
    send(folder, 0, [("a", "b", 1), ("b", "c", 0), ("b b", "c", 1), ("c", "d", 1 << 58)])
    send(folder, 1, [("b", "c", 1), ("c", "d", 1 << 58)])
    with reasoner(RULES, state, predicate="edge") as keep:
        stream(spark, folder, keep, checkpoint)
        assert keep.rejected == 3
        assert len(keep.reasoner.facts("path")) == 6
    rows = spark.read.parquet(str(state / "rejected" / "updates")).orderBy("reason").collect()
    assert [row.reason[:18] for row in rows] == [
        "A multiplicity lef",
        "column a0: Term '<",
        "column multiplicit",
    ]


def test_a_frame_may_name_predicates(spark, tmp_path):
    """Rows of `changes` of one state are input of another."""
    schema = "predicate string, args array<string>, diff long"
    rows = [("edge", [iri("a"), iri("b")], 1), ("edge", [iri("b")], 1), ("egde", [], 1)]
    rows += [("path", [iri("c"), iri("d")], 1), (None, [], 1), ("edge", None, 1)]
    with reasoner(RULES, tmp_path / "state") as keep:
        keep(spark.createDataFrame(rows, schema), 0)
        assert len(keep.reasoner.facts("path")) == 2
        assert keep.rejected == 4


def test_consequences_of_a_frame(spark):
    """A frame of facts to a frame of consequences, with terms as texts."""
    frame = spark.createDataFrame([(iri("a"), iri("b")), (iri("b"), iri("c"))], ["a0", "a1"])
    derived = reason(frame, RULES, predicate="edge", output="path")
    assert derived.columns == ["x", "y"]
    assert {tuple(row) for row in derived.collect()} == {
        (iri("a"), iri("b")),
        (iri("b"), iri("c")),
        (iri("a"), iri("c")),
    }
    with pytest.raises(DataError, match="a DataFrame of Spark, not list"):
        reason([("<x:a>", "<x:b>")], RULES, predicate="edge")
    with pytest.raises(DataError, match="Row 0: column a0"):
        reason(spark.createDataFrame([("a b", iri("b"))], ["a0", "a1"]), RULES, predicate="edge")


def test_a_state_is_a_table(spark, tmp_path):
    """Its facts, now and at the end of an epoch, and its changes, once and as a stream."""
    register(spark)
    state = str(tmp_path / "state")
    with Reasoner.open(state, RULES) as kept:
        for rows in BATCHES:
            kept.apply(Update("edge", (iri_of(x), iri_of(y)), diff) for x, y, diff in rows)

        facts = spark.read.format("streamreasoner").option("predicate", "path")
        now = {tuple(row) for row in facts.load(state).collect()}
        assert now == {tuple(term.n3() for term in fact) for fact in kept.facts("path")}
        assert facts.option("at", 1).load(state).count() == len(from_scratch(BATCHES[:2]))

        seen = []
        changes = spark.readStream.format("streamreasoner").option("table", "changes").load(state)

        def read():
            query = (
                changes.writeStream.foreachBatch(lambda frame, _: seen.extend(frame.collect()))
                .option("checkpointLocation", str(tmp_path / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()

        read()
        once = spark.read.format("streamreasoner").option("table", "changes").load(state)
        assert sorted(map(tuple, seen)) == sorted(map(tuple, once.collect()))
        kept.apply([Update("edge", (iri_of("d"), iri_of("a")), -1)])
        before = len(seen)
        read()
        assert {row.epoch for row in seen[before:]} == {3}
        held = {}
        for row in seen:
            fact = row.predicate, *row.args
            held[fact] = held.get(fact, 0) + row.diff
        assert {fact[1:] for fact, count in held.items() if count and fact[0] == "path"} == {
            tuple(term.n3() for term in fact) for fact in kept.facts("path")
        }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"predicate": "pth"}, "pth"),
        ({"at": "9"}, "Epoch 9 is not complete"),
        ({"at": "-1"}, "number of an epoch"),
        ({"table": "terms"}, "facts and changes"),
        ({"epoch": "1"}, "No option is called 'epoch'"),
    ],
)
def test_options_that_a_table_does_not_have(spark, tmp_path, options, message):
    """Each is refused by name."""
    register(spark)
    with Reasoner.open(tmp_path / "state", RULES) as kept:
        kept.apply([Update("edge", (iri_of("a"), iri_of("b")))])
    with pytest.raises(AnalysisException, match=message):
        spark.read.format("streamreasoner").options(**options).load(str(tmp_path / "state"))


def test_a_reasoner_stays_in_its_process(tmp_path):
    """Spark Connect would copy it."""
    with (
        reasoner(RULES, tmp_path / "state") as keep,
        pytest.raises(EnvironmentSetupError, match="classic session"),
    ):
        pickle.dumps(keep)
    with pytest.raises(DataError, match="does not name a stream"):
        reasoner(RULES, tmp_path / "state", stream="a/b")
