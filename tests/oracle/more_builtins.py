"""Rounding, conversion, bits, digests, dates and datatypes. Invariant: each is Python's own.

Dates are those of `datetime`, so years are from 1 to 9999; numbers are fractions. Values of dates
and durations are compared in UTC, and calendars are never computed here.
"""

from __future__ import annotations

import hashlib
import math
import re
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from urllib.parse import quote, urlsplit

import numpy as np
import re2

from oracle import casts
from oracle.arithmetic import double, numeral
from oracle.sorting import sort_key
from oracle.terms import (
    BOOLEANS,
    DECIMAL_FORM,
    DOUBLE_FORM,
    INTEGER_FORM,
    INTEGERS,
    LANG_STRING,
    XSD,
    literal,
    number,
    string,
    value,
)

STRING = XSD + "string"
CAPTURING = re2.Options()
CAPTURING.log_errors = False
DURATION = re.compile(r"(-?)P(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?([\d.]+S)?)?", re.ASCII)


def plain(term):
    """The text of a string without a language; None for other terms."""
    return literal(term)[0] if literal(term) and literal(term)[2] == STRING else None


def text(term):
    """(text, language) of a string; None for other terms."""
    lexical, language, datatype = literal(term) or (None, None, None)
    return (lexical, language) if datatype in (STRING, LANG_STRING) else None


def split(*, after):
    """`strbefore` and `strafter`."""

    def function(whole, part):
        if text(whole) is None or text(part) is None or text(part)[1] not in (None, text(whole)[1]):
            return None
        (a, language), (b, _) = text(whole), text(part)
        at = a.find(b)
        if at < 0:
            return string("")
        return string(a[at + len(b) :] if after else a[:at], language)

    return function


def replace(term, pattern, replacement):
    """Every match replaced; groups are of one digit in what is drawn here."""
    if None in map(text, (term, pattern, replacement)):
        return None
    (subject, language), (regex, _), (new, _) = text(term), text(pattern), text(replacement)
    try:
        compiled = re2.compile(regex, CAPTURING)
    except re2.error:
        return None
    if compiled.search("") or not re.fullmatch(
        r"([^$\\]|\\[$\\]|\$\d)*", new, re.ASCII | re.DOTALL
    ):
        return None
    parts, end = [], 0
    for match in compiled.finditer(subject):
        parts.append(subject[end : match.start()])
        for token in re.findall(r"\\[$\\]|\$\d|.", new, re.ASCII | re.DOTALL):
            if token[0] == "$":
                group = int(token[1])
                parts.append((match[group] or "") if group <= compiled.groups else "")
            else:
                parts.append(token[-1])
        end = match.end()
    return string("".join((*parts, subject[end:])), language)


def digest(name):
    """A hash function."""
    return lambda term: (
        None
        if plain(term) is None
        else string(getattr(hashlib, name)(plain(term).encode()).hexdigest())
    )


def rounding(exact, inexact):
    """A function to integers, of the type of its operand."""

    def function(term):
        content = number(term)
        if content is None or isinstance(content, float):
            return None if content is None else numeral(float(inexact(content)))
        return numeral(type(content)(exact(Fraction(content))))

    return function


def half_up(content):
    """The nearest integer, upwards from the middle."""
    return content if abs(content) >= 2**52 or math.isnan(content) else math.copysign(
        float(math.floor(Fraction(content) + Fraction(1, 2))), content
    )  # fmt: skip


def quotient(left, right):
    """The quotient without its fraction."""
    a, b = number(left), number(right)
    if None in (a, b):
        return None
    if float in (type(a), type(b)):
        a, b = float(a), float(b)
    if b == 0 or math.isnan(b) or not math.isfinite(a):
        return None
    return numeral(0 if math.isinf(b) else math.trunc(Fraction(a) / Fraction(b)))


def integers(function):
    """Lift a function of integers; what it returns must fit 64 bits."""

    def lifted(*terms):
        numbers = [number(each) for each in terms]
        if not all(type(each) is int for each in numbers):
            return None
        result = function(*numbers)
        return None if result is None else numeral(result)

    return lifted


def convertible(term, form):
    """A Fraction or a float, of a number, a boolean, or the text of one."""
    if text(term) is not None:
        lexical, _ = text(term)
        if not re.fullmatch(form, lexical, re.ASCII):
            return None
        if form == DOUBLE_FORM:
            return float(lexical)
        return number(string(lexical, datatype=XSD + "decimal"))
    content = value(term)
    return content if isinstance(content, bool | int | Fraction | float) else None


def converted(form, make):
    """Casting: what is not finite has no exact value."""

    def function(term):
        content = convertible(term, form)
        return None if content is None else make(content)

    return function


