"""Resolution of IRIs against the examples of RFC 3986 and another implementation."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamreasoner.errors import TermError
from streamreasoner.program.checked import check_query, check_text
from streamreasoner.rdf.iris import resolve
from streamreasoner.rdf.terms import canonical

BASE = "http://a/b/c/d;p?q"
NORMAL = """
g:h g:h|g http://a/b/c/g|./g http://a/b/c/g|g/ http://a/b/c/g/|/g http://a/g|//g http://g
?y http://a/b/c/d;p?y|g?y http://a/b/c/g?y|#s http://a/b/c/d;p?q#s|g#s http://a/b/c/g#s
g?y#s http://a/b/c/g?y#s|;x http://a/b/c/;x|g;x http://a/b/c/g;x|g;x?y#s http://a/b/c/g;x?y#s
 http://a/b/c/d;p?q|. http://a/b/c/|./ http://a/b/c/|.. http://a/b/|../ http://a/b/
../g http://a/b/g|../.. http://a/|../../ http://a/|../../g http://a/g"""
ABNORMAL = """
../../../g http://a/g|../../../../g http://a/g|/./g http://a/g|/../g http://a/g
g. http://a/b/c/g.|.g http://a/b/c/.g|g.. http://a/b/c/g..|..g http://a/b/c/..g
./../g http://a/b/g|./g/. http://a/b/c/g/|g/./h http://a/b/c/g/h|g/../h http://a/b/c/h
g;x=1/./y http://a/b/c/g;x=1/y|g;x=1/../y http://a/b/c/y|g?y/./x http://a/b/c/g?y/./x
g?y/../x http://a/b/c/g?y/../x|g#s/./x http://a/b/c/g#s/./x|g#s/../x http://a/b/c/g#s/../x
http:g http:g"""
OTHERS = {
    ("http://e/doc", "#a"): "http://e/doc#a",
    ("http://e", "a"): "http://e/a",
    ("http://e?q", "a"): "http://e/a",
    ("http://e?q", ""): "http://e?q",
    ("http://e/a#f", ""): "http://e/a",
    ("http://e/a?q", "?"): "http://e/a?",
    ("urn:ex:doc", "#a"): "urn:ex:doc#a",
    ("urn:ex:doc", "a"): "urn:a",
    ("urn:ex:a/b", "../c"): "urn:/c",
    ("tag:e.org,2020:a/b", "c"): "tag:e.org,2020:a/c",
    ("app:", "a"): "app:a",
    ("app:/a/b", "../c"): "app:/c",
    ("file:///a/b", "c"): "file:///a/c",
    ("file:///a/b", "/c"): "file:///c",
    ("http://e/a/", "%7e/é/%C3%A9"): "http://e/a/%7e/é/%C3%A9",
    ("http://e/a/", "http://f/../%2e"): "http://f/../%2e",
    ("http://e/a/", "./b:c"): "http://e/a/b:c",
}


def pairs(text):
    """References and what they resolve to."""
    return [tuple(each.split(" ")) for line in text.splitlines()[1:] for each in line.split("|")]


@pytest.mark.parametrize(("reference", "expected"), pairs(NORMAL) + pairs(ABNORMAL))
def test_the_examples_of_the_rfc(reference, expected):
    """All of section 5.4; a scheme is that of the reference, as strict parsers have it."""
    assert resolve(reference, BASE) == expected


@pytest.mark.parametrize(("base", "reference"), OTHERS)
def test_bases_of_every_kind(base, reference):
    """Without an authority, a hierarchy or a path, and with characters that stay as they are."""
    assert resolve(reference, base) == OTHERS[base, reference]


@pytest.mark.parametrize(
    ("base", "reference", "reason"),
    [
        ("doc", "a", "base 'doc' is relative"),
        ("urn:a", "/.//b", "begins with `//`"),
        ("http://e/", "1:b", "a colon before its first slash"),
    ],
)
def test_what_has_no_meaning_is_refused(base, reference, reason):
    """With the way to write it."""
    with pytest.raises(TermError, match=reason):
        resolve(reference, base)


@given(
    base=st.lists(st.sampled_from(["/", "a", "b:", "%41", "é"]), max_size=5).map("".join),
    query=st.sampled_from(["", "?", "?q", "#f", "?q#f"]),
    parts=st.lists(st.sampled_from(["/", "..", ".", "a", "?", "#", "%41", "é"]), max_size=7),
)
def test_another_implementation_agrees(base, query, parts):
    """Oxigraph's, which removes the dots of the reference but not those of the base.

    It keeps those behind an empty authority, `///..`.
    """
    base = f"http://h/{base}{query}"
    reference = "".join(parts)
    assume(not reference.startswith("///"))
    turtle = f"<{reference}> a 1 ."
    try:
        (quad,) = pyoxigraph.parse(turtle, format=pyoxigraph.RdfFormat.TURTLE, base_iri=base)
    except SyntaxError:
        return
    assert f"<{resolve(reference, base)}>" == canonical(str(quad.subject))


def test_queries_and_rules_resolve_alike():
    """A prefix may be a fragment of the base."""
    for base, expected in (("http://e/doc", "http://e/doc#a"), ("urn:ex:doc", "urn:ex:doc#a")):
        query = f"BASE <{base}> PREFIX : <#> ASK {{ :a ?p ?o }}"
        rules = f"@base <{base}> . @prefix : <#> . p(?x) :- [:a, ?x, _] ."
        for program in (check_query(query, "query.rq", "answer"), check_text(rules)):
            assert f"<{expected}>" in repr(program.rules)
