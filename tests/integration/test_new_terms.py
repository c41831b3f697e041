"""A message whose consequences need too many new terms, in a real pipeline."""

from __future__ import annotations

from counting import RULES, expected
from pipelines import await_published, changes, committed, fact, net, new_case, produce
from spark_jvm import MARKS

from streamreasoner.service.assemble import pipeline

pytestmark = MARKS


def test_an_epoch_of_too_many_new_terms_is_a_dead_letter(broker, tmp_path):
    """The message that causes it is set aside with the reason; those with it and after it hold."""
    case = new_case(
        broker, tmp_path, RULES, partitions=1, rules={"max_new_terms": 500, "recursion_limit": 9999}
    )
    with pipeline(case.config):
        await_published(case, produce(case, [fact("ask", 3)]))
        await_published(case, produce(case, [fact("ask", n) for n in (4, 5000, 5)]))
        await_published(case, produce(case, [fact("ask", 400)]))

    [letter] = committed(case, case.kafka.dead_letter_topic)
    headers = {name: value.decode() for name, value in letter.headers}
    assert letter.value == fact("ask", 5000)
    assert headers["class"] == "epoch-failed"
    assert "500 new terms" in headers["reason"]
    assert net(changes(case)) == expected((3, 4, 5, 400))
