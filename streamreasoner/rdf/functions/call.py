"""Call functions and tests by name. Invariant: a call never raises; a failed one has no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.rdf.functions import numbers, order, strings, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FUNCTIONS: Mapping[str, Callable[..., str | None]] = {
    "+": numbers.add,
    "-": numbers.subtract,
    "*": numbers.multiply,
    "/": numbers.divide,
    "%": numbers.remainder,
    "**": numbers.power,
    "negate": numbers.negate,
    "abs": numbers.absolute,
    "min": order.least,
    "max": order.greatest,
    "concat": strings.concat,
    "length": strings.length,
    "substring": strings.substring,
    "lower": strings.lower,
    "upper": strings.upper,
    "to_string": terms.to_string,
    "to_number": terms.to_number,
    "str": terms.to_text,
    "datatype": terms.datatype,
    "lang": terms.language,
    "skolem": terms.skolem,
}
_TESTS: Mapping[str, Callable[..., bool | None]] = {
    "contains": strings.contains,
    "starts_with": strings.starts_with,
    "ends_with": strings.ends_with,
    "matches": strings.matches,
    "is_iri": terms.is_iri,
    "is_blank": terms.is_blank,
    "is_literal": terms.is_literal,
    "is_string": terms.is_string,
    "is_number": terms.is_number,
    "is_integer": terms.is_integer,
    "is_decimal": terms.is_decimal,
    "is_double": terms.is_double,
    "is_boolean": terms.is_boolean,
}


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
        return _FUNCTIONS[function](*arguments)
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
    return _TESTS[function](*arguments)
