"""The exporter: a real HTTP server on loopback."""

from __future__ import annotations

import http.client
import socket

import pytest
from prometheus_client.parser import text_string_to_metric_families

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.server.http import Exporter
from streamreasoner.server.metrics import PrometheusObserver
from streamreasoner.server.pages import Pages


def _get(exporter, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", exporter.port, timeout=60)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type"), response.read().decode()
    finally:
        connection.close()


@pytest.fixture
def observer():
    """An observer of its own for each test."""
    return PrometheusObserver()


@pytest.fixture
def exporter(observer):
    """An exporter on a free port."""
    with Exporter(observer, port=0) as exporter:
        yield exporter


def test_metrics_are_in_prometheus_text(exporter, observer):
    """`/metrics` answers in a format that Prometheus's own parser reads."""
    observer.batch_started(0, 4)
    status, kind, body = _get(exporter, "/metrics")

    assert status == 200
    assert kind.startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(body)}
    assert families["streamreasoner_input_messages"].samples[0].value == 4


def test_openmetrics_is_served_on_request(exporter):
    """The Accept header selects the format."""
    _, kind, body = _get(exporter, "/metrics", Accept="application/openmetrics-text; version=1.0.0")

    assert kind.startswith("application/openmetrics-text")
    assert body.endswith("# EOF\n")


def test_health_and_readiness_have_their_own_status(exporter, observer):
    """Liveness and readiness are reported separately."""
    assert _get(exporter, "/healthz")[0] == 200
    assert _get(exporter, "/readyz")[0] == 503
    observer.health.ready(is_ready=True)
    assert _get(exporter, "/readyz")[::2] == (200, "ok: the query is running\n")


def test_head_answers_without_a_body(exporter):
    """HEAD is GET without the body."""
    assert _get(exporter, "/healthz", "HEAD")[::2] == (200, "")


def test_other_paths_and_methods_are_refused(exporter):
    """The exporter is read-only; an unknown path lists the known ones."""
    assert _get(exporter, "/admin")[::2] == (404, "Paths: /metrics, /healthz, /readyz.\n")
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert _get(exporter, "/metrics", method)[0] == 501


def test_pages_are_for_those_who_have_the_token(observer):
    """To all others they do not exist; an exporter without a server has none."""
    pages = Pages({"/profile": lambda query: f"{query}"})
    with Exporter(observer, port=0, pages=pages) as exporter:
        token = f"Bearer {pages.token}"
        assert _get(exporter, "/profile?epochs=2", Authorization=token) == (
            200,
            "application/json",
            "{'epochs': '2'}",
        )
        for wrong in ({}, {"Authorization": "Bearer x"}, {"Authorization": "\xe9"}):
            assert _get(exporter, "/profile", **wrong)[0] == 404
        assert _get(exporter, "/metrics", Authorization=token)[0] == 200


def test_only_loopback_listens_by_default(exporter):
    """Without a host the exporter is not reachable from other machines."""
    assert exporter.host == "127.0.0.1"


def test_a_port_in_use_is_one_message(observer):
    """The message names the port and the keys that change it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentSetupError, match=rf"127\.0\.0\.1:{port} .*server\.port"):
            Exporter(observer, port=port)


def test_a_foreign_address_is_one_message(observer):
    """An address of another machine is refused like a port in use."""
    with pytest.raises(EnvironmentSetupError, match=r"server\.host"):
        Exporter(observer, host="192.0.2.1", port=0)


def test_the_port_is_free_after_closing(observer):
    """After `close` the port can be bound again."""
    with Exporter(observer, port=0) as first:
        port = first.port
    with Exporter(observer, port=port) as second:
        assert _get(second, "/healthz")[0] == 200
