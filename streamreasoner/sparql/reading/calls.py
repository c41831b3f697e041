"""The functions that a query can call by name. Invariant: each has its numbers of arguments."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.counts import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

AGGREGATES = frozenset({"AVG", "COUNT", "GROUP_CONCAT", "MAX", "MIN", "SAMPLE", "SUM"})
_ANY = range(1_000_000)
_FUNCTIONS: Mapping[range, str] = {
    range(1): "NOW RAND STRUUID UUID",
    range(2): "BNODE",
    range(1, 2): "ABS BOUND CEIL DATATYPE DAY ENCODE_FOR_URI FLOOR HASLANG HASLANGDIR HOURS IRI "
    "ISBLANK ISIRI ISLITERAL ISNUMERIC ISTRIPLE ISURI LANG LANGDIR LCASE MD5 MINUTES MONTH OBJECT "
    "PREDICATE ROUND SECONDS SHA1 SHA256 SHA384 SHA512 STR STRLEN SUBJECT TIMEZONE TZ UCASE URI "
    "YEAR",
    range(2, 3): "CONTAINS LANGMATCHES SAMETERM STRAFTER STRBEFORE STRDT STRENDS STRLANG STRSTARTS",
    range(2, 4): "REGEX SUBSTR",
    range(3, 4): "IF STRLANGDIR TRIPLE",
    range(3, 5): "REPLACE",
    _ANY: "COALESCE CONCAT",
}
_COUNTS = {name: counts for counts, names in _FUNCTIONS.items() for name in names.split()}


def misuse(name: str, count: int) -> tuple[str, str | None] | None:
    """What is wrong with calling a function with this many arguments, and what to write instead."""
    function = name.upper()
    counts = _COUNTS.get(function)
    if counts is None:
        close = get_close_matches(function, [*_COUNTS, *AGGREGATES], 1)
        hint = f"did you mean `{close[0]}`?" if close else None
        return f"`{name}` is not a function of SPARQL 1.2", hint
    if count in counts:
        return None
    least, most = counts[0], counts[-1]
    allowed = counted(most, "argument") if least == most else f"{least} to {most} arguments"
    return f"`{name}` takes {allowed}, not {count}", None
