"""The kernels of JSON against msgspec, Python and Arrow: what they read is the same.

Strings are read if and only if msgspec reads them; of numbers and times, those of the usual forms.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from json_messages import (
    ESCAPES,
    MALFORMED,
    NUMBERS,
    RARE_NUMBERS,
    RARE_TIMES,
    TEXTS,
    TIMES,
)

from streamreasoner.io.formats.reading.json.kernels import numbers, strings
from streamreasoner.io.formats.reading.json.kernels.times import NO_TIME, read_time
from streamreasoner.io.formats.reading.timestamps import FIRST, LAST, EventTimes
from streamreasoner.rdf.terms import to_ntriples

BEFORE, BEHIND = b'{"', b'"}\x80'
ROOM = 1000
CONTENT = st.lists(
    st.one_of(
        st.sampled_from([each.encode() for each in (*TEXTS, *ESCAPES, *MALFORMED)]),
        st.text(max_size=12).map(lambda text: text.encode()),
        st.binary(max_size=3),
    ),
    max_size=5,
).map(b"".join)
WHOLE = st.integers(-(10**numbers.MOST_DIGITS) + 1, 10**numbers.MOST_DIGITS - 1)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001 - gets a zone
ZONES = st.integers(-23 * 60 - 59, 23 * 60 + 59)
LIKE_TIMES = st.lists(
    st.sampled_from([*"0123456789", "-", "T", ":", ".", "Z", "+", " "]), min_size=15, max_size=35
).map("".join)


def read(kernel, text, room=ROOM):
    """What a kernel reads from the start of a text: the text of the value, and how far it came."""
    data = np.frombuffer(BEFORE + text + BEHIND, np.uint8)
    buffer = np.empty(room, np.uint8)
    state = np.array([buffer.ctypes.data, 0, room], np.int64)
    address = data.ctypes.data
    first = address + len(BEFORE)
    end = first + len(text)
    if kernel is strings.read_string:
        behind, start, length = kernel(state, address, first, end)
    else:
        behind, start, length = kernel(state, first, end)
    if behind < 0:
        return int(behind), None
    held = data[start : start + length] if start >= 0 else buffer[~start : ~start + length]
    assert 0 <= state[strings.USED] <= room
    return int(behind - first), held.tobytes()


decode_json = msgspec.json.Decoder().decode


def decoded(text):
    """What msgspec reads; None if nothing."""
    try:
        return decode_json(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


@given(CONTENT)
def test_strings(content):
    """A string is read if msgspec reads it, up to its first quotation mark that is not escaped."""
    behind, text = read(strings.read_string, content + b'"')
    if behind < 0:
        assert behind == strings.REFUSED
        assert decoded(b'"' + content + b'"') is None
    else:
        assert text.decode() == decoded(b'"' + (content + b'"')[:behind])


def test_a_string_needs_room_only_for_escapes():
    """Without them it stays where it is; with them its text must fit whatever they are."""
    assert read(strings.read_string, b"abc" * 100 + b'"', room=0) == (301, b"abc" * 100)
    assert read(strings.read_string, rb'\"abc"', room=0) == (strings.FULL, None)


@given(
    st.sampled_from((*NUMBERS, *RARE_NUMBERS))
    | st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{1,20})?", fullmatch=True)
)
def test_numbers(text):
    """A number that is read up to its end has the canonical text of what msgspec reads."""
    behind, term = read(numbers.read_number, text.encode())
    if behind == len(text):
        assert term.decode() == to_ntriples(decoded(text.encode()))


@given(WHOLE, st.integers(-(10**15) + 1, 10**15 - 1), st.integers(1, 20))
def test_numbers_of_few_digits_are_read(whole, digits, places):
    """Integers of 18 digits and decimals of 15, unless they are zero."""
    sign, text = "-" if digits < 0 else "", f"{abs(digits):0{places + 1}}"
    decimal = f"{sign}{text[:-places]}.{text[-places:]}"
    assert read(numbers.read_number, str(whole).encode())[0] == len(str(whole))
    behind, term = read(numbers.read_number, decimal.encode())
    assert (behind == len(decimal)) == (digits != 0)
    if digits:
        assert term.decode() == to_ntriples(float(decimal))


def test_a_number_needs_room():
    """Its datatype is longer than it is."""
    for text in (b"1", b"1.5"):
        assert read(numbers.read_number, text, room=50) == (strings.FULL, None)


def time_of(text):
    """What the kernel reads."""
    data = np.frombuffer(text.encode() + BEHIND, np.uint8)
    time = read_time(data.ctypes.data, len(text.encode()))
    # The scanner refuses a time out of range.
    return time if FIRST <= time <= LAST else NO_TIME


def exactly(text):
    """What Arrow reads."""
    [time] = EventTimes.of([text]).milliseconds(np.zeros(1, np.int64)).tolist()
    return time


@given(st.sampled_from((*TIMES, *RARE_TIMES)) | LIKE_TIMES | st.text(max_size=30))
@example("2026-01-01T00:00:00.1é")
def test_times(text):
    """A time that is read is the one that Arrow reads."""
    if (time := time_of(text)) != NO_TIME:
        assert time == exactly(text)


@given(MOMENTS, ZONES, st.integers(0, 6), st.sampled_from("T "))
def test_times_of_the_usual_form_are_read(moment, zone, digits, separator):
    """Any day and zone, with up to six digits of a second."""
    local = moment.replace(tzinfo=timezone(timedelta(minutes=zone)))
    fraction = f".{moment.microsecond:06}"[: digits + 1] if digits else ""
    sign, ahead = "-" if zone < 0 else "+", abs(zone)
    text = (
        f"{moment.replace(microsecond=0).isoformat(separator)}{fraction}"
        f"{sign}{ahead // 60:02}:{ahead % 60:02}"
    )
    cut = local.replace(microsecond=int(f"{fraction[1:]:0<6}") // 1000 * 1000)
    expected = (cut - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert time_of(text) == exactly(text) == expected
    assert time_of(text[:-6] + "Z") == exactly(text[:-6] + "Z")


@pytest.mark.parametrize("year", [1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999])
def test_every_day_of_a_year(year):
    """The calendar is Python's, leap years and the ends of months included."""
    for month in range(14):
        for day in range(33):
            text = f"{year:04}-{month:02}-{day:02}T00:00:00Z"
            try:
                at = datetime(year, month, day, tzinfo=UTC)
            except ValueError:
                assert time_of(text) == NO_TIME
            else:
                since = at - datetime(1970, 1, 1, tzinfo=UTC)
                assert time_of(text) == since // timedelta(milliseconds=1)
