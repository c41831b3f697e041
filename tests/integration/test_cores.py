"""A pipeline whose state is divided among cores, on real Kafka, Spark and Delta."""

from __future__ import annotations

from pipelines import await_published, changes, fact, net, new_case, no_change_twice, produce
from spark_jvm import MARKS

from streamreasoner.backends.parts.here import PartsHere
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n"


def nodes(*numbers):
    """Terms of nodes."""
    return tuple(f"<http://example.org/{number}>" for number in numbers)


def paths(*pieces):
    """The paths of chains of nodes."""
    return {("path", nodes(x, y)) for piece in pieces for x in piece for y in piece if y > x}


def test_a_pipeline_goes_on_with_other_cores(broker, tmp_path, monkeypatch):
    """Each start divides what the tables have; what is published is that of one core."""
    monkeypatch.setattr(PartsHere, "large", 1)
    case = new_case(broker, tmp_path, RULES, pipeline={"cores": 3})
    with pipeline(case.config):
        await_published(case, produce(case, [fact("edge", *nodes(n, n + 1)) for n in range(12)]))
        assert net(changes(case)) == paths(range(13))
    for cores, cut in ((2, 4), (1, 8)):
        case.raw["pipeline"]["cores"] = cores
        with pipeline(case.config):
            await_published(case, produce(case, [fact("edge", *nodes(cut, cut + 1), diff=-1)]))
    assert net(changes(case)) == paths(range(5), range(5, 9), range(9, 13))
    assert no_change_twice(changes(case))
