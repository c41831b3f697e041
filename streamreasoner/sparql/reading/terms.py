"""Terms and property paths of a parse tree. Invariant: terms are canonical, as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rdflib

from streamreasoner.errors import TermError
from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.rdf import terms
from streamreasoner.rdf.iris import resolve
from streamreasoner.sparql.algebra import (
    Alternative,
    Inverse,
    Negated,
    Repeat,
    Sequence,
    TriplePattern,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.algebra import Path, Term
    from streamreasoner.sparql.reading.places import QueryPlaces


class TermReader:
    """Reads the terms of one query.

    Args:
        places: Finds its words.
    """

    def __init__(self, places: QueryPlaces) -> None:
        self._places = places
        self._prefixes: dict[str, str] = {}
        self._base = ""
        self._blank: dict[rdflib.BNode, str] = {}
        self._invented = 0

    def _declare(self, prologue: Iterable[Any]) -> None:
        """Read PREFIX and BASE."""
        for declaration in prologue:
            iri = self._resolved(str(declaration.iri), self._places.at(0))
            if declaration.name == "Base":
                self._base = iri
            else:
                self._prefixes[str(declaration.prefix or "")] = iri

    def _resolved(self, reference: str, span: Span) -> str:
        try:
            return resolve(reference, self._base) if self._base else reference
        except TermError as error:
            raise self._places.refusal("SR260", str(error), span) from None

    def _triples(self, blocks: Iterable[Any]) -> list[TriplePattern]:
        found = []
        for block in blocks:
            parts = list(block)
            for start in range(0, len(parts), 3):
                subject, predicate, value = parts[start : start + 3]
                found.append(
                    TriplePattern(self._term(subject), self._path(predicate), self._term(value))
                )
        return found

    def _path(self, node: Any) -> Path | Variable:
        if isinstance(node, rdflib.Variable):
            return self._variable(node)
        match getattr(node, "name", None):
            case "PathAlternative":
                paths = tuple(self._step(each) for each in node.part)
                return paths[0] if len(paths) == 1 else Alternative(paths)
            case _:
                return self._step(node)

    def _step(self, node: Any) -> Path:  # noqa: PLR0911 - one for each kind
        match getattr(node, "name", None):
            case "PathAlternative":
                found = self._path(node)
                assert not isinstance(found, Variable)  # noqa: S101 - a path has no variables
                return found
            case "PathSequence":
                steps = tuple(self._step(each) for each in node.part)
                return steps[0] if len(steps) == 1 else Sequence(steps)
            case "PathElt":
                path = self._step(node.part)
                match node.mod:
                    case None:
                        return path
                    case "?":
                        return Repeat(path, 0, many=False)
                    case modifier:
                        return Repeat(path, int(modifier == "+"), many=True)
            case "PathEltOrInverse":
                return Inverse(self._step(node.part))
            case "PathNegatedPropertySet":
                return Negated(tuple(self._negated(each) for each in node.part or ()))
            case "DistinctPath":
                span = self._places.first("DISTINCT")
                raise self._places.refusal("SR260", "a path has no DISTINCT", span)
            case _:
                return self._constant(node)

    def _negated(self, node: Any) -> Constant:
        if getattr(node, "name", None) == "InversePath":
            raise self._places.refusal(
                "SR261",
                "an inverse predicate in a negated property set is not supported",
                self._places.at(0),
                "write `^(!(…))` for the inverse ones, and `|` between them and the others",
            )
        return self._constant(node)

    def _new(self, kind: str, span: Span) -> Variable:
        """A variable that the query cannot name."""
        self._invented += 1
        return Variable(f"{kind}.{self._invented}", span)

    def _variable(self, node: rdflib.Variable) -> Variable:
        return Variable(str(node), self._places.first(f"?{node}"))

    def _term(self, node: Any) -> Term:
        match node:
            case rdflib.Variable():
                return self._variable(node)
            case rdflib.BNode():
                name = self._blank.setdefault(node, f"blank.{len(self._blank) + 1}")
                return Variable(name, self._places.at(0))
            case _:
                return self._constant(node)

    def _named(self, text: str, span: Span) -> Constant:
        """The IRI of a name as it is written, which the parser has not read."""
        if text.startswith("<"):
            return self._constant(rdflib.URIRef(text[1:-1]))
        prefix, _, local = text.partition(":")
        if prefix not in self._prefixes:
            hint = f"write `PREFIX {prefix}: <…>` before the query"
            raise self._places.refusal("SR260", f"prefix `{prefix}:` is not declared", span, hint)
        return self._constant(rdflib.URIRef(self._prefixes[prefix] + local))

    def _constant(self, node: Any) -> Constant:
        """A term in canonical N-Triples; literals keep their lexical form."""
        span = self._places.at(0)
        if getattr(node, "name", None) == "pname":
            prefix = str(node.prefix or "")
            span = self._places.next(f"{prefix}:")
            if prefix not in self._prefixes:
                hint = f"write `PREFIX {prefix}: <…>` before the query"
                raise self._places.refusal(
                    "SR260", f"prefix `{prefix}:` is not declared", span, hint
                )
            text = f"<{self._prefixes[prefix]}{node.localname or ''}>"
        elif getattr(node, "name", None) == "literal":
            text = terms.quoted(str(node.string))
            if node.lang:
                text += f"@{node.lang}"
            elif node.datatype is not None:
                text += f"^^{self._constant(node.datatype).term}"
        elif isinstance(node, rdflib.URIRef):
            text = f"<{self._resolved(str(node), span)}>"
        else:
            text = terms.quoted(str(node))
            if node.datatype is not None:
                text += f"^^<{node.datatype}>"
        try:
            return Constant(terms.canonical(text), span)
        except TermError as error:
            raise self._places.refusal("SR260", str(error), span) from None
