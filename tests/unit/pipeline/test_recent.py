"""What a pipeline remembers of its last epochs: bounded, in order, and as it happened."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.engine.updates import Updates
from streamreasoner.io.formats.rejected import Reason, Rejected
from streamreasoner.io.kafka.dead_letter import LONGEST_TEXT, dead_letters, shown
from streamreasoner.pipeline.recent.profile import EPOCHS, STAGES, Profile
from streamreasoner.pipeline.recent.rejections import KEPT, Rejections
from streamreasoner.pipeline.recent.rules import LONGEST_TEXT as LONGEST
from streamreasoner.pipeline.recent.rules import MOST_RULES
from streamreasoner.program.checked import check_text
from streamreasoner.server import metrics


def run(profile, epoch, **stages):
    """One batch of three messages that publishes two changes."""
    profile.batch_started(epoch, 3)
    for stage, seconds in stages.items():
        profile.stage(stage, seconds)
    profile.published(2, {}, np.array([0.5, 9.0, 0.25]))
    profile.batch_finished(epoch, 0.125)


def epochs(profile, number=EPOCHS):
    """The epochs of the document."""
    return json.loads(profile.document({"epochs": str(number)}))["epochs"]


def test_an_epoch_has_its_stages_and_what_is_not_known_is_null():
    """Stages that are repeated are summed; the latency is the median of the messages'."""
    profile = Profile()
    run(profile, 7, read=0.25, decode=0.5)
    profile.batch_started(8, 0)
    profile.stage("evaluate", 0.5)
    profile.stage("evaluate", 0.25)
    profile.batch_finished(8, 1.0)
    first, second = epochs(profile)
    assert first["time"] <= second["time"]
    assert first | {"time": ""} == {
        "epoch": 7,
        "time": "",
        "seconds": 0.125,
        "steps": {"read": 0.25, "decode": 0.5, "evaluate": None, "store": None, "publish": None},
        "input": 3,
        "changes": 2,
        "lag": None,
        "latency": 0.5,
        "rules": [],
        "others": {"rules": 0, "firings": 0, "seconds": 0.0},
    }
    assert second["steps"]["evaluate"] == 0.75
    assert (second["changes"], second["latency"]) == (None, None)


PROGRAM = """@prefix ex: <http://example.org/> .
@rule "step" path(?x, ?y), [?x, ex:reaches, ?y] :- (edge(?x, ?y)
    | edge(?y, ?x)) .
busy(?x) :-
    edge(?x, _), count(?y) { edge(?x, ?y) } > 1 .
idle(?x) :- path(?x, ex:nowhere) .
"""
EDGES = [("ex:a", "ex:b"), ("ex:a", "ex:c")]


def reasoner(rules):
    """A reasoner of rules in the file rules.dl."""
    return Reasoner(check_text(rules, "rules.dl"))


def evaluated(profile, epoch, reasoner, updates=()):
    """One batch of updates of edges, in the namespace of examples."""
    profile.batch_started(epoch, len(updates))
    ids = [
        [reasoner.session.dictionary.intern(f"<http://example.org/{node[3:]}>") for node in pair]
        for pair in updates
    ]
    args = np.array(ids, np.int32).reshape(-1, 2)
    rows = [Updates("edge", args, np.ones(len(args), np.int64))]
    profile.epoch_evaluated(reasoner.session.apply(rows), reasoner.program)
    profile.batch_finished(epoch, 0.125)
    return epochs(profile)[-1]


def test_a_rule_is_shown_as_it_was_written():
    """All that it is in normal form counts for it, and so do the helpers of its body."""
    profile = Profile()
    epoch = evaluated(profile, 0, reasoner(PROGRAM), EDGES)
    assert epoch["others"] == {"rules": 0, "firings": 0, "seconds": 0.0}
    found = {each["rule"]: each for each in epoch["rules"]}
    assert found.keys() == {"rules.dl:2", "rules.dl:4"}
    step, busy = found["rules.dl:2"], found["rules.dl:4"]
    assert (step["name"], busy["name"]) == ("step", None)
    assert step["text"].startswith('@rule "step" path(?x, ?y), [?x, ex:reaches, ?y] :- (edge(')
    assert busy["text"].startswith("busy(?x) :- edge(?x, _), count(?y) {")
    # 2 heads of 2 alternatives for each of 2 edges; 2 edges are counted, in a group that 2 are in,
    # and that is looked for once.
    assert (step["firings"], busy["firings"]) == (8, 2 + 2 + 1)
    assert min(step["seconds"], busy["seconds"]) > 0
    quiet = evaluated(profile, 1, reasoner(PROGRAM))
    assert [each["firings"] for each in quiet["rules"] if each["firings"]] == []