def finite(make):
    """No value for infinities and NaN."""
    return lambda content: numeral(make(content)) if math.isfinite(content) else None


def to_boolean(term):
    """Whether it is neither zero nor NaN."""
    truth = BOOLEANS.get(text(term)[0]) if text(term) else value(term)
    if not isinstance(truth, bool | int | Fraction | float):
        return None
    return boolean(bool(truth) and truth == truth)  # noqa: PLR0124


def boolean(truth):
    """The term of a boolean."""
    return string("true" if truth else "false", datatype=XSD + "boolean")


def local(term):
    """(datetime, the text of its zone, whether it is a date) of an instant, on its own clock."""
    if not isinstance(value(term), datetime):
        return None
    lexical, _, datatype = literal(term)
    shown = re.search(r"(Z|[+-]\d\d:\d\d)?$", lexical[10:])[0]
    return datetime.fromisoformat(lexical).replace(tzinfo=None), shown, datatype == XSD + "date"


def part(read, *, of_dates=True):
    """A part of an instant."""

    def function(term):
        if local(term) is None:
            return None
        instant, shown, is_date = local(term)
        return None if is_date and not of_dates else read(instant, shown)

    return function


def timezone(term):
    """The distance from UTC."""
    if local(term) is None or not local(term)[1]:
        return None
    offset = datetime.fromisoformat(literal(term)[0]).utcoffset() if "T" in term else (
        datetime.fromisoformat(f"2020-01-01T00:00:00{local(term)[1]}").utcoffset()
    )  # fmt: skip
    return day_time(Fraction(int(offset.total_seconds())))


def day_time(seconds):
    """A dayTimeDuration."""
    whole, fraction = divmod(abs(seconds), 1)
    days, rest = divmod(int(whole), 86400)
    hours, minutes, second = rest // 3600, rest // 60 % 60, rest % 60
    digits = f"{int(fraction * 10**18):018}".rstrip("0")
    clock = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M")) if n)
    clock += f"{second}{'.' if digits else ''}{digits}S" if second or digits else ""
    form = f"P{f'{days}D' if days else ''}{'T' if clock else ''}{clock}"
    form = "PT0S" if form == "P" else form
    return string(("-" if seconds < 0 else "") + form, datatype=XSD + "dayTimeDuration")


def duration(term):
    """(months, seconds as a fraction) of a duration; None for other terms."""
    lexical, _, datatype = literal(term) or ("", None, "")
    match = DURATION.fullmatch(lexical)
    name = datatype.removeprefix(XSD)
    if not match or not name.lower().endswith("duration") or lexical[-1] in "PT":
        return None
    years, months, days, _, hours, minutes, seconds = (
        each if at == 3 else Fraction((each or "0").rstrip("YMDHS"))
        for at, each in enumerate(match.groups()[1:])
    )
    if (name == "dayTimeDuration" and (match[2] or match[3])) or (
        name == "yearMonthDuration" and (match[4] or match[5])
    ):
        return None
    sign = -1 if match[1] else 1
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return int(sign * (years * 12 + months)), sign * total


