"""Numbers of xsd:float, which rules compute with as doubles (SPARQL 1.1, section 17.3).

Invariant: a result is a float where an operand is one and none is a double.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.rdf.vocabulary import XSD_DOUBLE, XSD_FLOAT
from streamreasoner.values.functions.casts import float_term
from streamreasoner.values.literal import literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def of_floats(function: Callable[..., str | None]) -> Callable[..., str | None]:
    """A function of numbers, with a result of the type that the specification promotes to."""
    return lambda *terms: promoted(function(*terms), terms)


def promoted(result: str | None, operands: Iterable[str]) -> str | None:
    """A result that was computed with doubles, as a float if its operands say so."""
    parsed = None if result is None else literal(result)
    if parsed is None or parsed.datatype != XSD_DOUBLE:
        return result
    types = {each.datatype for term in operands if (each := literal(term)) is not None}
    is_float = XSD_FLOAT in types and XSD_DOUBLE not in types
    return float_term(parsed.value.double) if is_float else result
