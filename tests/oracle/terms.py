"""Values of canonical terms. Invariant: a number's Python type corresponds to its numeric type.

int, Fraction and float stand for integer, decimal and double; Python promotes them in this order.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np

XSD = "http://www.w3.org/2001/XMLSchema#"
DIR_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString"
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"

LITERAL = re.compile(r'"(.*)"(?:@(.*)|\^\^<(.*)>)?', re.DOTALL)
INTEGERS = {
    "integer": (-math.inf, math.inf),
    "nonNegativeInteger": (0, math.inf),
    "positiveInteger": (1, math.inf),
    "nonPositiveInteger": (-math.inf, 0),
    "negativeInteger": (-math.inf, -1),
}
for _name, _bits in (("long", 64), ("int", 32), ("short", 16), ("byte", 8)):
    INTEGERS[_name] = (-(2 ** (_bits - 1)), 2 ** (_bits - 1) - 1)
    INTEGERS[f"unsigned{_name.capitalize()}"] = (0, 2**_bits - 1)
INTEGER_FORM = r"[+-]?\d+"
DECIMAL_FORM = r"[+-]?(\d+(\.\d*)?|\.\d+)"
DOUBLE_FORM = rf"{DECIMAL_FORM}([Ee][+-]?\d+)?|[+-]?INF|NaN"
INSTANT_FORMS = {
    "date": r"\d{4}-\d\d-\d\d(Z|[+-]\d\d:\d\d)?",
    "dateTime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?",
    "dateTimeStamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)",
}
KINDS = (bool, int | Fraction | float, datetime, str)
"""The Python types of values that compare with each other, in the total order of kinds."""
NUMBER = 1

BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
TO_ESCAPE = re.compile('[\\x00-\\x1f\\x7f"\\\\\ufffe\uffff]')
ESCAPES = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r", '"': '"', "\\": "\\"}


def literal(text):
    """(lexical form, language or None, datatype) of a literal; None for other terms."""
    match = LITERAL.fullmatch(text)
    if match is None:
        return None
    lexical = json.loads(f'"{match[1]}"')
    tagged = DIR_LANG_STRING if "--" in (match[2] or "") else LANG_STRING
    return lexical, match[2], tagged if match[2] else match[3] or XSD + "string"


def triple(text):
    """(subject, predicate, object) of a triple term; None for other terms."""
    match = re.fullmatch(r"<<\( (\S+) (\S+) (.*) \)>>", text, re.DOTALL)
    return match and match.groups()


def string(lexical, language=None, datatype=None):
    """The canonical text of a literal."""
    escaped = TO_ESCAPE.sub(
        lambda found: "\\" + ESCAPES.get(found[0], f"u{ord(found[0]):04X}"), lexical
    )
    quoted = f'"{escaped}"'
    if language:
        return f"{quoted}@{language}"
    return f"{quoted}^^<{datatype}>" if datatype else quoted


def value(text):  # noqa: PLR0911
    """int, Fraction, float, str, bool or datetime; None if the term is not comparable."""
    lexical, _, datatype = literal(text) or ("", None, "")
    name = datatype.removeprefix(XSD)
    if name == "string":
        return lexical
    if name == "decimal" or name in INTEGERS:
        form = DECIMAL_FORM if name == "decimal" else INTEGER_FORM
        if not re.fullmatch(form, lexical, re.ASCII):
            return None
        number = Fraction(lexical)
        least, most = INTEGERS.get(name, (-math.inf, math.inf))
        if not least <= number <= most:
            return None
        exact = -(2**63) <= number < 2**63 and (number * 10**18).denominator == 1
        if not exact:
            return float(number)
        return number if name == "decimal" else int(number)
    if name in ("double", "float"):
        number = float(lexical) if re.fullmatch(DOUBLE_FORM, lexical, re.ASCII) else None
        with np.errstate(all="ignore"):
            return float(np.float32(number)) if number and name == "float" else number
    if name == "boolean":
        return BOOLEANS.get(lexical)
    if name in INSTANT_FORMS and re.fullmatch(INSTANT_FORMS[name], lexical, re.ASCII):
        try:
            instant = datetime.fromisoformat(lexical)
        except ValueError:
            return None
        return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return None


def kind(content):
    """The index in `KINDS` of a value; None for other content."""
    return next((index for index, types in enumerate(KINDS) if isinstance(content, types)), None)


def number(text):
    """The value of a number; None for other terms."""
    content = value(text)
    return content if kind(content) == NUMBER else None
