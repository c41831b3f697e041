"""A pipeline whose hierarchies are encoded in memory, on real Kafka, Spark and Delta."""

from __future__ import annotations

import pytest
from pipelines import (
    await_published,
    changes,
    fact,
    net,
    new_case,
    no_change_twice,
    parse_change,
    produce,
)
from spark_jvm import MARKS
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.history.epochs import Past
from streamreasoner.io.kafka.offsets.positions import Position
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = "in(?x, ?s) :- in(?x, ?r), part(?r, ?s) .\nflood(?x) :- in(?x, ?r), wet(?r) .\n"


def within(region):
    """That the sensor is in a region."""
    return "in", ("<a:sensor>", f"<a:{region}>")


def test_a_pipeline_publishes_and_stores_all_copies(broker, tmp_path):
    """Whatever is in memory, which may be otherwise after each start."""
    case = new_case(broker, tmp_path, RULES, rules={"program": "./rules.dl"})
    derived = {within("floor"), within("house"), within("street")}
    flood = {("flood", ("<a:sensor>",))}
    parts = [("kitchen", "floor"), ("floor", "house"), ("house", "street")]
    first = [fact("part", f"<a:{below}>", f"<a:{above}>") for below, above in parts]
    steps = (
        ("encoded", [*first, fact("in", *within("kitchen")[1])], derived, 4),
        ("auto", [fact("wet", "<a:house>")], derived | flood, 4),
        ("stored", [fact("part", "<a:floor>", "<a:house>", diff=-1)], {within("floor")}, 2),
        ("auto", [fact("part", "<a:floor>", "<a:house>")], derived | flood, 4),
        ("encoded", [fact("in", *within("kitchen")[1], diff=-1)], set(), 0),
    )
    is_encoded = False
    for hierarchies, messages, expected, rows in steps:
        case.raw["rules"]["hierarchies"] = hierarchies
        with pipeline(case.config) as running:
            # By itself, a state goes on as it is.
            is_encoded = is_encoded if hierarchies == "auto" else hierarchies == "encoded"
            assert running.session.encodes == is_encoded
            await_published(case, produce(case, messages))
        assert net(changes(case)) == expected
        past = Past(case.config.state.tables)
        stored = (each for each in past.restore(past.last + 1) if each.predicate == "in")
        assert sum(len(each.args) for each in stored) == rows
    assert no_change_twice(changes(case))


@pytest.mark.parametrize("include", ["derived", "all"])
def test_inherited_facts_are_left_out_if_asked(broker, tmp_path, include):
    """Of changes and of snapshots, which say so, whatever is in memory; tables have them."""
    output = {"include": include, "inherited": "direct"}
    rules = f"{RULES}in(?x, ?r) :- near(?x, ?r) .\n"
    case = new_case(broker, tmp_path, rules, rules={"program": "./rules.dl"}, output=output)
    parts = [("kitchen", "floor"), ("floor", "house"), ("house", "street")]
    first = [fact("part", f"<a:{below}>", f"<a:{above}>") for below, above in parts]
    asserted = {("part", (f"<a:{below}>", f"<a:{above}>")) for below, above in parts}
    asserted |= {within("kitchen"), ("wet", ("<a:house>",)), ("near", within("street")[1])}
    flood = {("flood", ("<a:sensor>",))}
    steps = (
        ("encoded", [*first, fact("in", *within("kitchen")[1])], set(), 4),
        ("auto", [fact("wet", "<a:house>")], flood, 4),
        ("stored", [fact("near", *within("street")[1])], flood | {within("street")}, 4),
        ("encoded", [fact("part", "<a:floor>", "<a:house>", diff=-1)], {within("street")}, 3),
    )
    for number, (hierarchies, messages, derived, rows) in enumerate(steps):
        case.raw["rules"]["hierarchies"] = hierarchies
        with pipeline(case.config):
            await_published(case, produce(case, messages))
        found = net(changes(case))
        assert found - asserted == derived
        assert (within("kitchen") in found) == (include == "all")
        past = Past(case.config.state.tables)
        stored = (each for each in past.restore(past.last + 1) if each.predicate == "in")
        assert len({args for each in stored for args in map(tuple, each.args.tolist())}) == rows
        file = tmp_path / f"{number}.json"
        arguments = ["snapshot", "--config", str(case.file), "--offsets", str(file)]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        lines = result.stdout.splitlines()
        assert {parse_change(line[:-1] + ',"epoch":0}')[0] for line in lines} == found
        assert result.stderr.endswith(", without those that are only inherited.\n")
        assert Position.read(file).inherited == "direct"
    assert no_change_twice(changes(case))
