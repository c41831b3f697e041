"""The observer: metrics match the events of the pipeline."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from streamreasoner.engine.epoch import EpochResult
from streamreasoner.engine.ports import Statistics
from streamreasoner.engine.updates import Changes
from streamreasoner.program.checked import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.server.histogram import BatchHistogram
from streamreasoner.server.metrics import PrometheusObserver, Sources
from streamreasoner.state import StorageStatistics
from streamreasoner.system.capacity import Capacity
from streamreasoner.system.memory import Fill


def _result(*signs):
    args = np.zeros((len(signs), 3), np.int32)
    changes = Changes("triple", args, np.array(signs, np.int8))
    return EpochResult(
        epoch=3,
        updates=5,
        iterations=4,
        derived=(changes,),
        closure=(changes,),
        trace=(),
        recomputed=True,
        given_up=True,
    )


def _value(observer, name, **labels):
    return observer.registry.get_sample_value(f"streamreasoner_{name}", labels)


@pytest.fixture
def observer():
    """An observer that has seen one batch."""
    observer = PrometheusObserver()
    observer.batch_started(3, 7)
    observer.stage("decode", 0.004)
    observer.epoch_evaluated(_result(1, 1, -1), check_text(""))
    observer.event_time(int((time.time() - 90) * 1000))
    observer.published(3, {"bad-timestamp": 2}, np.array([0.04, 0.2, 7200.0]))
    observer.control_messages(2, 1)
    observer.batch_finished(3, 0.08)
    return observer


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("input_messages_total", {}, 7),
        ("updates_total", {}, 5),
        ("derived_changes_total", {"sign": "+1"}, 2),
        ("derived_changes_total", {"sign": "-1"}, 1),
        ("published_changes_total", {}, 3),
        ("rejected_total", {"class": "bad-timestamp"}, 2),
        ("control_messages_total", {"outcome": "accepted"}, 2),
        ("control_messages_total", {"outcome": "refused"}, 1),
        ("batches_total", {}, 1),
        ("epoch", {}, 3),
        ("epoch_iterations_sum", {}, 4),
        ("recomputed_epochs_total", {"outcome": "given_up"}, 1),
        ("recomputed_epochs_total", {"outcome": "at_once"}, 0),
        ("stage_duration_seconds_count", {"stage": "decode"}, 1),
        ("stage_duration_seconds_sum", {"stage": "decode"}, 0.004),
        ("batch_duration_seconds_sum", {}, 0.08),
        ("end_to_end_latency_seconds_count", {}, 3),
        ("end_to_end_latency_seconds_bucket", {"le": "0.05"}, 1),
        ("end_to_end_latency_seconds_bucket", {"le": "0.2"}, 2),
        ("end_to_end_latency_seconds_bucket", {"le": "1800.0"}, 2),
        ("end_to_end_latency_seconds_bucket", {"le": "+Inf"}, 3),
    ],
)
def test_a_batch_is_counted_once(observer, name, labels, value):
    """Each event of a batch changes its metric by exactly its amount."""
    assert _value(observer, name, **labels) == value


def test_violations_are_those_of_the_program_in_effect(observer):
    """Each constraint has its number; one that was removed has none."""
    observer.violations({"late": 2, "odd": 0})
    assert _value(observer, "violations", constraint="late") == 2
    assert _value(observer, "violations", constraint="odd") == 0

    observer.violations({"odd": 1})
    assert _value(observer, "violations", constraint="late") is None
    assert _value(observer, "violations", constraint="odd") == 1


def test_event_time_lag_is_measured_from_now(observer):
    """The lag is the wall clock minus the largest event time."""
    assert 89 < _value(observer, "event_time_lag_seconds") < 150


def test_sizes_are_shown_from_the_start_and_after_each_batch():
    """Sizes of engine, dictionary and tables are exported at the start and after each batch."""
    state = Statistics(
        facts=9,
        present=7,
        asserted=4,
        below_zero=1,
        trace_rows=12,
        bytes=4096,
        overflows=3,
        capacity=Capacity(9000, Fill(3, 4), Fill(1, 8), Fill(1, 400)),
    )
    dictionary = Dictionary()
    for number in range(5):
        dictionary.intern(f'"{number}"')
    storage = [StorageStatistics(bytes=100, compactions=2, maintenance_failures=0)]
    observer = PrometheusObserver()
    observer.watch(
        Sources(
            state=lambda: state,
            terms=dictionary,
            storage=lambda: storage[0],
            lag=lambda: {("in", "0"): 17, ("in", "1"): 0},
        )
    )

    names = (
        "facts",
        "facts_asserted",
        "facts_held",
        "facts_below_zero",
        "counts",
        "state_bytes",
        "terms",
    )
    assert [_value(observer, name) for name in names] == [7, 4, 9, 1, 12, 4096, 5]
    assert _value(observer, "fill_ratio", store="facts") == 0.75
    assert _value(observer, "fill_ratio", store="terms") == 0.125
    assert _value(observer, "compactions_total") == 2
    assert _value(observer, "overflows_total") == 3
    assert _value(observer, "consumer_lag_messages", topic="in", partition="0") == 17

    storage[0] = StorageStatistics(bytes=90, compactions=5, maintenance_failures=1)
    observer.batch_finished(1, 0.1)

    assert _value(observer, "storage_bytes") == 90
    assert _value(observer, "compactions_total") == 5
    assert _value(observer, "maintenance_failures_total") == 1


def test_only_the_program_in_effect_is_exported(observer):
    """One hash has the value 1: that of the program in effect."""
    for program in ("first", "second"):
        observer.program(program)
    shown = [
        (sample.labels["hash"], sample.value)
        for metric in observer.registry.collect()
        for sample in metric.samples
        if metric.name == "streamreasoner_program_info"
    ]
    assert shown == [("second", 1)]


def test_observers_do_not_share_metrics(observer):
    """Two pipelines in one process have separate metrics."""
    assert _value(observer, "batches_total") == 1
    assert _value(PrometheusObserver(), "batches_total") == 0


def test_names_follow_the_rules_of_prometheus(observer):
    """Our metrics have the prefix, base units, and no label that could hold a term."""
    allowed = {"stage", "sign", "class", "topic", "partition", "le", "version", "python", "backend"}
    allowed |= {"outcome", "hash"}
    own = [metric for metric in observer.registry.collect() if "process_" not in metric.name]
    assert len(own) > 20
    for metric in own:
        assert metric.name.startswith("streamreasoner_")
        assert not metric.name.endswith(("_ms", "_milliseconds", "_kb", "_mb"))
        assert {label for sample in metric.samples for label in sample.labels} <= allowed
        if metric.type == "counter":
            assert all(sample.name.endswith(("_total", "_created")) for sample in metric.samples)


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 9.0]), max_size=9), max_size=4))
def test_a_batch_of_values_counts_like_single_values(batches):
    """A histogram fed with arrays equals Prometheus's own, fed value by value."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    batched = BatchHistogram("h", "Help.", [0.5, 1.0, 2.0])
    ours.register(batched)
    single = Histogram("h", "Help.", buckets=[0.5, 1.0, 2.0], registry=theirs)
    for batch in batches:
        batched.observe(np.array(batch, np.float64))
        for value in batch:
            single.observe(value)

    def samples(registry):
        return {
            (sample.name, sample.labels.get("le")): sample.value
            for metric in registry.collect()
            for sample in metric.samples
            if not sample.name.endswith("_created")
        }

    assert samples(ours) == pytest.approx(samples(theirs))


