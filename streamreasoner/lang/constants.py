"""Tokens of the rule language to canonical terms. Invariant: an RDF term has one Constant.

An invalid constant is reported and replaced by a placeholder, so that reading continues.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.errors import TermError
from streamreasoner.lang.ast import Base, Constant, Prefix, TripleTerm
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.rdf import vocabulary
from streamreasoner.rdf.iris import is_absolute, resolve
from streamreasoner.rdf.terms import canonical, iri_text, parse
from streamreasoner.values.functions.term_functions import triple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.lang.ast import Expression, Span

WELL_KNOWN = {
    "rdf": vocabulary.RDF,
    "rdfs": vocabulary.RDFS,
    "xsd": vocabulary.XSD,
    "owl": vocabulary.OWL,
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "prov": "http://www.w3.org/ns/prov#",
    "schema": "https://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "time": "http://www.w3.org/2006/time#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
}
"""Prefixes whose declarations a hint can suggest."""

RDF_TYPE = f"<{vocabulary.RDF_TYPE}>"
UNREADABLE = "<urn:unreadable>"
"""Placeholder of an invalid constant; never part of a checked program."""

_IN_STRING = re.compile(r'\\.|["\n\r]', re.DOTALL)
# Without the position, which refers to the N-Triples text, not to the rule text.
_REASON = re.compile(r" is not valid: (.*?)(?: \(at character \d+\))?\.$", re.DOTALL)
_LOCAL_ESCAPE = re.compile(r"\\(.)")
_BARE_LITERAL = re.compile(
    rf'"(-?[0-9]+)"\^\^<{re.escape(vocabulary.XSD_INTEGER)}>'
    rf'|"(-?[0-9]*\.[0-9]+)"\^\^<{re.escape(vocabulary.XSD_DECIMAL)}>'
    rf'|"(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+)"\^\^<{re.escape(vocabulary.XSD_DOUBLE)}>'
    rf'|"(true|false)"\^\^<{re.escape(vocabulary.XSD_BOOLEAN)}>'
)
_QUOTED_CHARACTER = {'"': '\\"', "\n": "\\n", "\r": "\\r"}


class ConstantReader:
    """Reads constants with the prefixes and base declared so far, collecting diagnostics."""

    def __init__(self, diagnostics: list[Diagnostic], *, prefixes_lost: bool = False) -> None:
        self._diagnostics = diagnostics
        self._prefixes: dict[str, str] = {}
        self._base: str | None = None
        # Uses of a prefix whose @prefix statement is broken are not reported again.
        self._prefixes_lost = prefixes_lost
        self._unknown: set[str] = set()

    def prefix(self, token: str, iri: str, span: Span) -> Prefix:
        """Declare `token` (`ex:`) as the prefix of `iri` (`<...>`)."""
        name = token[:-1]
        target = self.iri(iri, span).term[1:-1]
        known = self._prefixes.setdefault(name, target)
        if known != target:
            self._report(
                "SR221",
                f"prefix '{token}' is already declared as <{known}>",
                span,
                "choose another name, or remove one of the two declarations",
            )
        return Prefix(name, target, span)

    def base(self, iri: str, span: Span) -> Base:
        """Declare the IRI that relative IRIs are resolved against."""
        self._base = self.iri(iri, span).term[1:-1]
        return Base(self._base, span)

    def iri(self, token: str, span: Span) -> Constant:
        """Read `<...>`, resolved against the base."""
        try:
            reference = iri_text(token[1:-1])
            if not is_absolute(reference):
                if self._base is None:
                    self._report(
                        "SR106",
                        f"relative IRI {token} without a base",
                        span,
                        "write the full IRI, or declare `@base <http://…/> .` before it",
                    )
                    return Constant(UNREADABLE, span)
                reference = resolve(reference, self._base)
            return Constant(canonical(f"<{reference}>"), span)
        except TermError as error:
            return self._refused(error, span)

    def prefixed(self, token: str, span: Span) -> Constant:
        """Read `ex:local`."""
        name, _, local = token.partition(":")
        namespace = self._prefixes.get(name)
        if namespace is None:
            if not self._prefixes_lost and name not in self._unknown:
                self._unknown.add(name)
                self._report("SR220", f"unknown prefix '{name}:'", span, self._declare(name))
            return Constant(UNREADABLE, span)
        unescaped = _LOCAL_ESCAPE.sub(r"\1", local)
        return self._canonical(f"<{namespace}{unescaped}>", span)

    def literal(self, token: str, suffix: str, span: Span) -> Constant:
        """Read a string in any quotation marks; `suffix` is `@language`, `^^<datatype>` or ''."""
        size = 3 if token.startswith(('"""', "'''")) else 1
        text = _IN_STRING.sub(
            lambda match: _QUOTED_CHARACTER.get(match[0], match[0]), token[size:-size]
        )
        return self._canonical(f'"{text}"{suffix}', span)

    def number(self, kind: str, token: str, span: Span) -> Constant:
        """Read a number; `kind` is integer, decimal or double."""
        return Constant(f'"{token}"^^<{vocabulary.XSD}{kind.lower()}>', span)

    def boolean(self, token: str, span: Span) -> Constant:
        """Read `true` or `false`."""
        return Constant(f'"{token}"^^<{vocabulary.XSD_BOOLEAN}>', span)

    def _declare(self, name: str) -> str:
        hint = f"declare it before its first use: @prefix {name}: <{{}}> ."
        if name in WELL_KNOWN:
            return hint.format(WELL_KNOWN[name])
        close = get_close_matches(name, self._prefixes, 1)
        known = get_close_matches(name, WELL_KNOWN, 1)
        if known and not close:
            line = f"@prefix {known[0]}: <{WELL_KNOWN[known[0]]}> ."
            return f"did you mean '{known[0]}:'? Then add `{line}`"
        return (f"did you mean '{close[0]}:'? If not, " if close else "") + hint.format("http://…")

    def _canonical(self, text: str, span: Span) -> Constant:
        try:
            return Constant(canonical(text), span)
        except TermError as error:
            return self._refused(error, span)

    def _refused(self, error: TermError, span: Span) -> Constant:
        reason = _REASON.search(str(error))
        message = f"not an RDF term: {reason[1] if reason else error}"
        hint = "a backslash is written `\\\\`" if "the escape" in message else None
        self._report("SR104", message, span, hint)
        return Constant(UNREADABLE, span)

    def _report(self, code: str, message: str, span: Span, hint: str | None) -> None:
        self._diagnostics.append(Diagnostic(code, message, span, hint))


