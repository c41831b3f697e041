"""Solutions as text, in the formats of SPARQL 1.1 for results.

Sources: https://www.w3.org/TR/sparql11-results-json/, https://www.w3.org/TR/rdf-sparql-XMLres/ and
https://www.w3.org/TR/sparql11-results-csv-tsv/. Invariant: each solution is written, one without
values or variables included, and each distinct term is converted once.
"""

from __future__ import annotations

import csv
import io
import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from streamreasoner.errors import QueryError
from streamreasoner.facts import decode_rows
from streamreasoner.lang.constants import bare
from streamreasoner.rdf.term_kind import is_blank_node, is_iri, is_triple_term
from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.triple_terms import nested_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamreasoner.query.sparql.answers import Solutions

_SPARQL = 'xmlns="http://www.w3.org/2005/sparql-results#"'
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = re.compile("[&<>\r]")


def to_json(answer: Solutions) -> str:
    """Query Results JSON."""
    names = [encode_basestring(name) for name in answer.variables]
    rows = (
        ",".join(f"{name}:{cell}" for name, cell in zip(names, row, strict=True) if cell)
        for row in decode_rows(answer.ids, answer.terms, _optional(_json))
    )
    solutions = ",".join(f"{{{row}}}" for row in rows)
    head = f'{{"head":{{"vars":[{",".join(names)}]}}'
    return f'{head},"results":{{"bindings":[{solutions}]}}}}\n'


def to_xml(answer: Solutions) -> str:
    """Query Results XML.

    Raises:
        QueryError: A term has a character that XML cannot have.
    """
    starts = [f"<binding name={quoteattr(name)}>" for name in answer.variables]
    rows = (
        "".join(f"{start}{cell}</binding>" for start, cell in zip(starts, row, strict=True) if cell)
        for row in decode_rows(answer.ids, answer.terms, _optional(_xml))
    )
    solutions = "".join(f"<result>{row}</result>" for row in rows)
    head = "".join(f"<variable name={quoteattr(name)}/>" for name in answer.variables)
    return in_xml(f"<head>{head}</head><results>{solutions}</results>")


def to_csv(answer: Solutions) -> str:
    """Comma-separated values: texts of terms, quoted where they need it (RFC 4180)."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\r\n")
    rows.writerow(answer.variables)
    rows.writerows(decode_rows(answer.ids, answer.terms, _optional(_csv)))
    return text.getvalue()


def to_tsv(answer: Solutions) -> str:
    """Tab-separated values: terms as in Turtle."""
    header = "\t".join(f"?{name}" for name in answer.variables)
    rows = decode_rows(answer.ids, answer.terms, _optional(lambda term: bare(term) or term))
    return "\n".join((header, *map("\t".join, rows), ""))


def in_xml(content: str) -> str:
    """A document of Query Results XML."""
    return f'<?xml version="1.0"?>\n<sparql {_SPARQL}>{content}</sparql>\n'


WRITERS: Final[Mapping[str, Callable[[Solutions], str]]] = {
    "json": to_json,
    "xml": to_xml,
    "csv": to_csv,
    "tsv": to_tsv,
}
"""How solutions are written, by the names of the formats."""


def _optional(write: Callable[[str], str]) -> Callable[[str | None], str]:
    """A function that writes a variable without a value as nothing."""
    return lambda term: "" if term is None else write(term)


def _json(term: str) -> str:
    heads, innermost = nested_parts(term)
    text = _json_of(innermost)
    for subject, predicate in reversed(heads):
        parts = f'"subject":{_json_of(subject)},"predicate":{_json_of(predicate)},"object":{text}'
        text = f'{{"type":"triple","value":{{{parts}}}}}'
    return text


def _json_of(term: str) -> str:
    kind, value, language, datatype = _parts(term)
    more = ""
    if language:
        tag, _, direction = language.partition("--")
        more = f',"xml:lang":"{tag}"' + (f',"its:dir":"{direction}"' if direction else "")
    elif datatype:
        more = f',"datatype":{encode_basestring(datatype)}'
    return f'{{"type":"{kind}","value":{encode_basestring(value)}{more}}}'


def _xml(term: str) -> str:
    heads, innermost = nested_parts(term)
    text = _xml_of(innermost)
    for subject, predicate in reversed(heads):
        text = (
            f"<triple><subject>{_xml_of(subject)}</subject>"
            f"<predicate>{_xml_of(predicate)}</predicate><object>{text}</object></triple>"
        )
    return text


def _xml_of(term: str) -> str:
    kind, value, language, datatype = _parts(term)
    if (wrong := _NOT_XML.search(value)) is not None:
        raise QueryError(
            f"The answer has the character U+{ord(wrong[0]):04X}, which XML 1.0 cannot have. "
            "Choose one of the formats json, csv and tsv."
        )
    attribute = ""
    if language:
        tag, _, direction = language.partition("--")
        attribute = f' xml:lang="{tag}"'
        if direction:
            attribute += f' xmlns:its="http://www.w3.org/2005/11/its" its:dir="{direction}"'
    elif datatype:
        attribute = f" datatype={quoteattr(datatype)}"
    if _MARKUP.search(value) is not None:
        # Readers of XML make a line feed of a carriage return that is not a reference.
        value = escape(value, {"\r": "&#xD;"})
    return f"<{kind}{attribute}>{value}</{kind}>"


def _csv(term: str) -> str:
    if is_triple_term(term):
        return term
    kind, value, _, _ = _parts(term)
    return f"_:{value}" if kind == "bnode" else value


def _parts(term: str) -> tuple[str, str, str, str]:
    """The kind, value, language and datatype of a canonical term, which needs no validation."""
    if is_iri(term):
        return "uri", term[1:-1], "", ""
    if is_blank_node(term):
        return "bnode", term[2:], "", ""
    end = term.rindex('"')
    value, rest = term[1:end], term[end + 1 :]
    if "\\" in value:
        value = parse(term[: end + 1]).value
    return "literal", value, rest[1:] if rest.startswith("@") else "", rest[3:-1]