def test_rules_that_go_count_in_the_epoch_that_removes_them():
    """They are those of the program before it; those that both programs have do not fire."""
    profile, running = Profile(), reasoner("a(?x) :- edge(?x, _) .\nb(?x) :- edge(?x, _) .")
    evaluated(profile, 0, running, EDGES)
    profile.batch_started(1, 1)
    after = check_text("@input b/1 .\n\n\na(?x) :- edge(?x, _) .", "rules.dl")
    profile.epoch_evaluated(running.session.apply((), after, epoch=1), after)
    profile.batch_finished(1, 0.125)
    [gone] = epochs(profile)[-1]["rules"]
    assert (gone["rule"], gone["firings"]) == ("rules.dl:2", 2)


def test_the_dearest_rules_are_kept_and_the_others_summed():
    """However many rules there are, and however long they are."""
    number = MOST_RULES + 20
    atoms = ", ".join(["edge(?x, ?y)"] * 50)
    rules = "".join(f"p{each}(?x) :- {atoms} .\n" for each in range(number))
    epoch = evaluated(Profile(), 0, reasoner(rules), EDGES)
    assert len(epoch["rules"]) == MOST_RULES
    assert epoch["others"]["rules"] == number - MOST_RULES
    together = [*epoch["rules"], epoch["others"]]
    assert sum(each["firings"] for each in together) == 2 * number
    seconds = [each["seconds"] for each in epoch["rules"]]
    assert seconds == sorted(seconds, reverse=True)
    assert {len(each["text"]) for each in epoch["rules"]} == {LONGEST + 1}


def test_the_lag_is_that_of_the_last_epoch_when_it_was_asked_for():
    """It is kept when other epochs follow, and not measured while a batch waits for Kafka."""
    profile, lags = Profile(), iter([30, 20, 10])
    profile.watch(lambda: next(lags))
    assert epochs(profile) == []
    run(profile, 0)
    assert [each["lag"] for each in epochs(profile)] == [20]
    run(profile, 1)
    profile.waiting("no answer")
    assert [each["lag"] for each in epochs(profile)] == [20, None]
    profile.waiting(None)
    assert [each["lag"] for each in epochs(profile)] == [20, 10]


def test_the_last_epochs_are_kept_oldest_first():
    """However many there were; a reader may ask for fewer."""
    profile = Profile()
    for epoch in range(EPOCHS + 5):
        run(profile, epoch)
    assert [each["epoch"] for each in epochs(profile)] == list(range(5, EPOCHS + 5))
    assert [each["epoch"] for each in epochs(profile, 2)] == [EPOCHS + 3, EPOCHS + 4]


def test_stages_are_those_of_the_metrics():
    """There is one vocabulary."""
    assert STAGES == metrics.STAGES


def test_a_dead_letter_is_shown_with_the_reason_that_its_topic_has():
    """Its text is bounded and readable, whatever bytes it has; no value is null."""
    values = [b"{", b"\xff\x00", None, b"x" * (LONGEST_TEXT + 1)]
    rows = range(len(values))
    batch = pa.table(
        {
            "topic": ["in"] * len(values),
            "partition": pa.array(rows, pa.int32()),
            "offset": pa.array([2**40 + row for row in rows], pa.int64()),
            "key": pa.array([None] * len(values), pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array([None] * len(values), pa.list_(_HEADER)),
        }
    )
    rejected = [Rejected(row, Reason.NOT_JSON, f"It is not JSON at {row}.") for row in rows]
    rejections = Rejections()
    rejections.published(0, {Reason.NOT_JSON.value: len(values)}, np.empty(0))
    rejections.dead_letters(list(shown(batch, rejected)))
    document = json.loads(rejections.document({}))
    assert document["total"] == len(values)
    found = document["dead_letters"][::-1]
    assert [each["message"] for each in found] == [
        "{", "\ufffd\x00", None, "x" * LONGEST_TEXT + "…",
    ]  # fmt: skip
    for each, letter in zip(found, dead_letters(batch, rejected), strict=True):
        headers = {name: value.decode() for name, value in letter.headers}
        assert headers == {
            name: str(each[name]) for name in ("reason", "class", "topic", "partition", "offset")
        }


def test_the_last_dead_letters_are_kept_newest_first():
    """The total is of all since the start."""
    rejections = Rejections()
    batch = pa.table(
        {"topic": ["in"], "partition": [0], "offset": [1], "value": pa.array([b"x"], pa.binary())}
    )
    for number in range(KEPT + 5):
        rejections.published(0, {"not-json": 1}, np.empty(0))
        rejections.dead_letters([*shown(batch, [Rejected(0, Reason.NOT_JSON, str(number))])])
    document = json.loads(rejections.document({}))
    assert document["total"] == KEPT + 5
    assert [each["reason"] for each in document["dead_letters"]] == [
        str(number) for number in reversed(range(5, KEPT + 5))
    ]


_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