def moved(sign):
    """An instant and a duration; the years of `datetime` are not left by what is drawn here."""

    def function(term, length):
        if local(term) is None or duration(length) is None:
            return None
        (instant, shown, is_date), (months, seconds) = local(term), duration(length)
        total = instant.year * 12 + instant.month - 1 + sign * months
        first = instant.replace(year=total // 12, month=total % 12 + 1, day=1)
        following = (first + timedelta(days=32)).replace(day=1)
        last = (following - timedelta(days=1)).day
        result = first.replace(day=min(instant.day, last)) + sign * timedelta(
            microseconds=int(seconds * 10**6)
        )
        if is_date:
            return string(f"{result:%Y-%m-%d}{shown_zone(shown)}", datatype=XSD + "date")
        form = f"{result:%Y-%m-%dT%H:%M:%S.%f}".rstrip("0").rstrip(".")
        return string(form + shown_zone(shown), datatype=XSD + "dateTime")

    return function


def shown_zone(shown):
    """A zone in canonical form."""
    return "Z" if shown in ("+00:00", "-00:00") else shown


def between(start, end):
    """The time from one instant to another."""
    a, b = value(start), value(end)
    if not isinstance(a, datetime) or not isinstance(b, datetime):
        return None
    return day_time(Fraction((b - a) // timedelta(microseconds=1), 10**6))


def comparable(one, other):
    """Whether both are dates, or both times, and their order does not depend on a zone."""
    a, b = value(one), value(other)
    if not isinstance(a, datetime) or not isinstance(b, datetime):
        return None
    is_date = [each.endswith("#date>") for each in (one, other)]
    has_zone = [bool(re.search(r'(Z|[+-]..:..)"', each)) for each in (one, other)]
    return is_date[0] == is_date[1] and (
        has_zone[0] == has_zone[1] or abs(b - a) > timedelta(hours=14)
    )


def decided(one, other):
    """Whether SPARQL can order two terms if they are times."""
    return comparable(one, other) is not False


def distinguishable(one, other):
    """Whether SPARQL tells two different terms apart."""
    known = [is_known(each) for each in (one, other)]
    times = [isinstance(value(each), datetime) for each in (one, other)]
    if all(times):
        return one.endswith("#date>") != other.endswith("#date>") or bool(comparable(one, other))
    literals = [literal(each) for each in (one, other)]
    if any(each is None or each[1] for each in literals):
        return True
    return all(known)


def is_known(term):
    """Whether a literal has a value that comparisons know."""
    return value(term) is not None


def to_seconds(term):
    """The length of a duration without months."""
    return (
        None
        if duration(term) is None or duration(term)[0]
        else numeral(duration(term)[1] + Fraction(0))
    )


def to_duration(term):
    """The duration of exact seconds."""
    content = number(term)
    return None if content is None or isinstance(content, float) else day_time(Fraction(content))


def iri(term, base=None):
    """The IRI of a text with a scheme and no forbidden characters, perhaps relative to a base."""
    if base is not None and iri(base) is None:
        return None
    if term[0] == "<":
        return term
    name = plain(term)
    if base is not None and name is not None:
        name = casts.resolved(name, iri(base)[1:-1])
    if name is None or re.search(r'[\x00-\x20<>"{}|^`\\]', name) or not urlsplit(name).scheme:
        return None
    return f"<{name}>"


def strdt(term, datatype):
    """A literal of any datatype but that of strings with a language."""
    if plain(term) is None or datatype[0] != "<" or datatype == f"<{LANG_STRING}>":
        return None
    return string(plain(term), datatype=None if datatype == f"<{STRING}>" else datatype[1:-1])


def strlang(term, tag):
    """A string with a language."""
    form = r"[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*"
    if None in (plain(term), plain(tag)) or not re.fullmatch(form, plain(tag)):
        return None
    return string(plain(term), plain(tag).lower())


def langmatches(tag, wanted):
    """Whether the parts of a range begin the parts of a tag."""
    if None in (plain(tag), plain(wanted)):
        return None
    found, asked = plain(tag).lower(), plain(wanted).lower()
    if asked == "*":
        return found != ""
    return found.split("-")[: len(asked.split("-"))] == asked.split("-")


def effective_boolean(term):
    """Whether a text is not empty, a boolean true, or a number neither zero nor NaN."""
    if text(term) is not None:
        lexical, language = text(term)[:2]
        return lexical != "" if language is None else None
    lexical, _, datatype = literal(term) or ("", None, "")
    name = datatype.removeprefix(XSD)
    if name == "boolean":
        return BOOLEANS.get(lexical)
    if name not in ("decimal", "double", "float", *INTEGERS):
        return None
    content = number(term)
    return None if content is None else content == content and content != 0  # noqa: PLR0124


def exact_value(lexical, name):
    """A number without limits."""
    form = DECIMAL_FORM if name == "decimal" else INTEGER_FORM
    least, most = INTEGERS.get(name, (-math.inf, math.inf))
    if not re.fullmatch(form, lexical, re.ASCII) or not least <= Fraction(lexical) <= most:
        return ()
    exact = Fraction(lexical)
    digits = f"{Decimal(lexical):f}"
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    datatype = XSD + ("integer" if exact.denominator == 1 else "decimal")
    return "exact", exact, string("0" if exact == 0 else digits, datatype=datatype)


def double_value(lexical, name):
    """A double or a float; the shortest digits are those of Python and numpy."""
    if not re.fullmatch(DOUBLE_FORM, lexical, re.ASCII):
        return ()
    with np.errstate(all="ignore"):
        shown = float(str(np.float32(float(lexical)))) if name == "float" else float(lexical)
    return name, double(shown), string(double(shown), datatype=XSD + name)


def instant_value(lexical, name):
    """A date or dateTime with its timezone."""
    known = local(string(lexical, datatype=XSD + name))
    if known is None:
        return ()
    instant, shown, is_date = known
    clock = "" if is_date else f"{instant:T%H:%M:%S.%f}".rstrip("0").rstrip(".")
    form, space = f"{instant:%Y-%m-%d}{clock}{shown_zone(shown)}", "date" if is_date else "dateTime"
    return space, form, string(form, datatype=XSD + space)


def duration_value(lexical, name):
    """A duration of any kind, as an xsd:duration."""
    known = duration(string(lexical, datatype=XSD + name))
    if known is None:
        return ()
    years, months = divmod(abs(known[0]), 12)
    before = f"{years}Y" * bool(years) + f"{months}M" * bool(months)
    after = literal(day_time(abs(known[1])))[0].removeprefix("P")
    after = "" if before and after == "T0S" else after
    form = f"{'-' if known < (0, 0) else ''}P{before}{after}"
    return "duration", form, string(form, datatype=XSD + "duration")


def boolean_value(lexical, name):
    """A boolean."""
    return (name, lexical, boolean(BOOLEANS[lexical])) if lexical in BOOLEANS else ()


VALUED = {
    "string": lambda lexical, _: ("string", lexical, string(lexical)),
    "boolean": boolean_value,
    **dict.fromkeys(("decimal", *INTEGERS), exact_value),
    **dict.fromkeys(("double", "float"), double_value),
    **dict.fromkeys(("date", "dateTime", "dateTimeStamp"), instant_value),
    **dict.fromkeys(("duration", "dayTimeDuration", "yearMonthDuration"), duration_value),
}


def valued(term):
    """(value space, value, canonical form) of a literal; () if it is ill-typed, None if unknown."""
    lexical, language, datatype = literal(term) or (None, None, "")
    if language:
        return "tagged", (lexical, language), term
    function = VALUED.get(datatype.removeprefix(XSD))
    return function and function(lexical, datatype.removeprefix(XSD))


def canonical(term):
    """One literal for each value."""
    return valued(term)[2] if valued(term) else term


def in_datatype(term, datatype):
    """Whether a value is of a datatype, of those that are drawn here."""
    name = datatype.removeprefix(f"<{XSD}").rstrip(">")
    spaces = {"integer": "exact", "decimal": "exact", "short": "exact", "string": "string",
              "double": "double", "dateTime": "dateTime"}  # fmt: skip
    known = valued(term)
    if literal(term) is None or known is None or name not in spaces:
        return None
    if not known or known[0] != spaces[name]:
        return False
    least, most = INTEGERS.get(name, (-math.inf, math.inf))
    return name not in INTEGERS or (known[1].denominator == 1 and least <= known[1] <= most)


FUNCTIONS = {
    "strbefore": split(after=False),
    "strafter": split(after=True),
    "replace": replace,
    "encode_for_uri": lambda term: text(term) and string(quote(text(term)[0], safe="")),
    **{name: digest(name) for name in ("md5", "sha1", "sha256", "sha384", "sha512")},
    "floor": rounding(math.floor, np.floor),
    "ceil": rounding(math.ceil, np.ceil),
    "round": rounding(lambda exact: math.floor(exact + Fraction(1, 2)), half_up),
    "quotient": quotient,
    "bit_and": integers(lambda a, b: a & b),
    "bit_or": integers(lambda a, b: a | b),
    "bit_xor": integers(lambda a, b: a ^ b),
    "bit_not": integers(lambda a: -a - 1),
    "shift_left": integers(lambda a, n: a * 2 ** min(n, 64) if n >= 0 else None),
    "shift_right": integers(lambda a, n: a // 2 ** min(n, 64) if n >= 0 else None),
    "to_integer": converted(INTEGER_FORM, finite(math.trunc)),
    "to_decimal": converted(DECIMAL_FORM, finite(Fraction)),
    "to_double": converted(DOUBLE_FORM, lambda content: numeral(float(content))),
    "to_boolean": to_boolean,
    "year": part(lambda instant, _: numeral(instant.year)),
    "month": part(lambda instant, _: numeral(instant.month)),
    "day": part(lambda instant, _: numeral(instant.day)),
    "hours": part(lambda instant, _: numeral(instant.hour), of_dates=False),
    "minutes": part(lambda instant, _: numeral(instant.minute), of_dates=False),
    "seconds": part(
        lambda instant, _: numeral(instant.second + Fraction(instant.microsecond, 10**6)),
        of_dates=False,
    ),
    "timezone": timezone,
    "tz": part(lambda _, shown: string(shown)),
    "add_duration": moved(1),
    "subtract_duration": moved(-1),
    "duration_between": between,
    "to_seconds": to_seconds,
    "to_duration": to_duration,
    "iri": iri,
    "strdt": strdt,
    "strlang": strlang,
    "canonical": canonical,
    "to_float": casts.to_float,
    "to_date_time": casts.to_date_time,
    "to_date": casts.to_date,
    "canonical_text": casts.canonical_text,
    "coalesce": lambda first, *_: first,
    "sort_key": sort_key,
}
TESTS = {
    "comparable_times": comparable,
    "comparable": decided,
    "distinguishable": distinguishable,
    "langmatches": langmatches,
    "same_term": lambda left, right: left == right,
    "effective_boolean": effective_boolean,
    "in_datatype": in_datatype,
}
