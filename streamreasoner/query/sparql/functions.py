"""The functions of SPARQL on terms (SPARQL 1.1, sections 17.4 and 17.5).

Invariant: a function takes canonical terms and has one as its value, or None: an error. All but
those with a new value each time are built-ins of the rule language.
"""

from __future__ import annotations

from random import SystemRandom
from typing import TYPE_CHECKING
from uuid import uuid4

from streamreasoner.errors import QueryError
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.vocabulary import XSD_DATE_TIME, XSD_FLOAT, XSD_STRING
from streamreasoner.sparql.functions import CONDITIONS, SEARCHES, VALUES
from streamreasoner.values import builtins
from streamreasoner.values.functions.strings import compatible
from streamreasoner.values.literal import canonical, literal, string
from streamreasoner.values.valuation import ValueKind, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OPERATORS = ("+", "-", "*", "/", "negate")


def _builtin(name: str) -> Callable[..., str | None]:
    return lambda *terms: builtins.apply(name, terms)


def _test(name: str) -> Callable[..., str | None]:
    def call(*terms: str) -> str | None:
        holds = builtins.test(name, terms)
        return None if holds is None else to_ntriples(holds)

    return call


def _search(name: str) -> Callable[..., str | None]:
    test = _test(name)
    return lambda text, part: test(text, part) if compatible(text, part) else None


def _with_flags(count: int, call: Callable[..., str | None]) -> Callable[..., str | None]:
    """A function whose pattern, its second argument, may have flags, after `count` arguments."""

    def flagged(*terms: str) -> str | None:
        if len(terms) == count:
            return call(*terms)
        pattern, flags = string(terms[1]), string(terms[count])
        if pattern is None or flags is None:
            return None
        if unknown := sorted(set(flags.lexical) - set("ims")):
            raise QueryError(
                f"The flag {unknown[0]!r} of regular expressions is not supported. Those that are: "
                "i, m and s."
            )
        text = f"(?{flags.lexical}){pattern.lexical}" if flags.lexical else pattern.lexical
        return call(terms[0], canonical(text), *terms[2:count])

    return flagged


def _cast_to_float(term: str) -> str | None:
    double = builtins.apply("to_double", [term])
    parsed = None if double is None else literal(double)
    return None if parsed is None else f'"{parsed.lexical}"^^<{XSD_FLOAT}>'


def _cast_to_date_time(term: str) -> str | None:
    parsed = literal(term)
    if parsed is None or parsed.datatype not in (XSD_DATE_TIME, XSD_STRING):
        return None
    is_instant = value(parsed.lexical, XSD_DATE_TIME).kind is ValueKind.INSTANT
    return f'"{parsed.lexical}"^^<{XSD_DATE_TIME}>' if is_instant else None


def _plus(term: str) -> str | None:
    return term if builtins.test("is_number", [term]) else None


FUNCTIONS: Mapping[str, Callable[..., str | None]] = {
    **{operator: _builtin(operator) for operator in _OPERATORS},
    **{name: _builtin(builtin) for name, builtin in VALUES.items()},
    **{name: _test(builtin) for name, builtin in CONDITIONS.items()},
    **{name: _search(builtin) for name, builtin in SEARCHES.items()},
    "REGEX": _with_flags(2, _test("matches")),
    "REPLACE": _with_flags(3, _builtin("replace")),
    "plus": _plus,
    "RAND": lambda: to_ntriples(SystemRandom().random()),
    "UUID": lambda: f"<urn:uuid:{uuid4()}>",
    "STRUUID": lambda: canonical(str(uuid4())),
    "BNODE": lambda: f"_:b{uuid4().hex}",
    f"<{XSD_FLOAT}>": _cast_to_float,
    f"<{XSD_DATE_TIME}>": _cast_to_date_time,
}
"""Functions whose arguments must all have values, by their names in the algebra of `sparql`."""
