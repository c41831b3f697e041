"""A pipeline whose hierarchies are encoded in memory, on real Kafka, Spark and Delta."""

from __future__ import annotations

from pipelines import await_published, changes, fact, net, new_case, no_change_twice, produce
from spark_jvm import MARKS

from streamreasoner.history.epochs import Past
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
