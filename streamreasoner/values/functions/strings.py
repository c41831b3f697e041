"""Functions and tests of strings. Invariant: no value unless all arguments are string literals.

A string is an xsd:string or a language-tagged literal; positions count code points.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import quote

from streamreasoner.rdf.vocabulary import XSD_STRING
from streamreasoner.values import regex
from streamreasoner.values.functions.integers import whole
from streamreasoner.values.literal import canonical, literal, string
from streamreasoner.values.numbers import exact_term
from streamreasoner.values.valuation import UNITS

if TYPE_CHECKING:
    from streamreasoner.values.literal import ValuedLiteral


def concat(*arguments: str) -> str | None:
    """The concatenation of all arguments, with the language tag if they share one."""
    texts = []
    languages = set()
    for argument in arguments:
        parsed = string(argument)
        if parsed is None:
            return None
        texts.append(parsed.lexical)
        languages.add(parsed.language)
    return canonical("".join(texts), languages.pop() if len(languages) == 1 else None)


def length(text: str) -> str | None:
    """Number of code points, an xsd:integer."""
    parsed = string(text)
    return None if parsed is None else exact_term(len(parsed.lexical) * UNITS, integer=True)


def substring(text: str, start: str, count: str | None = None) -> str | None:
    """The characters at positions start <= p < start + count, counted from 1, as `fn:substring`.

    Positions outside the text are ignored, so any integers are valid.
    """
    parsed = string(text)
    first = whole(start)
    if parsed is None or first is None:
        return None
    begin, end = max(first - 1, 0), len(parsed.lexical)
    if count is not None:
        size = whole(count)
        if size is None:
            return None
        end = max(min(end, first - 1 + size), 0)
    return canonical(parsed.lexical[begin:end], parsed.language)


def lower(text: str) -> str | None:
    """The text in lower case, with its language tag."""
    parsed = string(text)
    return None if parsed is None else canonical(parsed.lexical.lower(), parsed.language)


def upper(text: str) -> str | None:
    """The text in upper case, with its language tag."""
    parsed = string(text)
    return None if parsed is None else canonical(parsed.lexical.upper(), parsed.language)


def before(text: str, part: str) -> str | None:
    """What is before the first occurrence of `part` (SPARQL 1.1, section 17.4.3.9).

    It has the language of `text`; the empty string without one if `part` does not occur. No value
    if `part` has a language, and it is not that of `text`.
    """
    found = compatible(text, part)
    if found is None:
        return None
    a, b = found
    head, occurs, _ = a.lexical.partition(b.lexical) if b.lexical else ("", True, "")
    return canonical(head, a.language) if occurs else canonical("")


def after(text: str, part: str) -> str | None:
    """What is after the first occurrence of `part` (SPARQL 1.1, section 17.4.3.10).

    The language is that of `before`.
    """
    found = compatible(text, part)
    if found is None:
        return None
    a, b = found
    _, occurs, tail = a.lexical.partition(b.lexical) if b.lexical else ("", True, a.lexical)
    return canonical(tail, a.language) if occurs else canonical("")


def replace(text: str, pattern: str, replacement: str) -> str | None:
    """The text with every match of a regular expression replaced, with its language tag.

    See `regex.replaced` for what has no value (SPARQL 1.1, section 17.4.3.15).
    """
    parsed, a, b = string(text), string(pattern), string(replacement)
    if parsed is None or a is None or b is None:
        return None
    result = regex.replaced(a.lexical, parsed.lexical, b.lexical)
    return None if result is None else canonical(result, parsed.language)


def encode_for_uri(text: str) -> str | None:
    """The text as a part of a URI: all but letters, digits and `-_.~` of ASCII is escaped.

    Source: SPARQL 1.1, section 17.4.3.11; RFC 3986, section 2.3.
    """
    parsed = string(text)
    return None if parsed is None else canonical(quote(parsed.lexical, safe=""))


def contains(text: str, part: str) -> bool | None:
    """Whether `part` occurs in `text`."""
    a, b = string(text), string(part)
    return None if a is None or b is None else b.lexical in a.lexical


def starts_with(text: str, part: str) -> bool | None:
    """Whether `text` begins with `part`."""
    a, b = string(text), string(part)
    return None if a is None or b is None else a.lexical.startswith(b.lexical)


def ends_with(text: str, part: str) -> bool | None:
    """Whether `text` ends with `part`."""
    a, b = string(text), string(part)
    return None if a is None or b is None else a.lexical.endswith(b.lexical)


def matches(text: str, pattern: str) -> bool | None:
    """Whether a regular expression matches anywhere in the text; None if it is invalid."""
    a, b = string(text), string(pattern)
    return None if a is None or b is None else regex.search(b.lexical, a.lexical)


def compatible(text: str, part: str) -> tuple[ValuedLiteral, ValuedLiteral] | None:
    """Two strings, the second without a language or with that of the first (section 17.4.3.1.2)."""
    a, b = string(text), string(part)
    if a is None or b is None or b.language not in (None, a.language):
        return None
    return a, b


def digest(algorithm: str, text: str) -> str | None:
    """The hash of a string without a language, in hexadecimal (SPARQL 1.1, section 17.4.6)."""
    parsed = literal(text)
    if parsed is None or parsed.datatype != XSD_STRING:
        return None
    found = hashlib.new(algorithm, parsed.lexical.encode(), usedforsecurity=False)
    return canonical(found.hexdigest())