def test_a_stuck_batch_is_unhealthy():
    """A batch that exceeds its timeout makes the process unhealthy until the batch ends."""
    observer = PrometheusObserver(batch_timeout=0.0)
    assert observer.health.is_alive()[0]

    observer.batch_started(12, 1)
    deadline = time.monotonic() + 300
    while (answer := observer.health.is_alive())[0] and time.monotonic() < deadline:
        pass
    assert answer == (False, "batch 12 has been running for 0 s")

    observer.batch_finished(12, 0.1)
    assert observer.health.is_alive() == (True, "ok: no batch is running")


def test_readiness_follows_the_query():
    """Ready while the query runs, not before and not after."""
    health = PrometheusObserver().health
    answers = [health.is_ready()[0]]
    for state in (True, False):
        health.ready(is_ready=state)
        answers.append(health.is_ready()[0])

    assert answers == [False, True, False]


def test_the_backend_is_the_one_that_was_chosen_last():
    """No backend is named before the choice; after a hand-over only the new one is."""
    observer = PrometheusObserver()

    def backends():
        return [
            sample.labels["backend"]
            for family in observer.registry.collect()
            for sample in family.samples
            if sample.name == "streamreasoner_build_info"
        ]

    assert backends() == []
    observer.backend("columnar")
    assert backends() == ["columnar"]
    observer.backend("executors")
    assert backends() == ["executors"]


def test_the_trigger_interval_is_a_metric():
    """Latency alerts depend on it."""
    observer = PrometheusObserver(trigger_interval=30.0)

    assert _value(observer, "trigger_interval_seconds") == 30
