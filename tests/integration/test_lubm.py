"""LUBM(1) through a real pipeline: every line produced, a random tenth retracted.

The data is next to the repository, see benchmarks/harness.py; without it the test is skipped.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable
from kafka import KafkaProducer
from pipelines import await_published, changes, net, new_case, no_change_twice, triple
from spark_jvm import MARKS

from benchmarks import harness
from streamreasoner import rulesets
from streamreasoner.io.formats.ntriples import read
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS


def lines():
    """Every line of univ-bench and LUBM(1) as three canonical terms, repeats included."""
    dictionary = Dictionary()
    for file in harness.lubm(1):
        for block in read(file, dictionary):
            columns = (dictionary.decode(block[:, i]).to_pylist() for i in range(3))
            yield from zip(*columns, strict=True)


def produce_all(case, values):
    """Send values through kafka-python, spread over the partitions; the last of each as records."""
    producer = KafkaProducer(bootstrap_servers=case.kafka.bootstrap_servers, linger_ms=20)
    topic = case.kafka.input_topics[0]
    partitions = sorted(producer.partitions_for(topic))
    last = {}
    for number, value in enumerate(values):
        partition = partitions[number % len(partitions)]
        last[partition] = producer.send(topic, value=value, partition=partition)
    producer.flush()
    producer.close()
    return [future.get(30) for future in last.values()]


def materialized(remaining, directory):
    """The closure and the trace that `streamreasoner materialize` writes for the triples."""
    counts, files = Counter(remaining), []
    while counts:  # a file is a set, so that what is asserted n times is in n files
        files.append(directory / f"remaining-{len(files)}.nt")
        files[-1].write_text("".join(f"{s} {p} {o} .\n" for s, p, o in counts), encoding="utf-8")
        counts -= Counter(counts.keys())
    command = [sys.executable, "-m", "streamreasoner", "materialize", "rho-df", *map(str, files)]
    subprocess.run([*command, "--output", str(directory), "--trace"], check=True, cwd=root())
    with duckdb.connect() as connection:
        rows = connection.execute(
            "select column0, column1, column2, column3::int, column4::bigint from read_csv(?,"
            " header=false, all_varchar=true, delim=',', quote='\"', escape='\"')",
            [str(directory / "triple.trace.csv")],
        ).fetchall()
    closure = (directory / "triple.nt").read_text(encoding="utf-8").splitlines()
    return closure, rows


def root():
    """The repository."""
    return Path(__file__).resolve().parents[2]


@pytest.mark.skipif(
    not harness.DATA.exists(),
    reason=f"{harness.DATA} with the LUBM data is absent; see benchmarks/harness.py",
)
def test_lubm_through_the_pipeline(broker, tmp_path):
    """Output sums to the closure minus the asserted facts, and the trace is materialize's."""
    case = new_case(broker, tmp_path, rulesets.text("rho-df"), partitions=4)
    asserted = list(lines())
    rng = random.Random(0)
    retracted = rng.sample(asserted, len(asserted) // 10)
    remaining = list((Counter(asserted) - Counter(retracted)).elements())

    assert len(asserted) == 103_367
    with pipeline(case.config) as started:
        await_published(case, produce_all(case, (triple(*terms) for terms in asserted)))
        await_published(case, produce_all(case, (triple(*terms, diff=-1) for terms in retracted)))
        started.query.stop()
        started.query.wait()

    closure, trace = materialized(remaining, tmp_path)
    output = changes(case)
    derived = {tuple(line[:-2].split(" ", 2)) for line in closure} - set(remaining)

    assert no_change_twice(output)
    assert {args for _, args in net(output)} == derived
    assert Counter(stored_trace(case)) == Counter(trace)


def stored_trace(case):
    """The trace in the Delta tables, decoded and summed over epochs by DuckDB."""
    tables = case.config.state.directory / "tables"
    trace = DeltaTable(tables / "trace").to_pyarrow_dataset()
    terms = DeltaTable(tables / "terms").to_pyarrow_dataset()
    with duckdb.connect() as connection:
        connection.register("trace", trace)
        connection.register("terms", terms)
        return connection.execute("""
            select s.term, p.term, o.term, t.iteration, t.multiplicity from (
                select a0, a1, a2, iteration, sum(multiplicity)::bigint as multiplicity
                from trace group by all having multiplicity <> 0
            ) t
            join terms s on s.id = t.a0
            join terms p on p.id = t.a1
            join terms o on o.id = t.a2
        """).fetchall()
