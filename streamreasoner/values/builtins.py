"""The built-ins of the rule language: signatures and implementations, one row each.

`min(?d)` is an aggregate and `min(?a, ?b)` a function; the names of tests are reserved, so that
`contains(?x, "a")` in a body is never an atom. Invariant: a call never raises; one that fails has
no value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from streamreasoner.counts import counted
from streamreasoner.rdf import term_kind
from streamreasoner.values import comparison, numbers, order
from streamreasoner.values.datatypes import spaces
from streamreasoner.values.functions import (
    casts,
    conversions,
    decidable,
    instants,
    integers,
    strings,
    term_functions,
)
from streamreasoner.values.kinds import (
    ANYTHING,
    INTEGERS,
    IRIS,
    LITERALS,
    NODES,
    NUMBERS,
    ORDERED,
    STRINGS,
    TEXTS,
    TRIPLES,
    Kind,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamreasoner.values.kinds import Kinds

_Value = TypeVar("_Value", bound="str | bool | None")


MAX_ARGUMENTS = 250
"""Maximum number of arguments of a variadic built-in."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a built-in takes and returns.

    Attributes:
        parameters: Kinds accepted for each argument; the last are optional if `min_args` is less
            than their number.
        returns: Kinds of its value; a test returns a boolean.
        min_args: Minimum number of arguments.
        max_args: Maximum number of arguments; None if the last parameter repeats, up to
            `MAX_ARGUMENTS`.
    """

    parameters: tuple[Kinds, ...]
    returns: Kinds
    min_args: int
    max_args: int | None

    def accepts(self, count: int) -> bool:
        """Whether it can be called with `count` arguments."""
        return self.min_args <= count <= (MAX_ARGUMENTS if self.max_args is None else self.max_args)

    def __str__(self) -> str:
        if self.max_args is None:
            return f"{self.min_args} to {MAX_ARGUMENTS} arguments"
        if self.min_args != self.max_args:
            return f"{self.min_args} to {self.max_args} arguments"
        return counted(self.min_args, "argument")


@dataclass(frozen=True, slots=True)
class Builtin(Signature, Generic[_Value]):
    """A built-in that is called for each match.

    Attributes:
        implementation: Takes canonical terms; returns one, or None if there is no value. That of a
            test returns whether it holds, or None if that is neither true nor false.
    """

    implementation: Callable[..., _Value]


def _exactly(
    parameters: tuple[Kinds, ...], returns: Kinds, implementation: Callable[..., _Value]
) -> Builtin[_Value]:
    return Builtin(parameters, returns, len(parameters), len(parameters), implementation)


def _at_least(
    min_args: int, parameter: Kinds, returns: Kinds, implementation: Callable[..., _Value]
) -> Builtin[_Value]:
    return Builtin((parameter,), returns, min_args, None, implementation)


def _aggregate(parameter: Kinds, returns: Kinds) -> Signature:
    return Signature((parameter,), returns, 1, 1)


_TRUTH: Kinds = frozenset({Kind.BOOLEAN})
_DECIMALS: Kinds = frozenset({Kind.DECIMAL})
_DOUBLES: Kinds = frozenset({Kind.DOUBLE})
_EXACT: Kinds = INTEGERS | _DECIMALS
_CONVERTIBLE: Kinds = NUMBERS | TEXTS | _TRUTH
_INSTANTS: Kinds = frozenset({Kind.INSTANT})
_DURATIONS: Kinds = frozenset({Kind.OTHER})

OPERATORS: Mapping[str, Callable[..., str | None]] = {
    "+": numbers.add,
    "-": numbers.subtract,
    "*": numbers.multiply,
    "/": numbers.divide,
    "%": numbers.remainder,
    "**": numbers.power,
    "negate": numbers.negate,
}
"""Operators of arithmetic; `negate` is unary minus."""

FUNCTIONS: Mapping[str, Builtin[str | None]] = {
    "abs": _exactly((NUMBERS,), NUMBERS, numbers.absolute),
    "min": _at_least(2, ORDERED, ORDERED, comparison.least),
    "max": _at_least(2, ORDERED, ORDERED, comparison.greatest),
    "concat": _at_least(1, TEXTS, TEXTS, strings.concat),
    "length": _exactly((TEXTS,), INTEGERS, strings.length),
    "substring": Builtin((TEXTS, INTEGERS, INTEGERS), TEXTS, 2, 3, strings.substring),
    "lower": _exactly((TEXTS,), TEXTS, strings.lower),
    "upper": _exactly((TEXTS,), TEXTS, strings.upper),
    "to_string": _exactly((LITERALS,), STRINGS, term_functions.to_string),
    "to_number": _exactly((NUMBERS | TEXTS,), NUMBERS, term_functions.to_number),
    "str": _exactly((IRIS | LITERALS,), STRINGS, term_functions.to_text),
    "datatype": _exactly((LITERALS,), IRIS, term_functions.datatype),
    "lang": _exactly((LITERALS,), STRINGS, term_functions.language),
    "strbefore": _exactly((TEXTS, TEXTS), TEXTS, strings.before),
    "strafter": _exactly((TEXTS, TEXTS), TEXTS, strings.after),
    "replace": _exactly((TEXTS, TEXTS, TEXTS), TEXTS, strings.replace),
    "encode_for_uri": _exactly((TEXTS,), STRINGS, strings.encode_for_uri),
    **{
        name: _exactly((STRINGS,), STRINGS, partial(strings.digest, name))
        for name in ("md5", "sha1", "sha256", "sha384", "sha512")
    },
    "floor": _exactly((NUMBERS,), NUMBERS, conversions.floor),
    "ceil": _exactly((NUMBERS,), NUMBERS, conversions.ceil),
    "round": _exactly((NUMBERS,), NUMBERS, conversions.nearest),
    "quotient": _exactly((NUMBERS, NUMBERS), INTEGERS, integers.quotient),
    "bit_and": _exactly((INTEGERS, INTEGERS), INTEGERS, integers.bit_and),
    "bit_or": _exactly((INTEGERS, INTEGERS), INTEGERS, integers.bit_or),
    "bit_xor": _exactly((INTEGERS, INTEGERS), INTEGERS, integers.bit_xor),
    "bit_not": _exactly((INTEGERS,), INTEGERS, integers.bit_not),
    "shift_left": _exactly((INTEGERS, INTEGERS), INTEGERS, integers.shift_left),
    "shift_right": _exactly((INTEGERS, INTEGERS), INTEGERS, integers.shift_right),
    "to_integer": _exactly((_CONVERTIBLE,), INTEGERS, conversions.to_integer),
    "to_decimal": _exactly((_CONVERTIBLE,), _DECIMALS, conversions.to_decimal),
    "to_double": _exactly((_CONVERTIBLE,), _DOUBLES, conversions.to_double),
    "to_float": _exactly((_CONVERTIBLE,), _DOUBLES, casts.to_float),
    "to_date_time": _exactly((_INSTANTS | STRINGS,), _INSTANTS, casts.to_date_time),
    "to_date": _exactly((_INSTANTS | STRINGS,), _INSTANTS, casts.to_date),
    "canonical_text": _exactly((IRIS | LITERALS,), STRINGS, casts.canonical_text),
    "to_boolean": _exactly((_CONVERTIBLE,), _TRUTH, conversions.to_boolean),
    "year": _exactly((_INSTANTS,), INTEGERS, instants.year),
    "month": _exactly((_INSTANTS,), INTEGERS, instants.month),
    "day": _exactly((_INSTANTS,), INTEGERS, instants.day),
    "hours": _exactly((_INSTANTS,), INTEGERS, instants.hours),
    "minutes": _exactly((_INSTANTS,), INTEGERS, instants.minutes),
    "seconds": _exactly((_INSTANTS,), _DECIMALS, instants.seconds),
    "timezone": _exactly((_INSTANTS,), _DURATIONS, instants.timezone),
    "tz": _exactly((_INSTANTS,), STRINGS, instants.zone),
    "add_duration": _exactly((_INSTANTS, _DURATIONS), _INSTANTS, instants.add_duration),
    "subtract_duration": _exactly((_INSTANTS, _DURATIONS), _INSTANTS, instants.subtract_duration),
    "duration_between": _exactly((_INSTANTS, _INSTANTS), _DURATIONS, instants.duration_between),
    "to_seconds": _exactly((_DURATIONS,), _DECIMALS, instants.to_seconds),
    "to_duration": _exactly((_EXACT,), _DURATIONS, instants.to_duration),
    "iri": Builtin((STRINGS | IRIS, STRINGS | IRIS), IRIS, 1, 2, term_functions.iri),
    "strdt": _exactly((STRINGS, IRIS), LITERALS, term_functions.with_datatype),
    "strlang": _exactly((STRINGS, STRINGS), TEXTS, term_functions.with_language),
    "lang_dir": _exactly((LITERALS,), STRINGS, term_functions.direction),
    "str_lang_dir": _exactly((STRINGS, STRINGS, STRINGS), TEXTS, term_functions.with_direction),
    "subject": _exactly((TRIPLES,), NODES, partial(term_functions.component, 0)),
    "predicate": _exactly((TRIPLES,), IRIS, partial(term_functions.component, 1)),
    "object": _exactly((TRIPLES,), ANYTHING, partial(term_functions.component, 2)),
    "triple": _exactly((NODES, IRIS, ANYTHING), TRIPLES, term_functions.triple),
    "triple_iri": _exactly((ANYTHING,) * 3, IRIS, term_functions.triple_iri),
    "coalesce": _at_least(1, ANYTHING, ANYTHING, term_functions.first),
    "canonical": _exactly((ANYTHING,), ANYTHING, spaces.canonical),
    "sort_key": Builtin((STRINGS, ANYTHING), STRINGS, 2, None, order.sort_key),
    "skolem": _at_least(1, ANYTHING, frozenset({Kind.BLANK_NODE}), term_functions.skolem),
    "uuid": _at_least(1, ANYTHING, STRINGS, term_functions.uuid),
}
"""Built-ins that are values in an expression."""

TESTS: Mapping[str, Builtin[bool | None]] = {
    "contains": _exactly((TEXTS, TEXTS), _TRUTH, strings.contains),
    "starts_with": _exactly((TEXTS, TEXTS), _TRUTH, strings.starts_with),
    "ends_with": _exactly((TEXTS, TEXTS), _TRUTH, strings.ends_with),
    "matches": _exactly((TEXTS, TEXTS), _TRUTH, strings.matches),
    "langmatches": _exactly((STRINGS, STRINGS), _TRUTH, term_functions.language_matches),
    "comparable_times": _exactly((_INSTANTS, _INSTANTS), _TRUTH, instants.comparable),
    "comparable": _exactly((ANYTHING, ANYTHING), _TRUTH, decidable.comparable),
    "distinguishable": _exactly((ANYTHING, ANYTHING), _TRUTH, decidable.distinguishable),
    "same_term": _exactly((ANYTHING, ANYTHING), _TRUTH, term_functions.same_term),
    "effective_boolean": _exactly((ANYTHING,), _TRUTH, term_functions.effective_boolean),
    "in_datatype": _exactly((LITERALS, IRIS), _TRUTH, spaces.in_datatype),
    "is_iri": _exactly((ANYTHING,), _TRUTH, term_kind.is_iri),
    "is_blank": _exactly((ANYTHING,), _TRUTH, term_kind.is_blank_node),
    "is_literal": _exactly((ANYTHING,), _TRUTH, term_kind.is_literal),
    "is_triple": _exactly((ANYTHING,), _TRUTH, term_kind.is_triple_term),
    "has_lang": _exactly((ANYTHING,), _TRUTH, term_functions.has_language),
    "has_lang_dir": _exactly((ANYTHING,), _TRUTH, term_functions.has_direction),
    "is_string": _exactly((ANYTHING,), _TRUTH, term_functions.is_string),
    "is_number": _exactly((ANYTHING,), _TRUTH, term_functions.is_number),
    "is_integer": _exactly((ANYTHING,), _TRUTH, term_functions.is_integer),
    "is_decimal": _exactly((ANYTHING,), _TRUTH, term_functions.is_decimal),
    "is_double": _exactly((ANYTHING,), _TRUTH, term_functions.is_double),
    "is_boolean": _exactly((ANYTHING,), _TRUTH, term_functions.is_boolean),
    "is_instant": _exactly((ANYTHING,), _TRUTH, term_functions.is_instant),
}
"""Built-ins that are literals of a body."""

AGGREGATES = {
    "count": _aggregate(ANYTHING, INTEGERS),
    "sum": _aggregate(NUMBERS, NUMBERS),
    "min": _aggregate(ANYTHING, ANYTHING),
    "max": _aggregate(ANYTHING, ANYTHING),
    "avg": _aggregate(NUMBERS, frozenset({Kind.DECIMAL, Kind.DOUBLE})),
    "group_concat": Signature((LITERALS, STRINGS), STRINGS, 2, 2),
    "lowest": Signature((ANYTHING, INTEGERS), ANYTHING, 2, 2),
    "highest": Signature((ANYTHING, INTEGERS), ANYTHING, 2, 2),
}
"""Built-ins that are arguments of a head; only `count` takes `distinct`. See `sums.results`."""

MONOTONE_AGGREGATES = frozenset({"min", "max"})
"""Aggregates that may be recursive, if they are the only aggregate of their head."""

_CALLS: Mapping[str, Callable[..., str | None]] = {
    **OPERATORS,
    **{name: function.implementation for name, function in FUNCTIONS.items()},
}

NAMES = frozenset(FUNCTIONS) | frozenset(TESTS) | frozenset(AGGREGATES)


def is_aggregate(name: str, count: int, *, distinct: bool) -> bool:
    """Whether a call of `name` with `count` arguments is an aggregate, not a function."""
    if distinct:
        return True
    return name in AGGREGATES and not (name in FUNCTIONS and count != 1)


def apply(
    function: str, arguments: Sequence[str], overflowed: Callable[[], object] = lambda: None
) -> str | None:
    """Value of a function or an operator.

    Args:
        function: `+ - * / % **`, `negate` (unary minus), or the name of a built-in function.
        arguments: Canonical terms, as many as the function takes.
        overflowed: Called if there is no value because the whole part of an integer or decimal
            does not fit into 64 bits.

    Returns:
        A canonical term; None if the arguments have no such value.
    """
    try:
        return _CALLS[function](*arguments)
    except numbers.OutOfRangeError:
        overflowed()
        return None


def test(function: str, arguments: Sequence[str]) -> bool | None:
    """Truth of a built-in test.

    Args:
        function: The name of the test.
        arguments: Canonical terms, as many as the test takes.

    Returns:
        Whether it holds; None if the arguments have no such truth value.
    """
    return TESTS[function].implementation(*arguments)
