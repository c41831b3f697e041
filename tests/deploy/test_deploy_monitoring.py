"""Prometheus and Grafana: their files are checked by their own tools where those exist."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import yaml
from prometheus_server import binary, localised

from streamreasoner.server import PrometheusObserver

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "deploy" / "grafana"
DASHBOARD = json.loads((GRAFANA / "dashboards" / "streamreasoner.json").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def _promtool(*arguments, folder):
    run = subprocess.run(
        [binary("promtool"), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_promtool_accepts_configuration_and_rules():
    """`promtool check config` finds the configuration and every rule in it valid."""
    output = _promtool("check", "config", "prometheus.yml", folder=ROOT / "deploy" / "prometheus")
    assert "8 rules found" in output


def test_alerts_fire_when_they_should(tmp_path):
    """`promtool test rules` simulates each fault, and an hour without faults."""
    localised(tmp_path, "127.0.0.1:1")
    (tmp_path / "alerts.yml").write_text((Path(__file__).parent / "alerts.yml").read_text())
    assert "SUCCESS" in _promtool("test", "rules", "alerts.yml", folder=tmp_path)


def test_every_alert_links_to_its_section_of_the_runbook():
    """A section is named like its alert, says what to do in three parts, and no other is there."""
    rules = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text("utf-8"))
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    text = (ROOT / "docs" / "runbook.md").read_text("utf-8")
    _, *sections = re.split(r"^## (\w+)$", text, flags=re.MULTILINE)
    assert sections[::2] == [rule["alert"] for rule in alerts]
    for part in sections[1::2]:
        for word in ("**Means**", "**Look**", "**Do**"):
            assert part.count(word) == 1
    for rule in alerts:
        page = f"/docs/runbook.html#{rule['alert'].lower()}"
        assert rule["annotations"]["runbook_url"] == "{{ $externalLabels.docs }}" + page
    config = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text("utf-8"))
    assert re.fullmatch(r"https?://[^/]+", config["global"]["external_labels"]["docs"])


def test_the_runbook_names_what_there_is():
    """Its metrics are collected, and the dashboard has the panel that it names."""
    text = (ROOT / "docs" / "runbook.md").read_text("utf-8")
    known = {metric.name for metric in PrometheusObserver().registry.collect()}
    assert {
        each.removesuffix("_total") for each in re.findall(r"streamreasoner_\w+", text)
    } <= known
    assert set(re.findall(r"\*([A-Z]\w+ by \w+)\*", text)) <= {panel["title"] for panel in PANELS}


def test_prometheus_scrapes_the_reasoner():
    """The target is the service and port of the compose file."""
    config = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text("utf-8"))
    (job,) = config["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["reasoner:9464"]}]
    assert "reasoner" in COMPOSE["services"]
    assert job["job_name"] == "streamreasoner"


def test_grafana_finds_prometheus():
    """The data source has a fixed uid, which every query of the dashboard names."""
    (path,) = (GRAFANA / "provisioning" / "datasources").glob("*.yml")
    (source,) = yaml.safe_load(path.read_text("utf-8"))["datasources"]
    assert source["url"] == "http://prometheus:9090"
    uids = {target["datasource"]["uid"] for panel in PANELS for target in panel["targets"]}
    uids |= {panel["datasource"]["uid"] for panel in PANELS}
    uids |= {variable["datasource"]["uid"] for variable in DASHBOARD["templating"]["list"]}
    assert uids == {source["uid"]}


def test_grafana_finds_the_dashboard():
    """The provider reads the directory that compose mounts, and the start page is in it."""
    (path,) = (GRAFANA / "provisioning" / "dashboards").glob("*.yml")
    (provider,) = yaml.safe_load(path.read_text("utf-8"))["providers"]
    folder = provider["options"]["path"]
    grafana = COMPOSE["services"]["grafana"]
    assert f"./deploy/grafana/dashboards:{folder}:ro" in grafana["volumes"]
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert home.parent == Path(folder)
    assert (GRAFANA / "dashboards" / home.name).exists()


def test_panels_are_told_apart_and_do_not_overlap():
    """Every panel has its own id, a unit, a sentence that explains it, and its own place."""
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    occupied = set()
    for panel in PANELS:
        assert panel["description"].endswith(".")
        assert panel["targets"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & occupied
        occupied |= cells


def test_a_panel_of_names_shows_those_of_now():
    """A name that ended within the range of the dashboard, such as a backend left, is not shown."""
    named = [panel for panel in PANELS if panel["options"].get("textMode") == "name"]
    assert {panel["title"] for panel in named} == {"Version", "Program"}
    for panel in named:
        assert all(target["instant"] and not target["range"] for target in panel["targets"])


def test_every_own_metric_is_shown():
    """Every collected metric is shown or alerted on."""
    text = json.dumps(DASHBOARD)
    for metric in PrometheusObserver().registry.collect():
        if metric.name.startswith("streamreasoner_"):
            assert metric.name in text
