"""Casts of SPARQL that are no functions of rules (SPARQL 1.1, section 17.5; XPath functions, 19).

Invariant: the text of a number or boolean is the canonical one of its value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.query.sparql.computing.floats import float_term
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.vocabulary import XSD_DATE_TIME, XSD_DOUBLE, XSD_FLOAT, XSD_STRING
from streamreasoner.values import builtins
from streamreasoner.values.literal import canonical, literal
from streamreasoner.values.valuation import ValueKind, value

if TYPE_CHECKING:
    from streamreasoner.values.literal import ValuedLiteral

_PLAIN_FROM, _PLAIN_TO = 1e-6, 1e6


def to_float(term: str) -> str | None:
    """An xsd:float, the nearest one."""
    double = builtins.apply("to_double", [term])
    parsed = None if double is None else literal(double)
    return None if parsed is None else float_term(parsed.value.double)


def to_date_time(term: str) -> str | None:
    """An xsd:dateTime, of the text of one."""
    parsed = literal(term)
    if parsed is None or parsed.datatype not in (XSD_DATE_TIME, XSD_STRING):
        return None
    is_instant = value(parsed.lexical, XSD_DATE_TIME).kind is ValueKind.INSTANT
    return f'"{parsed.lexical}"^^<{XSD_DATE_TIME}>' if is_instant else None


def to_string(term: str) -> str | None:
    """An xsd:string: an IRI or a literal as text."""
    parsed = literal(term)
    if parsed is None:
        return builtins.apply("str", [term])
    match parsed.value.kind:
        case ValueKind.BOOLEAN:
            return canonical("true" if parsed.value.whole else "false")
        case ValueKind.INTEGER | ValueKind.EXACT | ValueKind.DOUBLE:
            return _text_of_number(parsed)
        case _:
            return canonical(parsed.lexical)


def _text_of_number(parsed: ValuedLiteral) -> str | None:
    """A number without an exponent, unless it is a very large or small double or float."""
    if parsed.datatype not in (XSD_DOUBLE, XSD_FLOAT):
        digits = builtins.apply("to_number", [canonical(parsed.lexical)])
        found = None if digits is None else literal(digits)
        return None if found is None else canonical(found.lexical)
    number = parsed.value.double
    if number == 0 or _PLAIN_FROM <= abs(number) < _PLAIN_TO:
        single = np.float32 if parsed.datatype == XSD_FLOAT else np.float64
        return canonical(np.format_float_positional(single(number), unique=True, trim="-"))
    term = float_term(number) if parsed.datatype == XSD_FLOAT else to_ntriples(number)
    return canonical(term[1 : term.rindex('"')])
