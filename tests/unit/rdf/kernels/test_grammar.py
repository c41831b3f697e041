"""The fast check of terms against the exact parser: it accepts nothing that is not canonical."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import DOMAIN
from unit.rdf.kernels.headers import memory

from streamreasoner.errors import TermError
from streamreasoner.rdf.kernels import grammar
from streamreasoner.rdf.terms import canonical

XSD = b"http://www.w3.org/2001/XMLSchema#"
# Of IRIs, strings, languages and labels; what is wrong in one is right in another.
FRAGMENTS = (
    *(b"urn:a", b"http://h", b":80", b"/p", b"#f", b"?q", b"%4", b"1", b"%C3%A9", b":", b"a", b"Z"),
    *(b"\\n", b"\\u0041", b"\\", b'"', b" ", b"\t", b"\x7f", b"@en", b"@EN", b"-", b"-x1", b"."),
    *(each.encode() for each in "é\u200b\ue000\ufffe\uffff\U0001f600"),
    *(b"\xc3", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"[::1]", b"//", b"<"),
    *(b"^^<urn:d>", b"^^<" + XSD + b"string>", b"^^<" + XSD + b"integer>", b">", b"_:", b"^^"),
)
CONTENT = st.lists(st.sampled_from(FRAGMENTS), max_size=4).map(b"".join)
TERMS = st.one_of(
    st.builds(lambda text: b"<urn:" + text + b">", CONTENT),
    st.builds(lambda text: b"<" + text + b">", CONTENT),
    st.builds(
        lambda text, end: b'"' + text + b'"' + end, CONTENT, st.one_of(st.just(b""), CONTENT)
    ),
    st.builds(lambda text: b"_:" + text, CONTENT),
    CONTENT,
)


def check(function, text):
    """What a kernel says of some bytes; those behind them would end any term."""
    held = memory(text + b'">. \x80')
    return held, function(held.ctypes.data, held.ctypes.data + len(text))


def is_canonical(text):
    """Whether the fast check accepts the bytes of a term."""
    held = memory(text + b'">. \x80')
    return grammar.is_canonical(held.ctypes.data, len(text))


@given(TERMS)
def test_only_canonical_terms_are_accepted(text):
    """The exact parser reads them, and writes them with the same bytes."""
    if is_canonical(text):
        assert canonical(text.decode()).encode() == text


@pytest.mark.parametrize(
    "term",
    [
        *DOMAIN,
        *('""', '"é\\n\\"\\\\ \U0001f600"', '"x"@en-gb-1x', "_:b.1-c", "_:0", "<urn:é>"),
        *("<http://h.org:80/a%20b?q=/?#f/?>", "<mailto:a@b.c>", "<a+b-c.d:>", "<http://h>"),
    ],
)
def test_common_terms_need_no_exact_parser(term):
    """They are accepted; without one of their bytes they are another term, or none."""
    text = term.encode()

    assert canonical(term) == term
    assert is_canonical(text)
    for at in range(len(text)):
        part = text[:at] + text[at + 1 :]
        assert not is_canonical(part) or canonical(part.decode()).encode() == part


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"<", b"<>", b"<a>", b"<:a>", b"<urn:a b>", b"<urn:%4g>", b"<urn:#a#b>", b'<urn:">'),
        *(b'"', b'"a', b'a"', b'"\n"', b'"\\q"', b'"x"@', b'"x"@en-', b'"x"@123', b'"x"@EN'),
        *(b'"x"^<urn:d>', b'"x"^^<d>', b'"x"^^<' + XSD + b"string>", b"_:", b"_:-a", b"_:a."),
        *(b"_a", '"\ufffe"'.encode(), '"\uffff"'.encode()),
    ],
)
def test_what_is_not_canonical_goes_to_the_exact_parser(text):
    """Which refuses it, or writes it in another way."""
    with suppress(TermError):
        assert canonical(text.decode()).encode() != text
    assert not is_canonical(text)


@given(st.text("ab1-Z", max_size=22).map(str.encode))
def test_languages_have_parts_of_one_to_eight(text):
    """The first of letters, all in lower case."""
    _, found = check(grammar.is_language, text)

    assert found == bool(re.fullmatch(rb"[a-z]{1,8}(-[a-z0-9]{1,8})*", text))


@given(
    st.one_of(
        st.binary(min_size=1, max_size=4),
        st.characters(min_codepoint=0x80, codec="utf-8").map(str.encode),
    )
)
def test_characters_are_decoded_as_in_python(text):
    """The first of the bytes, if it is of several bytes and they are UTF-8."""
    held = memory(text)
    code, width = grammar.decode_character(held.ctypes.data, held.ctypes.data + len(text))
    expected = (0, 0)
    for length in range(2, len(text) + 1):
        try:
            expected = ord(text[:length].decode()), length
        except (UnicodeDecodeError, TypeError):
            continue
        break

    assert (code, width) == expected
