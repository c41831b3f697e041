"""Casts to float, date, time and text, and relative IRIs. Invariant: None is not a value."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np

from oracle.arithmetic import double
from oracle.terms import DOUBLE_FORM, XSD, literal, string, value

DAY, ZONE = r"(\d{4}-\d\d-\d\d)", r"((?:Z|[+-]\d\d:\d\d)?)"
TIME = re.compile(rf"{DAY}T(\d\d):\d\d:\d\d(?:\.\d+)?{ZONE}")
DATE = re.compile(DAY + ZONE)


def float_text(number):
    """The canonical text of a float: as many digits as tell it from its neighbours."""
    single = np.float32(number)
    if not np.isfinite(single) or single == 0:
        return double(float(single)).replace("0E0", "0.0E0").replace("0.0.0E0", "0.0E0")
    for digits in range(12):
        text = f"{single:.{digits}e}"
        if np.float32(text) == single:
            break
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def to_float(term):
    """Of a number, a boolean, or the text of a double."""
    lexical, _, datatype = literal(term) or ("", None, "")
    content = value(term)
    if datatype == XSD + "string" or (literal(term) and literal(term)[1]):
        content = float(lexical) if re.fullmatch(DOUBLE_FORM, lexical, re.ASCII) else None
    if not isinstance(content, bool | int | Fraction | float):
        return None
    with np.errstate(over="ignore"):
        return string(float_text(float(content)), datatype=XSD + "float")


def to_date_time(term):
    """Of a text, a time or a date."""
    lexical, _, datatype = literal(term) or ("", None, "")
    if datatype == XSD + "date" and (found := DATE.fullmatch(lexical)):
        lexical = f"{found[1]}T00:00:00{found[2]}"
    elif datatype not in (XSD + "string", XSD + "dateTime"):
        return None
    made = string(lexical, datatype=XSD + "dateTime")
    return made if known(lexical) and TIME.fullmatch(lexical) else None


def to_date(term):
    """Of a text, a date or a time."""
    lexical, _, datatype = literal(term) or ("", None, "")
    if datatype == XSD + "dateTime" and (found := TIME.fullmatch(lexical)):
        if not known(lexical):
            return None
        day = date.fromisoformat(found[1]) + timedelta(days=found[2] == "24")
        lexical = f"{day}{found[3]}"
    elif datatype not in (XSD + "string", XSD + "date"):
        return None
    found = DATE.fullmatch(lexical)
    made = string(lexical, datatype=XSD + "date")
    return made if found and known(f"{found[1]}T00:00:00{found[2]}") else None


def known(lexical):
    """Whether there is such a time."""
    try:
        datetime.fromisoformat(lexical.replace("T24:00", "T00:00"))
    except ValueError:
        return False
    return True


def canonical_text(term):  # noqa: PLR0911 - one for each kind of term
    """Of an IRI, or of the value of a literal."""
    if literal(term) is None:
        return string(term[1:-1]) if term[0] == "<" else None
    lexical, _, datatype = literal(term)
    content = value(term)
    match content:
        case bool():
            return string("true" if content else "false")
        case float() if datatype in (XSD + "double", XSD + "float"):
            single = datatype == XSD + "float"
            if content == 0 or 1e-6 <= abs(content) < 1e6:
                kind = np.float32 if single else np.float64
                return string(np.format_float_positional(kind(content), unique=True, trim="-"))
            return string(float_text(content) if single else double(content))
        case int() | Fraction() | float():
            if isinstance(content, float):
                return string(lexical)  # it has more digits than are computed with
            return string(decimal(Fraction(content)))
        case _:
            return string(lexical)


def decimal(number):
    """A number without an exponent, of 18 fraction digits at most."""
    units = round(number * 10**18)
    whole, rest = divmod(abs(units), 10**18)
    text = f"{whole}.{rest:018}".rstrip("0").rstrip(".")
    return f"-{text}" if units < 0 else text


def resolved(reference, base):
    """A relative IRI and a base, by RFC 3986, section 5.2.2; None if there is no such IRI."""
    parts = re.compile(
        r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
    )
    scheme, authority, path, query, _ = parts.fullmatch(base).groups()
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", reference):
        return reference
    if ":" in re.split("[/?#]", reference)[0]:
        return None
    _, other, step, asked, fragment = parts.fullmatch(reference).groups()
    if other is None and not step:
        query = query if asked is None else asked
    else:
        query = asked
        if other is None and not step.startswith("/"):
            start = "/" if authority is not None and not path else path[: path.rfind("/") + 1]
            step = start + step
        path, authority = without_dots(step), authority if other is None else other
    if authority is None and path.startswith("//"):
        return None
    ends = ("" if query is None else f"?{query}") + ("" if fragment is None else f"#{fragment}")
    return f"{scheme}:{'' if authority is None else f'//{authority}'}{path}{ends}"


def without_dots(path):
    """Section 5.2.4, step by step."""
    output = []
    while path:
        if path.startswith(("../", "./")):
            path = path[path.index("/") + 1 :]
        elif path.startswith("/./") or path == "/.":
            path = "/" + path[3:]
        elif path.startswith("/../") or path == "/..":
            path = "/" + path[4:]
            output = output[:-1]
        elif path in (".", ".."):
            path = ""
        else:
            segment = re.match("/?[^/]*", path)[0]
            output.append(segment)
            path = path[len(segment) :]
    return "".join(output)
