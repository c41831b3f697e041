"""The functions of SPARQL on terms (SPARQL 1.1, sections 17.4 and 17.5).

Invariant: a function takes canonical terms and has one as its value, or None: an error. All but
those with a new value each time, and what rules compute otherwise, are built-ins of the language.
"""

from __future__ import annotations

from random import SystemRandom
from typing import TYPE_CHECKING
from uuid import uuid4

from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.vocabulary import XSD_DOUBLE, XSD_FLOAT
from streamreasoner.sparql.functions import CONDITIONS, SEARCHES, VALUES
from streamreasoner.sparql.regex_flags import flagged, flagged_replacement
from streamreasoner.values import builtins
from streamreasoner.values.functions.casts import float_term
from streamreasoner.values.functions.strings import compatible
from streamreasoner.values.literal import canonical, literal, string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_ARITHMETIC = {
    **{operator: operator for operator in ("+", "-", "*", "/", "negate")},
    **{name: VALUES[name] for name in ("ABS", "CEIL", "FLOOR", "ROUND")},
}
_NO_FLAGS = canonical("")


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


def _regex(text: str, pattern: str, flags: str = _NO_FLAGS) -> str | None:
    found = _flagged(pattern, flags)
    return None if found is None else _test("matches")(text, found)


def _replace(text: str, pattern: str, replacement: str, flags: str = _NO_FLAGS) -> str | None:
    found, inserted, letters = _flagged(pattern, flags), string(replacement), string(flags)
    if found is None or inserted is None or letters is None:
        return None
    inserted_text = canonical(flagged_replacement(inserted.lexical, letters.lexical))
    return builtins.apply("replace", [text, found, inserted_text])


def _flagged(pattern: str, flags: str) -> str | None:
    """A pattern without a language, with its flags as the rule language has it; None if not."""
    parsed, letters = string(pattern), string(flags)
    if parsed is None or parsed.language is not None or letters is None:
        return None
    text = flagged(parsed.lexical, letters.lexical)
    return None if text is None else canonical(text)


def _plus(term: str) -> str | None:
    return term if builtins.test("is_number", [term]) else None


def of_floats(function: Callable[..., str | None]) -> Callable[..., str | None]:
    """A function of numbers, with a result of the type that they are promoted to (section 17.3)."""
    return lambda *terms: promoted(function(*terms), terms)


def promoted(result: str | None, operands: Iterable[str]) -> str | None:
    """A result that was computed with doubles, as a float if its operands say so."""
    parsed = None if result is None else literal(result)
    if parsed is None or parsed.datatype != XSD_DOUBLE:
        return result
    types = {each.datatype for term in operands if (each := literal(term)) is not None}
    is_float = XSD_FLOAT in types and XSD_DOUBLE not in types
    return float_term(parsed.value.double) if is_float else result


FUNCTIONS: Mapping[str, Callable[..., str | None]] = {
    **{name: _builtin(builtin) for name, builtin in VALUES.items()},
    **{name: of_floats(_builtin(builtin)) for name, builtin in _ARITHMETIC.items()},
    **{name: _test(builtin) for name, builtin in CONDITIONS.items()},
    **{name: _search(builtin) for name, builtin in SEARCHES.items()},
    "REGEX": _regex,
    "REPLACE": _replace,
    "plus": _plus,
    "RAND": lambda: to_ntriples(SystemRandom().random()),
    "UUID": lambda: f"<urn:uuid:{uuid4()}>",
    "STRUUID": lambda: canonical(str(uuid4())),
    "BNODE": lambda: f"_:b{uuid4().hex}",
}
"""Functions whose arguments must all have values, by their names in the algebra of `sparql`."""
