"""Functions and tests on terms. Invariant: None, no value, as an argument gives None."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from uuid import UUID

import re2

from oracle import more_builtins
from oracle.arithmetic import arithmetic, numeral
from oracle.terms import (
    BOOLEANS,
    DECIMAL_FORM,
    DOUBLE_FORM,
    INTEGER_FORM,
    INTEGERS,
    LANG_STRING,
    XSD,
    kind,
    literal,
    number,
    string,
    triple,
    value,
)

SKOLEM = re.compile(r"_:sk(\d+)\.[0-9a-f]{32}")
SKOLEM_DEPTH = 16
PATTERNS = re2.Options()
PATTERNS.log_errors = False


def call(function, terms):
    """The result of a function; None if it has no value."""
    return None if None in terms else FUNCTIONS[function](*terms)


def test(function, terms):
    """Whether a test holds; None if it has no value."""
    return None if None in terms else TESTS[function](*terms)


def compare(left_term, operator, right_term):
    """Whether a comparison of the values of two terms holds."""
    left, right = value(left_term), value(right_term)
    if left_term == right_term:
        return operator in ("=", "<=", ">=")
    if triple(left_term) and triple(right_term):
        pairs = zip(triple(left_term), triple(right_term), strict=True)
        same = all(compare(one, "=", other) for one, other in pairs)
        return operator in (("=", "<=", ">=") if same else ("!=",))
    if kind(left) is None or kind(left) != kind(right):
        return operator == "!="
    if float in (type(left), type(right)):
        left, right = float(left), float(right)
    return {"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right,
            ">": left > right, ">=": left >= right}[operator]  # fmt: skip


def extreme(better):
    """A function that returns the first of the best terms; None if two are not comparable."""

    def function(best, *others):
        for each in others:
            if compare(each, better, best):
                best = each
            elif not (compare(best, better, each) or compare(best, "=", each)):
                return None
        return best

    return function


def absolute(term):
    """The absolute value of a number."""
    below = str(number(term)).startswith("-")
    return arithmetic("-" if below else "+", [numeral(0), term])


def nodes(term):
    """A term, or the innermost ones of a triple term."""
    return [node for part in triple(term) for node in nodes(part)] if triple(term) else [term]


def skolem(*terms):
    """The blank node for these terms; None if nested too deeply."""
    nested = filter(None, (SKOLEM.fullmatch(node) for each in terms for node in nodes(each)))
    depth = 1 + max((int(each[1]) for each in nested), default=0)
    code = hashlib.sha256("\0".join(terms).encode()).hexdigest()[:32]
    return f"_:sk{depth}.{code}" if depth <= SKOLEM_DEPTH else None


def uuid(*terms):
    """The UUID of version 8 for these terms."""
    digest = bytearray(hashlib.sha256("\0".join(terms).encode()).digest()[:16])
    digest[6], digest[8] = digest[6] & 0x0F | 0x80, digest[8] & 0x3F | 0x80
    return string(str(UUID(bytes=bytes(digest))))


def of_literal(function):
    """Lift a function of (lexical form, language, datatype) to literals; None for other terms."""
    return lambda term: None if literal(term) is None else function(*literal(term))


def text_of(term):
    """(text, language) of a string with or without language tag; None for other terms."""
    lexical, language, datatype = literal(term) or (None, None, None)
    return (lexical, language) if datatype in (XSD + "string", LANG_STRING) else None


def of_text(function):
    """Lift a function of (text, language, other terms) to strings; None for other terms."""
    return lambda term, *others: (
        None if text_of(term) is None else function(*text_of(term), *others)
    )


def of_texts(function):
    """Lift a function of two texts to strings of any language; None for other terms."""
    return lambda *terms: (
        None if None in map(text_of, terms) else function(*(text_of(each)[0] for each in terms))
    )


def concat(*terms):
    """The concatenated texts, with their language if all have the same."""
    if None in (texts := [text_of(each) for each in terms]):
        return None
    languages = {language for _, language in texts}
    text = "".join(each for each, _ in texts)
    return string(text, languages.pop() if len(languages) == 1 else None)


def substring(text, language, *positions):
    """The characters from a position, counted from 1, up to an optional length."""
    numbers = [number(each) for each in positions]
    if not all(isinstance(each, int) for each in numbers):
        return None
    stop = sum(numbers) if len(numbers) > 1 else len(text) + 1
    characters = (each for at, each in enumerate(text, start=1) if numbers[0] <= at < stop)
    return string("".join(characters), language)


def to_number(term):
    """A number unchanged, or the number that a string represents, with all its digits."""
    if number(term) is not None or text_of(term) is None:
        return term if number(term) is not None else None
    text, _ = text_of(term)
    if not re.fullmatch(DECIMAL_FORM, text, re.ASCII):
        return numeral(float(text)) if re.fullmatch(DOUBLE_FORM, text, re.ASCII) else None
    integer = re.fullmatch(INTEGER_FORM, text, re.ASCII)
    whole, _, fraction = text.lstrip("+-").partition(".")
    digits = (whole.lstrip("0") or "0") + f".{fraction}".rstrip("0").rstrip(".")
    sign = "-" if text.startswith("-") and digits != "0" else ""
    return string(sign + digits, datatype=XSD + ("integer" if integer else "decimal"))


def matches(text, pattern):
    """Whether an RE2 pattern matches somewhere; None if the pattern is invalid."""
    try:
        return re2.search(pattern, text, PATTERNS) is not None
    except re2.error:
        return None


def is_number_of(*names):
    """A test for numbers of the named datatypes."""
    return lambda term: number(term) is not None and literal(term)[2].removeprefix(XSD) in names


def str_lang_dir(text, language, direction):
    """A text with a language and a base direction; None if one of them is not one."""
    tagged = call("strlang", [text, language])
    direct = literal(direction)
    if tagged is None or direct not in [(each, None, XSD + "string") for each in ("ltr", "rtl")]:
        return None
    return f"{tagged}--{direct[0]}"


def triple_iri(*terms):
    """The IRI of a triple in provenance."""
    digest = hashlib.sha256(" ".join(("triple", *terms)).encode()).hexdigest()
    return f"<urn:streamreasoner:fact:{digest[:32]}>"


def make_triple(subject, predicate, term):
    """A triple term; None if the subject or the predicate cannot be one."""
    if literal(subject) or triple(subject) or not TESTS["is_iri"](predicate):
        return None
    return f"<<( {subject} {predicate} {term} )>>"


FUNCTIONS = {
    "abs": absolute,
    "min": extreme("<"),
    "max": extreme(">"),
    "concat": concat,
    "length": of_text(lambda text, _: numeral(len(text))),
    "substring": of_text(substring),
    "lower": of_text(lambda text, language: string(text.lower(), language)),
    "upper": of_text(lambda text, language: string(text.upper(), language)),
    "to_string": of_literal(lambda lexical, *_: string(lexical)),
    "to_number": to_number,
    "str": lambda term: string(term[1:-1]) if TESTS["is_iri"](term) else call("to_string", [term]),
    "datatype": of_literal(lambda lexical, language, datatype: f"<{datatype}>"),  # noqa: ARG005
    "lang": of_literal(lambda _, language, __: string((language or "").split("--")[0])),
    "lang_dir": of_literal(lambda _, language, __: string((language or "").partition("--")[2])),
    "str_lang_dir": str_lang_dir,
    "subject": lambda term: (triple(term) or (None,) * 3)[0],
    "predicate": lambda term: (triple(term) or (None,) * 3)[1],
    "object": lambda term: (triple(term) or (None,) * 3)[2],
    "triple": make_triple,
    "triple_iri": triple_iri,
    "skolem": skolem,
    "uuid": uuid,
    **more_builtins.FUNCTIONS,
}
TESTS = {
    "contains": of_texts(lambda text, part: part in text),
    "starts_with": of_texts(str.startswith),
    "ends_with": of_texts(str.endswith),
    "matches": of_texts(matches),
    "is_iri": lambda term: term[0] == "<" and not triple(term),
    "is_blank": lambda term: term[0] == "_",
    "is_literal": lambda term: term[0] == '"',
    "is_triple": lambda term: triple(term) is not None,
    "has_lang": lambda term: bool((literal(term) or ("", None))[1]),
    "has_lang_dir": lambda term: "--" in ((literal(term) or ("", None))[1] or ""),
    "is_string": lambda term: text_of(term) is not None,
    "is_number": lambda term: number(term) is not None,
    "is_integer": is_number_of(*INTEGERS),
    "is_decimal": is_number_of("decimal"),
    "is_double": is_number_of("double", "float"),
    "is_boolean": lambda term: (
        literal(term) is not None and literal(term)[2] == XSD + "boolean"
        and literal(term)[0] in BOOLEANS
    ),
    "is_instant": lambda term: isinstance(value(term), datetime),
    **more_builtins.TESTS,
}  # fmt: skip
