r"""Terms of a text. Invariant: terms are canonical, and literals keep their lexical form."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from streamreasoner.errors import TermError
from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.lang.constants import WELL_KNOWN
from streamreasoner.rdf import terms, triple_terms, vocabulary
from streamreasoner.rdf.iris import is_absolute, resolve
from streamreasoner.rdf.term_kind import is_iri
from streamreasoner.sparql.algebra import TripleTerm
from streamreasoner.sparql.reading.source import character

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar, TypeAlias

    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.algebra import Node
    from streamreasoner.sparql.reading.source import Source

    Place: TypeAlias = tuple[int, int]
    """Where a node begins and ends, as offsets."""

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_IN_LOCAL_NAME = re.compile(r"\\(.)")
_REASON = re.compile(r" is not valid: (.*?)(?: \(at character \d+\))?\.$", re.DOTALL)


class TermReader:
    """Reads the terms of one text.

    Args:
        source: The text.
        base: What its first relative IRI is resolved against; empty if there is nothing.
    """

    versions: ClassVar[tuple[str, ...]] = ("1.1", "1.2", "1.2-basic")
    """Those that the text may announce."""

    def __init__(self, source: Source, base: str) -> None:
        self._source = source
        self._base = base
        self._prefixes: dict[str, str] = {}
        self._terms: dict[str, str] = {}
        self._blank: dict[str, str] = {}
        self._unnamed: set[str] = set()
        # Labels of blank nodes that no pattern or template has taken yet, and where they stand.
        self._labels: list[tuple[str, Place]] = []
        self._invented = 0

    def base(self, place: Place, values: Sequence[str]) -> None:
        """`BASE <iri>`."""
        self._base = self._resolved(values[0], place)
        self._terms.clear()

    def prefix(self, place: Place, values: Sequence[str]) -> None:
        """`PREFIX ex: <iri>`."""
        name, iri = values
        self._prefixes[name[:-1]] = self._resolved(iri, place)
        self._terms.clear()

    def version(self, place: Place, values: Sequence[str]) -> None:
        """`VERSION "1.2"`, which changes nothing of how the text is read."""
        (token,) = values
        hint = 'write `VERSION "1.2"`'
        if token.startswith(('"""', "'''")):
            raise self._refusal("a version has one quotation mark on each side", place, hint)
        if self._text(token, place) not in self.versions:
            raise self._refusal(f"the version {token} is unknown", place, hint)

    def iri(self, place: Place, values: Sequence[str]) -> Constant:
        """`<iri>`."""
        (token,) = values
        term = self._terms.get(token)
        if term is None:
            term = self._terms[token] = self._canonical(f"<{self._resolved(token, place)}>", place)
        return Constant(term, self._span(place))

    def prefixed(self, place: Place, values: Sequence[str]) -> Constant:
        """`ex:name`."""
        (token,) = values
        term = self._terms.get(token)
        if term is None:
            prefix, _, local = token.partition(":")
            if prefix not in self._prefixes:
                message = f"prefix `{prefix}:` is not declared"
                known = WELL_KNOWN.get(prefix, "…")
                hint = f"write `PREFIX {prefix}: <{known}>` before the query"
                raise self._refusal(message, place, hint)
            name = self._prefixes[prefix] + _IN_LOCAL_NAME.sub(r"\1", local)
            term = self._terms[token] = self._canonical(f"<{name}>", place)
        return Constant(term, self._span(place))

    def type(self, place: Place, _: Sequence[str]) -> Constant:
        """`a`."""
        return Constant(f"<{vocabulary.RDF_TYPE}>", self._span(place))

    def nil(self, place: Place, _: Sequence[str]) -> Constant:
        """`()`."""
        return Constant(f"<{vocabulary.RDF}nil>", self._span(place))

    def variable(self, place: Place, values: Sequence[str]) -> Variable:
        """`?x` or `$x`."""
        return Variable(str(values[0][1:]), self._span(place))

    def literal(self, place: Place, values: Sequence[str | Constant]) -> Constant:
        """`"text"`, `"text"@en` or `"text"^^ex:type`."""
        text, *suffix = values
        assert isinstance(text, str)  # noqa: S101 - the grammar says so
        term = terms.quoted(self._text(text, place))
        match suffix:
            case [Constant(datatype)]:
                term = self._canonical(f"{term}^^{datatype}", place)
            case [str() as language]:
                term = self._canonical(term + language, place)
        return Constant(term, self._span(place))

    def number(self, place: Place, values: Sequence[str]) -> Constant:
        """`1`, `-1.5` or `+1e3`."""
        (token,) = values
        kind = "double" if "e" in token.lower() else "decimal" if "." in token else "integer"
        return Constant(f'"{token}"^^<{vocabulary.XSD}{kind}>', self._span(place))

    def boolean(self, place: Place, values: Sequence[str]) -> Constant:
        """`true` or `false`, in any case."""
        return Constant(f'"{values[0].lower()}"^^<{vocabulary.XSD_BOOLEAN}>', self._span(place))

    def blank(self, place: Place, values: Sequence[str]) -> Variable:
        """`_:b`, a variable that the text cannot name."""
        label = str(values[0])
        self._labels.append((label, place))
        return self._blank_node(label, place)

    def anonymous(self, place: Place, _: Sequence[str]) -> Variable:
        """`[]`."""
        return self._blank_node(f"[{place[0]}]", place)

    def triple_term(self, place: Place, values: Sequence[Any]) -> Constant | TripleTerm:
        """`<<( subject predicate object )>>`."""
        return self._triple_term(values, self._span(place))

    triple_data = triple_term

    def _triple_term(self, parts: Sequence[Any], span: Span) -> Constant | TripleTerm:
        """A constant if it is a triple term without variables."""
        match parts:
            case [Constant(subject), Constant(predicate), Constant(value)] if is_iri(subject):
                return Constant(triple_terms.triple_term(subject, predicate, value), span)
            case _:
                subject, predicate, value = parts
                return TripleTerm(subject, predicate, value, span)

    def _blank_node(self, label: str, place: Place) -> Variable:
        """A blank node, which has its label as its name until its triples are in order."""
        self._unnamed.add(label)
        return Variable(label, self._span(place))

    def _named(self, term: Node) -> Node:
        """A term, with its name if it is a blank node, which has a number by its first triple."""
        if isinstance(term, TripleTerm):
            return replace(term, subject=self._named(term.subject), object=self._named(term.object))
        if not isinstance(term, Variable) or term.name not in self._unnamed:
            return term
        name = self._blank.setdefault(term.name, f"blank.{len(self._blank) + 1}")
        return Variable(name, term.span)

    def _labels_since(self, start: int) -> list[tuple[str, Place]]:
        """Take the labels that stand after an offset."""
        taken = [each for each in self._labels if each[1][0] >= start]
        self._labels = self._labels[: len(self._labels) - len(taken)]
        return taken

    def _new(self, kind: str, span: Span) -> Variable:
        """A variable that the text cannot name."""
        self._invented += 1
        return Variable(f"{kind}.{self._invented}", span)

    def _resolved(self, token: str, place: Place) -> str:
        """The IRI of `<…>`."""
        try:
            reference = terms.iri_text(token[1:-1])
            if not is_absolute(reference) and self._base:
                return resolve(reference, self._base)
        except TermError as error:
            raise self._wrong(error, place) from None
        if is_absolute(reference):
            return reference
        hint = "write it in full, or `BASE <http://…>` before the query"
        raise self._refusal(f"the IRI <{reference}> is relative, without a base", place, hint)

    def _text(self, token: str, place: Place) -> str:
        """The characters of a string."""
        size = 3 if token.startswith(('"""', "'''")) else 1
        text = token[size:-size]
        if "\\" not in text:
            return str(text)

        def read(escape: re.Match[str]) -> str:
            name = escape[1]
            found = character(name[1:]) if len(name) > 1 else _ESCAPED.get(name)
            if found is None:
                start = place[0] + size + escape.start()
                message = f"the escape {escape[0]} is not a character"
                raise self._refusal(message, (start, start + len(escape[0])), _ESCAPE_HINT)
            return found

        return _ESCAPE.sub(read, text)

    def _canonical(self, term: str, place: Place) -> str:
        try:
            return terms.canonical(term)
        except TermError as error:
            raise self._wrong(error, place) from None

    def _wrong(self, error: TermError, place: Place) -> Exception:
        reason = _REASON.search(str(error))
        return self._refusal(reason[1] if reason else str(error), place)

    def _span(self, place: Place) -> Span:
        return self._source.span(*place)

    def _refusal(self, message: str, place: Place | Span, hint: str | None = None) -> Exception:
        return self._source.refusal(message, place, hint)


_ESCAPE_HINT = r"""the escapes are \t, \b, \n, \r, \f, \", \', \\, \uXXXX and \UXXXXXXXX"""
