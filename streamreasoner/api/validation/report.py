"""The validation report of the shapes of a program, as pySHACL gives it.

Invariant: the graph, the text and the results say the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, assert_never

import rdflib
from rdflib import RDF, SH
from rdflib.collection import Collection

from streamreasoner.api.nodes import to_node
from streamreasoner.api.validation.results import ValidationResult, validation_results
from streamreasoner.errors import ProgramError
from streamreasoner.facts import decode_rows, in_order
from streamreasoner.lang.ast import Constant
from streamreasoner.program.sources import SHAPES
from streamreasoner.rdf.term_kind import is_blank_node
from streamreasoner.shapes.compile import compile_shapes
from streamreasoner.shapes.paths import path_text
from streamreasoner.sparql.algebra import Alternative, Inverse, Negated, Repeat, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from collections.abc import Sequence as Several

    import numpy as np
    from numpy.typing import NDArray
    from rdflib.term import Node

    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.shapes.compile import CompiledShapes
    from streamreasoner.sparql.algebra import Path

_REPEATS = {
    (0, True): SH.zeroOrMorePath,
    (1, True): SH.oneOrMorePath,
    (0, False): SH.zeroOrOnePath,
}


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """A validation report, which unpacks as that of pySHACL.

    `conforms, graph, text = reasoner.validate()`

    Attributes:
        conforms: Whether there are no results.
        text: The report for people.
        results: The results as Python objects; terms are texts in N-Triples syntax.
    """

    conforms: bool
    text: str
    results: tuple[ValidationResult, ...]
    _graph: Callable[[], rdflib.Graph] = field(repr=False, compare=False)

    @property
    def graph(self) -> rdflib.Graph:
        """The report for machines, a `sh:ValidationReport` with its results.

        Raises:
            TermError: A value is a triple term, or has a base direction, which rdflib does not
                have.
        """
        return self._graph()

    def __iter__(self) -> Iterator[Any]:
        """The first three."""
        yield from (self.conforms, self.graph, self.text)

    def to_json(self) -> str:
        """As JSON: `conforms`, and `results` with the names of SHACL and terms as in N-Triples."""
        results = [
            {
                "focusNode": each.focus,
                "resultPath": None if each.path is None else path_text(each.path),
                "value": each.value,
                "sourceShape": each.shape,
                "sourceConstraintComponent": each.component,
                "sourceConstraint": each.constraint,
                "resultSeverity": each.severity,
                "resultMessage": [str(to_node(message)) for message in each.messages],
            }
            for each in self.results
        ]
        return json.dumps({"conforms": self.conforms, "results": results}, indent=2)


def compiled_shapes(program: CheckedProgram) -> CompiledShapes:
    """The shapes of a program.

    Raises:
        ProgramError: It has none.
    """
    texts = {each.source: each.text for each in program.programs if each.source.endswith(SHAPES)}
    if not texts:
        raise ProgramError(
            "The program has no shapes, so there is nothing to validate. Import a file of shapes: "
            '`@import "shapes.ttl" .`'
        )
    return compile_shapes(texts)


def validation_report(
    program: CheckedProgram,
    facts: Callable[[Iterable[str]], Mapping[str, NDArray[np.int32]]],
    dictionary: Dictionary,
) -> ValidationReport:
    """The report of the present facts.

    Args:
        program: Has shapes.
        facts: The facts of predicates, as ids.
        dictionary: Their terms.

    Raises:
        ProgramError: The program has no shapes.
    """
    compiled = compiled_shapes(program)

    def rows_of(predicates: Iterable[str]) -> Callable[[str], list[tuple[str, ...]]]:
        found = facts(predicates)

        def rows(predicate: str) -> list[tuple[str, ...]]:
            args = found[predicate]
            return decode_rows(in_order(args, dictionary), dictionary, str) if len(args) else []

        return rows

    results = tuple(validation_results(compiled, program.constraints, rows_of))
    # Built when it is asked for: rdflib does not have all terms that results have.
    graph = cache(lambda: _Graph(compiled, results, program).graph)
    return ValidationReport(not results, _text(results), results, graph)


class _Graph:
    """Writes results as a graph."""

    def __init__(
        self, compiled: CompiledShapes, results: Several[ValidationResult], program: CheckedProgram
    ) -> None:
        self._compiled = compiled
        self.graph = rdflib.Graph()
        for name, iri in program.program.prefixes.items():
            self.graph.bind(name, iri)
        self.graph.bind("sh", SH)
        report = rdflib.BNode()
        self.graph.add((report, RDF.type, SH.ValidationReport))
        self.graph.add((report, SH.conforms, rdflib.Literal(not results)))
        for result in results:
            self.graph.add((report, SH.result, self._result(result)))

    def _result(self, result: ValidationResult) -> rdflib.BNode:
        node = rdflib.BNode()
        add = self.graph.add
        add((node, RDF.type, SH.ValidationResult))
        add((node, SH.focusNode, to_node(result.focus)))
        if result.path is not None:
            add((node, SH.resultPath, self._path(result.path)))
        if result.value is not None:
            add((node, SH.value, to_node(result.value)))
        add((node, SH.sourceShape, self._of_shapes(result.shape)))
        add((node, SH.sourceConstraintComponent, to_node(result.component)))
        if result.constraint is not None:
            add((node, SH.sourceConstraint, self._of_shapes(result.constraint)))
        add((node, SH.resultSeverity, to_node(result.severity)))
        for message in result.messages:
            add((node, SH.resultMessage, to_node(message)))
        return node

    def _of_shapes(self, term: str) -> Node:
        """A node of the shapes; a blank one has a name that the data does not have."""
        if not is_blank_node(term):
            return to_node(term)
        shape = self._compiled.shapes.get(term)
        return rdflib.BNode(f"shapes.{term[2:] if shape is None else shape.name}")

    def _path(self, path: Path) -> Node:
        """A path as its nodes (section 2.3.1)."""
        match path:
            case Constant(term):
                return to_node(term)
            case Inverse(inner):
                return self._described(SH.inversePath, self._path(inner))
            case Repeat(inner, least, many):
                return self._described(_REPEATS[least, many], self._path(inner))
            case Alternative(paths):
                return self._described(SH.alternativePath, self._list(paths))
            case Sequence(steps):
                return self._list(steps)
            case Negated():
                raise AssertionError(path)
            case _:
                assert_never(path)

    def _described(self, kind: rdflib.URIRef, value: Node) -> Node:
        node = rdflib.BNode()
        self.graph.add((node, kind, value))
        return node

    def _list(self, paths: Several[Path]) -> Node:
        return Collection(self.graph, rdflib.BNode(), [*map(self._path, paths)]).uri


def _text(results: Several[ValidationResult]) -> str:
    lines = ["Validation Report", f"Conforms: {not results}"]
    if results:
        lines.append(f"Results ({len(results):,}):")
    for result in results:
        lines += _lines(result)
    return "".join(f"{line}\n" for line in lines)


def _lines(result: ValidationResult) -> Iterator[str]:
    name = result.component[1:-1].replace("#", "/").rpartition("/")[2]
    yield f"Constraint violation in {name} ({result.component}):"
    yield f"  Severity: {result.severity}"
    yield f"  Source shape: {result.shape}"
    yield f"  Focus node: {result.focus}"
    if result.path is not None:
        yield f"  Result path: {path_text(result.path)}"
    if result.value is not None:
        yield f"  Value node: {result.value}"
    for message in result.messages:
        yield f"  Message: {to_node(message)}"
