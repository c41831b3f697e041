"""A log is read alike wherever it is, and no matter what has written it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import StateError
from streamreasoner.state.delta.replay import Place, Replay

PATHS = st.sampled_from(["a", "b", "c", "d"])
COMMITS = st.lists(st.lists(st.tuples(st.sampled_from(["add", "remove"]), PATHS), max_size=4))


def placed(commits):
    """The log with these commits, in memory."""
    return Place("here", dict(enumerate(commits)).get, "Drop them.", "Purge it.")


@given(COMMITS, st.integers(0, 3))
def test_the_last_action_on_a_file_is_in_effect(steps, first):
    """However the commits are split between readings, and whatever else is in them."""
    commits = [[{kind: {"path": path}} for kind, path in step] for step in steps]
    others = [{"commitInfo": {"engineInfo": "x"}}, {"cdc": {"path": "a"}}, {"domainMetadata": {}}]
    replay = Replay(placed([[*others, *actions] for actions in commits]))
    early = Replay(placed(commits[:first]))

    assert early.follow(-1) == min(first, len(commits)) - 1
    assert replay.follow(-1) == len(commits) - 1

    last = {path: kind for step in steps for kind, path in step}
    assert {*replay.added} == {path for path in last if last[path] == "add"}
    assert {*replay.removed} == {path for path in last if last[path] == "remove"}
    early.place = replay.place
    early.follow(min(first, len(commits)) - 1)
    assert (early.added, early.removed) == (replay.added, replay.removed)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["x"]}},
            r"here needs Delta reader version 1, writer version 7 .* features x; .* Drop them\.",
        ),
        (
            {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
            r"here needs Delta reader version 2, writer version 5; .* Drop them\.",
        ),
        (
            {"add": {"path": "file", "deletionVector": {"storageType": "u"}}},
            r"file file of the table here has a deletion vector, .* Purge it\.",
        ),
    ],
)
def test_what_changes_how_rows_are_read_is_refused(action, message):
    """The message says what the table has, and what to do where it is."""
    plain = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    replay = Replay(placed([[plain], [action]]))

    with pytest.raises(StateError, match=message):
        replay.follow(-1)
