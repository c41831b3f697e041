"""Solutions as text, in the formats of SPARQL 1.1 for results.

Sources: https://www.w3.org/TR/sparql11-results-json/, https://www.w3.org/TR/rdf-sparql-XMLres/ and
https://www.w3.org/TR/sparql11-results-csv-tsv/. Invariant: each solution is written, one without
values or variables included, and each distinct term is converted once.
"""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from streamreasoner.errors import QueryError
from streamreasoner.lang.constants import bare
from streamreasoner.query.facts import decode_rows
from streamreasoner.rdf.terms import TermKind, parse
from streamreasoner.rdf.vocabulary import XSD_STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamreasoner.query.sparql.answers import Solutions
    from streamreasoner.rdf.terms import Term

_SPARQL = 'xmlns="http://www.w3.org/2005/sparql-results#"'
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_KINDS = {TermKind.IRI: "uri", TermKind.BLANK_NODE: "bnode", TermKind.LITERAL: "literal"}


def to_json(answer: Solutions) -> str:
    """Query Results JSON."""
    names = [json.dumps(name, ensure_ascii=False) for name in answer.variables]
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


def _json(text: str) -> str:
    term = parse(text)
    fields = {"type": _KINDS[term.kind], "value": term.value}
    if term.language is not None:
        fields["xml:lang"] = term.language
    elif (datatype := _datatype(term)) is not None:
        fields["datatype"] = datatype
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _xml(text: str) -> str:
    term = parse(text)
    if (wrong := _NOT_XML.search(term.value)) is not None:
        raise QueryError(
            f"The answer has the character U+{ord(wrong[0]):04X}, which XML 1.0 cannot have. "
            "Choose one of the formats json, csv and tsv."
        )
    kind = _KINDS[term.kind]
    attribute = ""
    if term.language is not None:
        attribute = f" xml:lang={quoteattr(term.language)}"
    elif (datatype := _datatype(term)) is not None:
        attribute = f" datatype={quoteattr(datatype)}"
    # Readers of XML make a line feed of a carriage return that is not a reference.
    content = escape(term.value, {"\r": "&#xD;"})
    return f"<{kind}{attribute}>{content}</{kind}>"


def _csv(text: str) -> str:
    term = parse(text)
    return f"_:{term.value}" if term.kind is TermKind.BLANK_NODE else term.value


def _datatype(term: Term) -> str | None:
    return None if term.datatype == XSD_STRING else term.datatype
