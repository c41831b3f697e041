"""Hash functions of strings (SPARQL 1.1, section 17.4.6). Invariant: the digest is of its UTF-8."""

from __future__ import annotations

import hashlib

from streamreasoner.rdf.vocabulary import XSD_STRING
from streamreasoner.values.literal import canonical, literal


def md5(text: str) -> str | None:
    """MD5 of a string without a language, as 32 hexadecimal digits in lower case."""
    return _digest("md5", text)


def sha1(text: str) -> str | None:
    """SHA-1 of a string without a language, as 40 hexadecimal digits in lower case."""
    return _digest("sha1", text)


def sha256(text: str) -> str | None:
    """SHA-256 of a string without a language, as 64 hexadecimal digits in lower case."""
    return _digest("sha256", text)


def sha384(text: str) -> str | None:
    """SHA-384 of a string without a language, as 96 hexadecimal digits in lower case."""
    return _digest("sha384", text)


def sha512(text: str) -> str | None:
    """SHA-512 of a string without a language, as 128 hexadecimal digits in lower case."""
    return _digest("sha512", text)


def _digest(name: str, text: str) -> str | None:
    parsed = literal(text)
    if parsed is None or parsed.datatype != XSD_STRING:
        return None
    digest = hashlib.new(name, parsed.lexical.encode(), usedforsecurity=False)
    return canonical(digest.hexdigest())
