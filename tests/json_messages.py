"""Messages in JSON for Hypothesis: valid updates in every form, and those with a mistake."""

from __future__ import annotations

import json

from hypothesis import strategies as st

NUMBERS = (
    *("0", "7", "-12", "999999999999999999", "1.5", "-0.25", "100.0", "0.001", "0.1"),
    *("123456789.123456", "0." + "0" * 30 + "123"),
)
RARE_NUMBERS = (
    *("-0", "0.0", "-0.0", "1000000000000000000", "9" * 40, "0.30000000000000004", "1e3", "1E-2"),
    *("1234567890.123456", "1.5e0", "00", "01", "1.", "-", "+1", ".5", "1e400", "0x1"),
    *("null", "tru", "[]", "{}", "NaN"),
)
TEXTS = ("<http://e/a>", '"x"@en', '"a\nb"', '"\\u00e9"', "é", "\U0001f600", "\u2028", "", "\x7f")
ESCAPES = (r"\"", r"\\", r"\/", r"\b\f\n\r\t", r"\u0041", r"\u00E9", r"\ud83d\ude00", r"\u0000")
MALFORMED = (r"\x", r"\u00", r"\ud83d", r"\ude00", r"\ud83d\u0041", "\\", "\t", "\0", '"')
TIMES = (
    *("2026-01-01T00:00:00Z", "2026-01-01 23:59:59.1Z", "1969-12-31T23:59:59.9999Z"),
    *("2024-02-29T12:00:00+05:30", "1600-02-29T00:00:00.123456-23:59"),
)
RARE_TIMES = (
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-01:00", "0000-01-01T00:00:00Z"),
    *("2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "2026-13-01T00:00:00Z", "today", ""),
    *("2026-01-01T00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.1234567Z"),
    *("2026-01-01T00:00:00+0530", "2026-1-01T00:00:00Z", "2026-01-01T00:00:00-24:00"),
    "2023-02-29T12:00:00Z",
)


def rarely(usual, rare):
    """Values of one strategy, or one time in thirty of another."""
    return st.integers(0, 29).flatmap(lambda number: rare if number == 29 else usual)


def one_of(usual, rare):
    """The same of two collections."""
    return rarely(st.sampled_from(usual), st.sampled_from(rare))


_SPACES = st.sampled_from(["", "", "", " ", "\t\r", "\n"])
_STRINGS = st.one_of(
    st.builds(json.dumps, st.sampled_from(TEXTS) | st.text(max_size=9), ensure_ascii=st.booleans()),
    st.builds('"{}abcdefgh{}"'.format, st.sampled_from(ESCAPES), one_of(ESCAPES, MALFORMED)),
)
_ARGUMENTS = st.one_of(_STRINGS, one_of((*NUMBERS, "true", "false"), RARE_NUMBERS))
_TIMES = one_of(
    (*map(json.dumps, TIMES), "1767225600123", "-62135596800000", "null"),
    (*map(json.dumps, RARE_TIMES), "-62135596800001", "253402300800000", "1.5"),
)
_PREDICATES = one_of(('"at"', '"edge"', '"triple"', '""', '"é"'), (r'"\u0061t"', "1"))
_DIFFS = one_of(("1", "-1", "3", "1000000", "-1000000"), ("1000001", "1.0", '"1"', "-0"))
_EPOCHS = one_of(("7", "null", "-1"), ("1.5", '"7"'))
_MORE = (
    *(("s", '"x"'), ("diff", "2"), ("predicate", '"at"'), ("args", "[]"), ("ts", "null")),
    *(("Diff", "1"), ("graph", '"g"'), (r"\u0073", '"x"'), ("", "1")),
)


@st.composite
def objects(draw):
    """An object, nearly always an update."""
    mistake = draw(st.integers(0, 19))
    if draw(st.booleans()):
        fields = [(name, draw(_STRINGS)) for name in "spo"]
    else:
        args = draw(st.lists(st.builds("{1}{0}{1}".format, _ARGUMENTS, _SPACES), max_size=3))
        fields = [("predicate", draw(_PREDICATES)), ("args", f"[{','.join(args)}]")]
    fields.append(("diff", draw(_DIFFS)))
    if draw(st.booleans()):
        fields.append(("ts", draw(_TIMES)))
    if draw(st.booleans()):
        fields.append(("epoch", draw(_EPOCHS)))
    if mistake == 19:
        fields.append(draw(st.sampled_from(_MORE)))
    elif mistake == 18:
        fields.pop(draw(st.integers(0, len(fields) - 1)))
    if draw(st.booleans()):
        fields = draw(st.permutations(fields))
    space = draw(_SPACES)
    pairs = (f'{space}"{name}"{space}:{space}{value}{space}' for name, value in fields)
    return f"{{{','.join(pairs)}}}"


def arrays():
    """An array of objects."""
    elements = st.lists(st.builds("{1}{0}{1}".format, objects(), _SPACES), max_size=3)
    return elements.map(lambda each: f" [{','.join(each)}] ")


def lines():
    """Lines of objects, and blank ones."""
    line = st.one_of(
        objects().map(lambda text: text.replace("\n", " ")), st.sampled_from(["", " \r"])
    )
    return st.lists(line, min_size=1, max_size=3).map("\n".join)


@st.composite
def mutated(draw, texts):
    """The bytes of a text, every fourth with a byte replaced, removed or added."""
    value = draw(texts).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 3)) < 3:
        return value
    at = draw(st.integers(0, len(value)))
    new = draw(st.sampled_from([b"", *(bytes([byte]) for byte in b'{}[]",:\\ \n0u1.\0\xff\xc3')]))
    return value[:at] + new + value[at + draw(st.integers(0, 1)) :]
