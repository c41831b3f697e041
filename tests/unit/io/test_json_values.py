"""Every JSON value that is not a message has one reason."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.io.formats.reading.json.objects import read_object, wrong_fields
from streamreasoner.io.formats.reading.json.updates import FactMessage, TripleMessage
from streamreasoner.io.formats.rejected import Reason, RejectedError

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
VALUES = SCALARS | st.lists(SCALARS, max_size=2)
FIELDS = st.sampled_from(["s", "p", "o", "predicate", "args", "diff", "ts", "other"])
EXPECTED = {
    "s": "a string",
    "predicate": "a string",
    "args": "an array",
    "args[0]": "a string, number or boolean",
}


@given(VALUES | st.dictionaries(st.text(max_size=3), VALUES, max_size=3))
def test_only_objects_are_read(value):
    """Any other value is rejected, and the reason names its kind."""
    encoded = msgspec.json.encode(value)
    if isinstance(value, dict):
        assert read_object(encoded) == value
    else:
        with pytest.raises(RejectedError, match=r"is a JSON \w+, not an object") as rejected:
            read_object(encoded)
        assert rejected.value.reason is Reason.NOT_AN_OBJECT


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"s":', Reason.NOT_JSON),
        (b'{"s":"\xff"}', Reason.NOT_UTF8),
        (b'{"s":"\\ud800"}', Reason.LONE_SURROGATE),
        (b"[" * 100_000, Reason.NOT_JSON),
    ],
)
def test_values_that_are_not_json(value, reason):
    """The reason is as precise as JSON's grammar and UTF-8 allow."""
    with pytest.raises(RejectedError) as rejected:
        read_object(value)
    assert rejected.value.reason is reason


@given(st.dictionaries(FIELDS, VALUES, max_size=5))
def test_an_object_is_a_message_or_has_a_reason(fields):
    """What neither decoder accepts has a reason, about its fields or the type of one."""
    for shape in (TripleMessage, FactMessage):
        try:
            msgspec.convert(fields, shape)  # noqa: TID251 - one thread
        except msgspec.ValidationError:
            continue
        return
    rejection = wrong_fields(fields)
    names = {*fields}
    if "other" in names:
        assert rejection.reason is Reason.UNKNOWN_FIELD
    elif names & {"s", "p", "o"} and names & {"predicate", "args"}:
        assert rejection.reason is Reason.MIXED_SHAPES
    elif not (names >= {"s", "p", "o", "diff"} or names >= {"predicate", "args", "diff"}):
        assert rejection.reason is Reason.MISSING_FIELD
    else:
        assert rejection.reason in {Reason.WRONG_TYPE, Reason.DIFF_OUT_OF_RANGE}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_wrong_type_is_named_with_the_right_one(name):
    """The reason shows the field, its value and what is allowed."""
    fields = {"s": "<a:s>", "p": "<a:p>", "o": "<a:o>", "diff": 1}
    if name != "s":
        fields = {"predicate": "p", "args": [], "diff": 1}
    fields |= {"args": [None]} if name == "args[0]" else {name: None}

    assert (
        wrong_fields(fields).detail == f"{name} is null, a JSON null; it must be {EXPECTED[name]}."
    )
