"""Casts to float, date, time and text (SPARQL 1.1, section 17.5; XPath functions, section 19).

Invariant: the text of a number or boolean is the canonical one of its value. The other casts are in
`conversions`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.vocabulary import (
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_STRING,
)
from streamreasoner.values.functions.conversions import to_double
from streamreasoner.values.functions.instants import add_duration
from streamreasoner.values.functions.term_functions import to_number, to_text
from streamreasoner.values.literal import canonical, literal
from streamreasoner.values.valuation import ValueKind, value

if TYPE_CHECKING:
    from streamreasoner.values.literal import ValuedLiteral

_PLAIN_FROM, _PLAIN_TO = 1e-6, 1e6
_DATE_TIME = re.compile(r"(-?[0-9]{4,}-[0-9]{2}-[0-9]{2})T.{8}(?:\.[0-9]+)?(Z|[+-].{5})?")
_DATE = re.compile(r"(-?[0-9]{4,}-[0-9]{2}-[0-9]{2})(Z|[+-].{5})?")
_NO_TIME = '"PT0S"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>'


def to_float(term: str) -> str | None:
    """An xsd:float, the nearest one."""
    double = to_double(term)
    parsed = None if double is None else literal(double)
    return None if parsed is None else float_term(parsed.value.double)


def float_term(number: float) -> str:
    """The canonical xsd:float that is nearest to a number."""
    import numpy as np  # noqa: PLC0415 - programs are read without it

    with np.errstate(over="ignore"):
        single = np.float32(number)
    if np.isfinite(single):
        text = np.format_float_scientific(single, unique=True, trim="0")
        mantissa, _, exponent = text.partition("e")
        lexical = f"{mantissa}E{int(exponent)}"
    else:
        lexical = "NaN" if np.isnan(single) else "INF" if single > 0 else "-INF"
    return f'"{lexical}"^^<{XSD_FLOAT}>'


def to_date_time(term: str) -> str | None:
    """An xsd:dateTime: one as it is, the first instant of a date, or of the text of a dateTime."""
    parsed = literal(term)
    if parsed is None:
        return None
    lexical = parsed.lexical
    if parsed.datatype == XSD_DATE and (day := _DATE.fullmatch(lexical)):
        lexical = f"{day[1]}T00:00:00{day[2] or ''}"
    elif parsed.datatype not in (XSD_DATE_TIME, XSD_STRING):
        return None
    return _instant(lexical, XSD_DATE_TIME)


def to_date(term: str) -> str | None:
    """An xsd:date: one as it is, the day of a dateTime, or of the text of a date."""
    parsed = literal(term)
    if parsed is None:
        return None
    lexical = parsed.lexical
    if parsed.datatype == XSD_DATE_TIME and parsed.value.kind is ValueKind.INSTANT:
        if "T24" in lexical:  # the first instant of the next day
            moved = literal(add_duration(term, _NO_TIME) or "")
            lexical = "" if moved is None else moved.lexical
        time = _DATE_TIME.fullmatch(lexical)
        lexical = "" if time is None else f"{time[1]}{time[2] or ''}"
    elif parsed.datatype not in (XSD_DATE, XSD_STRING):
        return None
    return _instant(lexical, XSD_DATE)


def _instant(lexical: str, datatype: str) -> str | None:
    known = value(lexical, datatype).kind is ValueKind.INSTANT
    return f'"{lexical}"^^<{datatype}>' if known else None


def canonical_text(term: str) -> str | None:
    """A text, as by a cast to xsd:string: of an IRI, or of the value of a literal."""
    parsed = literal(term)
    if parsed is None:
        return to_text(term)
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
        digits = to_number(canonical(parsed.lexical))
        found = None if digits is None else literal(digits)
        return None if found is None else canonical(found.lexical)
    number = parsed.value.double
    if number == 0 or _PLAIN_FROM <= abs(number) < _PLAIN_TO:
        import numpy as np  # noqa: PLC0415 - as above

        single = np.float32 if parsed.datatype == XSD_FLOAT else np.float64
        return canonical(np.format_float_positional(single(number), unique=True, trim="-"))
    term = float_term(number) if parsed.datatype == XSD_FLOAT else to_ntriples(number)
    return canonical(term[1 : term.rindex('"')])
