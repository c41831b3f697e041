"""Functions and tests of strings. Invariant: no value unless all arguments are string literals.

A string is an xsd:string or a language-tagged literal; positions count code points.
"""

from __future__ import annotations

from streamreasoner.values import regex
from streamreasoner.values.literal import canonical, string
from streamreasoner.values.numbers import Type, exact_term, number
from streamreasoner.values.valuation import UNITS


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
    first = _integer(start)
    if parsed is None or first is None:
        return None
    begin, end = max(first - 1, 0), len(parsed.lexical)
    if count is not None:
        size = _integer(count)
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


def _integer(text: str) -> int | None:
    parsed = number(text)
    return None if parsed is None or parsed.type is not Type.INTEGER else parsed.units // UNITS
