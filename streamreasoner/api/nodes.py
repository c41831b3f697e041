"""Convert terms to and from Python: rdflib nodes, and Python values for common literals.

Invariant: `to_ntriples(from_ntriples(t)) == canonical(t)`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

import rdflib

from streamreasoner.errors import TermError
from streamreasoner.rdf import terms
from streamreasoner.rdf.term_kind import TermKind
from streamreasoner.rdf.terms import Term, canonical, parse
from streamreasoner.rdf.vocabulary import (
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
)
from streamreasoner.values.valuation import ValueKind
from streamreasoner.values.valuation import value as literal_value

PythonTerm: TypeAlias = (
    "rdflib.URIRef | rdflib.BNode | rdflib.Literal | Term | int | float | Decimal | str | bool"
)
"""A term in results: an rdflib node, or a Python value for a common literal.

A triple term, and a literal with a base direction, is a `Term`: rdflib has neither.
"""

GivenTerm: TypeAlias = "PythonTerm | date | np.generic"
"""A term that is given: also a datetime, a date or a scalar of numpy."""

if TYPE_CHECKING:
    from datetime import date

    import numpy as np

_Value: TypeAlias = "int | float | Decimal | str | bool | None"

_COMMON_INSTANT = re.compile(
    r"(?!0000)\d{4}-\d\d-\d\d(?:T(?!24)\d\d:\d\d:\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?"
)
_CONVERTED_CHARACTERS = 1000
# What these match is its own canonical form.
_COMMON_IRI = re.compile(r"[a-z]+://[A-Za-z0-9.-]+(?:/[A-Za-z0-9_.~-]*)*(?:#[A-Za-z0-9_.~/-]*)?")
_COMMON_INTEGER = re.compile(rf'"(0|-?[1-9][0-9]{{0,17}})"\^\^<{re.escape(XSD_INTEGER)}>')
_COMMON_TEXT = re.compile(r"[ !#-\[\]-~]*")
_COMMON_PLAIN = re.compile(rf'"({_COMMON_TEXT.pattern})"')
_INT64 = 1 << 63


def to_ntriples(value: object) -> str:
    """Canonical N-Triples of an rdflib node or a Python value; see `terms.to_ntriples`.

    Raises:
        TermError: The node is not a valid RDF term, or the value has no RDF form.
    """
    if (common := _common(value)) is not None:
        return common
    match value:
        case rdflib.URIRef():
            return canonical(f"<{value}>")
        case rdflib.BNode():
            return canonical(f"_:{value}")
        case rdflib.Literal():
            return _from_rdflib(value)
        case rdflib.term.Identifier():
            # rdflib variables are subclasses of str.
            raise TermError(f"An rdflib {type(value).__name__} is not an RDF term: {value!r}.")
        case Term():
            return canonical(str(value))
        case _:
            return terms.to_ntriples(str(value) if isinstance(value, str) else value)


def _common(value: object) -> str | None:
    """The same for the commonest terms, which takes a tenth of the time; None for any other."""
    match value:
        case int() if type(value) is int and -_INT64 <= value < _INT64:
            return f'"{value}"^^<{XSD_INTEGER}>'
        case rdflib.URIRef() if _COMMON_IRI.fullmatch(value):
            return f"<{value}>"
        case rdflib.Literal(language=None, datatype=None) if _COMMON_TEXT.fullmatch(value):
            return f'"{value}"'
        case str() if type(value) is str and _COMMON_TEXT.fullmatch(value):
            return f'"{value}"'
        case _:
            return None


def from_ntriples(text: str) -> PythonTerm:
    """Inverse of `to_ntriples`: `to_ntriples(from_ntriples(t)) == canonical(t)`.

    Plain literals, integers, decimals, doubles and booleans become Python values if the value maps
    back to the same term; literals with another lexical form (`"01"^^xsd:integer`), another
    datatype or a language become an rdflib.Literal with an unchanged lexical form. What rdflib does
    not have, triple terms and literals with a base direction, becomes a `Term`.

    Raises:
        TermError: `text` is not a term.
    """
    if (plain := _COMMON_PLAIN.fullmatch(text)) is not None:
        return plain[1]
    if (integer := _COMMON_INTEGER.fullmatch(text)) is not None:
        return int(integer[1])
    term = parse(text)
    value = _python_value(term) if term.kind is TermKind.LITERAL else None
    if value is not None and to_ntriples(value) == str(term):
        return value
    return _node(term) if _in_rdflib(term) else term


def to_node(text: str) -> rdflib.URIRef | rdflib.BNode | rdflib.Literal:
    """The rdflib node of a canonical term, with an unchanged lexical form.

    Raises:
        TermError: rdflib has no such term.
    """
    term = parse(text)
    if not _in_rdflib(term):
        what = "triple terms" if term.direction is None else "literals with a base direction"
        raise TermError(
            f"rdflib does not have {what}, such as {str(term)[:100]}. Ask with `facts`, `select` "
            "or `construct` of the reasoner, which return them as `Term`."
        )
    return _node(term)


def _in_rdflib(term: Term) -> bool:
    return term.kind is not TermKind.TRIPLE_TERM and term.direction is None


def _node(term: Term) -> rdflib.URIRef | rdflib.BNode | rdflib.Literal:
    if term.kind is TermKind.IRI:
        return rdflib.URIRef(term.value)
    if term.kind is TermKind.BLANK_NODE:
        return rdflib.BNode(term.value)
    if term.language is not None:
        return rdflib.Literal(term.value, lang=term.language)
    return rdflib.Literal(term.value) if term.datatype == XSD_STRING else _to_rdflib(term)


def _python_value(term: Term) -> _Value:  # noqa: PLR0911  (one per type)
    """The Python value of a literal; None if its datatype or lexical form has none."""
    if term.language is not None:
        return None
    try:
        match term.datatype:
            case d if d == XSD_STRING:
                return term.value
            case d if d == XSD_INTEGER:
                return int(term.value)
            case d if d == XSD_DECIMAL:
                value = Decimal(term.value)
                return value if value.is_finite() else None
            case d if d == XSD_DOUBLE:
                return float(term.value)
            case d if d == XSD_BOOLEAN:
                return {"true": True, "false": False}.get(term.value)
            case _:
                return None
    except (ValueError, ArithmeticError):
        return None


def _to_rdflib(term: Term) -> rdflib.Literal:
    """An rdflib literal with a datatype and an unchanged lexical form.

    rdflib converts on construction: it parses XML and HTML, rewrites xsd:token, and logs a stack
    trace for ill-typed forms. Its constructor therefore gets the datatype only for values that it
    converts without side effects; for others, the datatype is set as unpickling does.
    """
    datatype = rdflib.URIRef(str(term.datatype))
    kind = literal_value(term.value, term.datatype).kind
    converts_cleanly = kind in (
        ValueKind.INTEGER,
        ValueKind.EXACT,
        ValueKind.DOUBLE,
        ValueKind.BOOLEAN,
    ) or (kind is ValueKind.INSTANT and _COMMON_INSTANT.fullmatch(term.value) is not None)
    if converts_cleanly and len(term.value) < _CONVERTED_CHARACTERS:
        return rdflib.Literal(term.value, datatype=datatype, normalize=False)
    literal = rdflib.Literal(term.value)
    literal.__setstate__((None, {"language": None, "datatype": datatype}))
    literal._value = None  # noqa: SLF001  (no public way to make an unconverted literal)
    return literal


def _from_rdflib(literal: rdflib.Literal) -> str:
    quoted = terms.to_ntriples(str(literal))
    if literal.language:
        return canonical(f"{quoted}@{literal.language}")
    if literal.datatype is not None:
        return canonical(f"{quoted}^^<{literal.datatype}>")
    return quoted
