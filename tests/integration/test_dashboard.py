"""Every query of the dashboard, on a real Prometheus that scraped a real pipeline."""

from __future__ import annotations

import json
import math
import time
import tomllib
import urllib.request
from pathlib import Path

import pytest
import yaml
from free_ports import free_port
from pipelines import DEADLINE_SECONDS, await_published, new_case, produce, triple
from prometheus_server import Prometheus, localised

from streamreasoner.io.spark.session import PACKAGES
from streamreasoner.service.assemble import pipeline
from streamreasoner.system import jvm

# PySpark leaves it to the garbage collector to close its sockets.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana/dashboards/streamreasoner.json").read_text("utf-8"))
QUERIES = [
    pytest.param(target["expr"], id=f"{panel['title']} {target['refId']}")
    for panel in DASHBOARD["panels"]
    for target in panel.get("targets", [])
]
ALERTS = [
    pytest.param(rule["expr"], id=rule["alert"])
    for group in yaml.safe_load((DEPLOY / "prometheus/rules.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
RULES = """
@prefix ex: <http://example.org/> .
[?x, ex:reaches, ?y] :- [?x, ex:next, ?y] .
[?x, ex:reaches, ?z] :- [?x, ex:reaches, ?y], [?y, ex:next, ?z] .
!far(?x) :- [?x, ex:reaches, ex:n5], [?x, ex:next, ex:n1] .
"""
NODES = 6
SCRAPES = 8
CHANGES = 2


@pytest.fixture(scope="module")
def scraped(broker, tmp_path_factory):
    """Prometheus alongside a pipeline that asserted and retracted a chain, with some invalid input.

    The pipeline takes Spark's options from the deployed configuration, its jars from Ivy's: those
    of other pipelines, whose archive of classes then serves its JVM too.
    """
    directory = tmp_path_factory.mktemp("dashboard")
    port = free_port()
    options = tomllib.loads((DEPLOY / "streamreasoner.toml").read_text())["spark"]["options"]
    case = new_case(
        broker,
        directory,
        RULES,
        server={"port": port},
        spark={
            "options": options | {"spark.jars": f"{jvm.jars('spark', PACKAGES.split(','))}/*"},
        },
    )
    config = localised(directory / "prometheus", f"127.0.0.1:{port}")
    with pipeline(case.config), Prometheus(config, directory) as prometheus:
        deadline = time.monotonic() + DEADLINE_SECONDS
        sent = 0
        while not _has_rates(prometheus):
            assert time.monotonic() < deadline
            await_published(case, produce(case, _chain(1 if sent % 2 == 0 else -1)))
            sent += 1
            # More epochs between two scrapes would add nothing.
            time.sleep(0.5)
        if sent % 2 == 0:
            await_published(case, produce(case, _chain(1)))
            sent += 1
        _await(lambda: prometheus.value("sum(streamreasoner_input_messages_total)"), sent * NODES)
        yield prometheus, port, sent


def _has_rates(prometheus):
    """Whether there are enough scrapes, and a counter has grown between them.

    On a busy machine its first value comes late.
    """
    scrapes = prometheus.value("count_over_time(streamreasoner_epoch[5m])") or 0
    changes = prometheus.value("changes(streamreasoner_rejected_total[5m])") or 0
    return scrapes >= SCRAPES and changes >= CHANGES


def _chain(diff):
    now = int(time.time() * 1000)
    for n in range(NODES - 1):
        a, b = (f"<http://example.org/n{number}>" for number in (n, n + 1))
        yield triple(a, "<http://example.org/next>", b, diff=diff, ts=now)
    yield b"rubbish"


def _await(read, expected):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while (result := read()) != expected:
        assert time.monotonic() < deadline, (result, expected)
        time.sleep(0.2)


def _filled_in(expression):
    """The expression with Grafana's variables replaced as Grafana does."""
    result = expression.replace("$__rate_interval", "20s").replace("$instance", ".+")
    assert "$" not in result
    return result


@pytest.mark.parametrize("expression", QUERIES)
def test_every_query_of_the_dashboard_has_data(scraped, expression):
    """Every query of a panel returns numbers for a running pipeline, which does not stand by."""
    series = scraped[0].values(_filled_in(expression), 60)

    numbers = [value for values in series.values() for value in values if math.isfinite(value)]
    assert bool(numbers) == ("standby" not in expression)


@pytest.mark.parametrize("expression", ALERTS)
def test_alerts_tell_what_is_wrong_and_nothing_else(scraped, expression):
    """Every alert is valid; only that for invalid input, a sixth of all, fires."""
    firing = scraped[0].values(expression, 1)

    # The first batches compile kernels, and their speed depends on the machine.
    if "latency" not in expression:
        assert bool(firing) == ("rejected" in expression)


def test_the_numbers_are_those_of_the_run(scraped):
    """Counters match the input, gauges match the state, and the lag is 0."""
    prometheus, _, sent = scraped
    pairs = NODES * (NODES - 1) // 2
    asserted, violations = NODES - 1, 1
    expected = {
        "streamreasoner_input_messages_total": sent * NODES,
        "streamreasoner_updates_total": sent * asserted,
        'streamreasoner_rejected_total{class="not-json"}': sent,
        'streamreasoner_derived_changes_total{sign="+1"}': (sent + 1) // 2 * (pairs + violations),
        'streamreasoner_derived_changes_total{sign="-1"}': (sent - 1) // 2 * (pairs + violations),
        "streamreasoner_published_changes_total": sent * pairs,
        "streamreasoner_end_to_end_latency_seconds_count": sent * NODES,
        "streamreasoner_facts": asserted + pairs + violations,
        'streamreasoner_violations{constraint="far"}': violations,
        "streamreasoner_facts_asserted": asserted,
        "streamreasoner_facts_below_zero": 0,
        "sum(streamreasoner_consumer_lag_messages)": 0,
        "count(streamreasoner_consumer_lag_messages)": 2,
        "streamreasoner_maintenance_failures_total": 0,
    }
    _await(lambda: {name: prometheus.value(name) for name in expected}, expected)


def test_every_stage_of_a_batch_is_timed(scraped):
    """Each stage has one duration per batch, and their sum does not exceed the batch's."""
    prometheus, _, _ = scraped
    batches = prometheus.value("streamreasoner_batches_total")
    counts = prometheus.values("streamreasoner_stage_duration_seconds_count", 1)

    assert {dict(labels)["stage"] for labels in counts} == {
        *("read", "decode", "evaluate", "store", "publish")
    }
    assert {values[-1] for values in counts.values()} == {batches}
    stages = prometheus.value("sum(streamreasoner_stage_duration_seconds_sum)")
    assert 0 < stages <= prometheus.value("streamreasoner_batch_duration_seconds_sum")


def test_a_running_pipeline_is_healthy_and_ready(scraped):
    """Supervisors see 200 on both while the query runs."""
    for path in ("healthz", "readyz"):
        with urllib.request.urlopen(f"http://127.0.0.1:{scraped[1]}/{path}", timeout=60) as answer:
            assert answer.status == 200