def triple_term(parts: Iterable[Expression], span: Span) -> Constant | TripleTerm:
    """Return the triple term of three parts: a constant if they are, and make a triple of RDF."""
    subject, predicate, value = parts
    match subject, predicate, value:
        case Constant(first), Constant(second), Constant(third):
            term = triple(first, second, third)
            if term is not None:
                return Constant(term, span)
        case _:
            pass
    return TripleTerm(subject, predicate, value, span)


def plain_value(constant: Constant) -> str:
    """Return the characters of a plain literal."""
    return parse(constant.term).value


def bare(term: str) -> str | None:
    """Return the short form of a number or boolean (`"5"^^xsd:integer` is `5`), if it has one."""
    match = _BARE_LITERAL.fullmatch(term)
    if match is None:
        return None
    return next(form for form in match.groups() if form is not None)


def positive(constant: Constant, span: Span) -> Constant:
    """Return a number constant with a plus sign, which its lexical form keeps."""
    return Constant(constant.term.replace('"', '"+', 1), span)


def negative(constant: Constant, span: Span) -> Constant | None:
    """Return the negative of an unsigned number constant, or None for any other constant."""
    form = bare(constant.term)
    if form is None or form[0] not in "0123456789.":
        return None
    return Constant(constant.term.replace('"', '"-', 1), span)
