"""Kinds of configuration values: a value of the documented type, or a ValueError."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.config import key_kinds as kinds
from streamreasoner.config.key_kinds import one_of, seconds, show, whole

HERE = Path("/etc/reasoner")
KINDS = {
    kinds.TEXT: str,
    kinds.PROGRAM: (str, Path),
    kinds.PATH: Path,
    kinds.BACKEND: str,
    kinds.NAME: str,
    kinds.TOPIC: str,
    kinds.TOPICS: tuple,
    kinds.SERVERS: str,
    kinds.OPTIONS: dict,
    kinds.SPARK_OPTIONS: dict,
    one_of("a", "b"): str,
    whole(0, 9): int,
    seconds(0, 9): float,
}
WORDS = st.one_of(
    st.text("ab1.:/,-_[] \0é", max_size=8),
    st.sampled_from(
        ("s3a://b/f", "file://h/x", "rho-df", "h:9092, [::1]:1", "{a.b = 1}", "nan", "1e9")
    ),
)
SINGLE = st.one_of(st.booleans(), st.integers(-2, 12), st.floats(), WORDS)
VALUES = st.recursive(
    SINGLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(("a", "spark.b")), inner)
    ),
    max_leaves=3,
)


@given(st.sampled_from([*KINDS]), VALUES)
def test_a_value_has_its_type_or_is_refused(kind, value):
    """Whatever a TOML file holds; what is said adds to what is allowed."""
    try:
        found = kind.read(value, HERE)
    except ValueError as error:
        said = str(error)
    else:
        said = ""
        assert isinstance(found, KINDS[kind])
        assert not isinstance(found, bool)
        if isinstance(found, Path):
            assert found.is_absolute()
        if isinstance(found, dict):
            assert {type(each) for pair in found.items() for each in pair} <= {str}
        if isinstance(found, tuple):
            assert found
            assert len({*found}) == len(found)
    assert kind.allowed not in said
    assert kind.secret == (KINDS[kind] is dict)


@given(
    st.sampled_from((whole, seconds)), st.integers(-3, 3), st.integers(-3, 3), st.integers(-4, 4)
)
def test_a_number_is_within_its_range(kind, least, most, number):
    """Both ends are allowed; the environment gives it as text."""
    for value in (number, str(number)):
        try:
            found = kind(least, most).read(value, HERE)
        except ValueError:
            found = None
        assert found == (number if least <= number <= most else None)


@pytest.mark.parametrize("text", ["a = 1", "a.b = true", '"a.b" = 1.5\nc = "x"', "[a]\nb.c = 1"])
def test_options_are_the_same_in_a_file_and_in_the_environment(text):
    """Names of options have dots, which TOML reads as tables unless they are quoted."""
    table = tomllib.loads(text)
    inline = "{ a = 1 }" if text == "a = 1" else None
    found = kinds.OPTIONS.read(table, HERE)

    assert all(isinstance(name, str) and not isinstance(each, dict) for name, each in found.items())
    assert inline is None or kinds.OPTIONS.read(inline, HERE) == found
    assert kinds.OPTIONS.read(found, HERE) == found


@given(VALUES)
def test_a_shown_value_is_short_and_keeps_secrets(value):
    """A message has room for so much, and a password is not for it."""
    assert len(show(value)) <= 63
    assert show(value, secret=True) == show("", secret=True)
