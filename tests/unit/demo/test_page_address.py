"""Where the page of the demo is, a fact to watch there, and how to take part: in every view."""

from __future__ import annotations

import io
import socket
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from rich.console import Console

from streamreasoner.config import load
from streamreasoner.demo.configuration import configure
from streamreasoner.demo.dashboard import Dashboard
from streamreasoner.demo.ontology import AMENDMENTS, EDGES
from streamreasoner.demo.page import WATCHED, PageAddress, choose_address
from streamreasoner.demo.plain import PlainView
from streamreasoner.demo.tally import Totals
from streamreasoner.explain import read_fact
from streamreasoner.program.load import load_program

ADDRESS = PageAddress(9464)
CONFIGURATION = Path("/srv/demo/pipeline.toml")


def test_the_port_is_free():
    """The chosen one can be listened on; if it is in use, another one is chosen."""
    first = choose_address()
    with socket.create_server(("127.0.0.1", first.port)):
        second = choose_address()
        assert second.port != first.port
        with socket.create_server(("127.0.0.1", second.port)):
            pass


def test_the_watched_fact_comes_and_goes_with_the_schema():
    """Its link is of a fact as the page reads it, derived through a class of an amendment."""
    parts = urlsplit(ADDRESS.watched)
    path, _, query = parts.fragment.partition("?")
    assert (parts.netloc, path) == ("127.0.0.1:9464", "fact")
    program = load_program("rho-df")
    assert read_fact(parse_qs(query)["fact"][0], program).arguments == WATCHED
    assert WATCHED not in EDGES
    start, predicate, end = WATCHED
    above = {start}
    for _ in EDGES:
        above |= {o for s, p, o in (*EDGES, *AMENDMENTS) if s in above and p == predicate}
    assert end in above
    assert end not in {o for _, _, o in EDGES}


@pytest.mark.parametrize("width", [80, 130])
def test_both_screens_show_the_address(width):
    """While the pipeline starts, and while the stream runs."""
    console = Console(file=io.StringIO(), width=width, height=30, force_terminal=True, record=True)
    dashboard = Dashboard(60, console)
    dashboard.open(ADDRESS, CONFIGURATION)
    for totals in (None, Totals()):
        if totals is not None:
            dashboard.show(totals, 1)
        console.print(dashboard.render())
        text = " ".join(console.export_text().split())
        assert ADDRESS.url in text
        assert "Professor subClassOf LibraryUser" in text
        assert f"--config {CONFIGURATION}" in text


def test_plain_text_has_the_whole_address(capsys):
    """A terminal without links shows it in full."""
    PlainView().open(ADDRESS, CONFIGURATION)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].strip() == ADDRESS.watched
    assert lines[2].endswith(f"--config {CONFIGURATION}")


def test_the_configuration_is_the_one_that_guests_read(tmp_path, monkeypatch):
    """Commands that are given the file reach the same pipeline; the environment is ignored."""
    path = tmp_path / "pipeline.toml"
    monkeypatch.setenv("STREAMREASONER_KAFKA_OUTPUT_TOPIC", "another")

    found = configure(path, "127.0.0.1:9", ADDRESS)

    assert found == load(path, {})
    assert found.kafka.bootstrap_servers == "127.0.0.1:9"
    assert (found.server.port, found.rules.control_topic) == (9464, "rules")
    assert found.kafka.output_topic == "derived"
    assert found.state.directory == tmp_path / "pipeline"
