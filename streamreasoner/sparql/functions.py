"""The functions of SPARQL by those of rules. Invariant: both have the same values and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.rdf.vocabulary import (
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_STRING,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

VALUES: Mapping[str, str] = {
    "ABS": "abs",
    "CEIL": "ceil",
    "CONCAT": "concat",
    "DATATYPE": "datatype",
    "DAY": "day",
    "ENCODE_FOR_URI": "encode_for_uri",
    "FLOOR": "floor",
    "HOURS": "hours",
    "IRI": "iri",
    "LANG": "lang",
    "LANGDIR": "lang_dir",
    "LCASE": "lower",
    "MD5": "md5",
    "MINUTES": "minutes",
    "MONTH": "month",
    "OBJECT": "object",
    "PREDICATE": "predicate",
    "ROUND": "round",
    "SECONDS": "seconds",
    "SHA1": "sha1",
    "SHA256": "sha256",
    "SHA384": "sha384",
    "SHA512": "sha512",
    "STR": "str",
    "STRAFTER": "strafter",
    "STRBEFORE": "strbefore",
    "STRDT": "strdt",
    "STRLANG": "strlang",
    "STRLANGDIR": "str_lang_dir",
    "STRLEN": "length",
    "SUBJECT": "subject",
    "SUBSTR": "substring",
    "TIMEZONE": "timezone",
    "TRIPLE": "triple",
    "TZ": "tz",
    "UCASE": "upper",
    "URI": "iri",
    "YEAR": "year",
    f"<{XSD_BOOLEAN}>": "to_boolean",
    f"<{XSD_DATE}>": "to_date",
    f"<{XSD_DATE_TIME}>": "to_date_time",
    f"<{XSD_DECIMAL}>": "to_decimal",
    f"<{XSD_DOUBLE}>": "to_double",
    f"<{XSD_FLOAT}>": "to_float",
    f"<{XSD_INTEGER}>": "to_integer",
    f"<{XSD_STRING}>": "canonical_text",
}
"""Functions, by their names in SPARQL."""

CONDITIONS: Mapping[str, str] = {
    "HASLANG": "has_lang",
    "HASLANGDIR": "has_lang_dir",
    "ISBLANK": "is_blank",
    "ISIRI": "is_iri",
    "ISLITERAL": "is_literal",
    "ISNUMERIC": "is_number",
    "ISTRIPLE": "is_triple",
    "ISURI": "is_iri",
    "LANGMATCHES": "langmatches",
    "SAMETERM": "same_term",
}
"""Tests, by their names in SPARQL."""

SEARCHES: Mapping[str, str] = {
    "CONTAINS": "contains",
    "STRENDS": "ends_with",
    "STRSTARTS": "starts_with",
}
"""Tests of two strings, whose language tags have to be compatible."""

CHANGING = frozenset({"BNODE", "NOW", "RAND", "STRUUID", "UUID"})
"""Functions whose value is another one each time."""
