"""Node expressions. Invariant: what is not supported is reported by name, with what to write.

Both vocabularies are read: that of SHACL Advanced Features and that of SHACL 1.2 (`shnex:`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.rdf.term_kind import is_blank_node
from streamreasoner.rdf.vocabulary import SH
from streamreasoner.shapes.graph import iri
from streamreasoner.shapes.inference import (
    Conforming,
    Intersection,
    NodeExpression,
    PathValues,
    Term,
    This,
    Union,
    Without,
)
from streamreasoner.shapes.paths import read_path
from streamreasoner.shapes.reading.vocabulary import SHNEX

if TYPE_CHECKING:
    from streamreasoner.shapes.graph import Graph

_THIS = iri("this")
_KINDS = {
    **{
        iri(name): name
        for name in ("path", "union", "intersection", "filterShape", "minus", "distinct")
    },
    **{
        f"<{SHNEX}{name}>": kind
        for name, kind in {
            "pathValues": "path",
            "union": "union",
            "join": "union",
            "intersection": "intersection",
            "filterShape": "filterShape",
            "remove": "minus",
            "distinct": "distinct",
        }.items()
    },
}
"""The property that says what an expression is, in both vocabularies."""

_INPUTS = tuple(f"<{start}{name}>" for start in (SH, SHNEX) for name in ("nodes", "focusNode"))
_BESIDE = frozenset({iri("message"), *_INPUTS})
_HINT = "write the rule as a sh:SPARQLRule"
SUPPORTED = "sh:this, sh:path, sh:union, sh:intersection, sh:minus, sh:distinct and sh:filterShape"


class ExpressionError(Exception):
    """An expression is not supported; `str` says why, `hint` what to do."""

    def __init__(self, message: str, hint: str = _HINT) -> None:
        super().__init__(message)
        self.hint = hint


class Expressions:
    """Reads node expressions.

    Args:
        graph: The graph of the shapes.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def read(self, node: str, above: tuple[str, ...] = ()) -> NodeExpression:  # noqa: C901, PLR0911 - one for each kind of expression
        """The expression of a node.

        Raises:
            ExpressionError: It is not supported, or not well-formed.
        """
        if node == _THIS:
            return This()
        if not is_blank_node(node):
            return Term(node)
        if node in above:
            raise ExpressionError("a node expression is part of itself", "write it without a cycle")
        described = self._graph.triples.get(node, {})
        kinds = [each for each in described if each in _KINDS]
        others = [each for each in described if each not in _KINDS and each not in _BESIDE]
        if len(kinds) != 1 or others:
            raise _unsupported(kinds, others)
        (kind,) = kinds
        values = described[kind]
        if len(values) != 1:
            message = f"a node expression has {len(values)} values of {_short(kind)}"
            raise ExpressionError(message, "give it one")
        (value,) = values
        above = (*above, node)
        match _KINDS[kind]:
            case "path":
                path = read_path(self._graph, value)
                if path is None:
                    raise ExpressionError("the path of a node expression is not one of SHACL")
                return PathValues(path, self._input(node, above, default=This()))
            case "union":
                return Union(self._parts(kind, value, above))
            case "intersection":
                return Intersection(self._parts(kind, value, above))
            case "filterShape":
                return Conforming(value, self._input(node, above))
            case "minus":
                return Without(self._input(node, above), self.read(value, above))
            case _:
                return self.read(value, above)

    def _input(
        self, node: str, above: tuple[str, ...], default: NodeExpression | None = None
    ) -> NodeExpression:
        """The expression that another begins with."""
        values = [value for each in _INPUTS for value in self._graph.objects(node, each)]
        if not values and default is not None:
            return default
        if len(values) != 1:
            message = f"a node expression has {len(values)} values of sh:nodes"
            raise ExpressionError(message, "give it one")
        return self.read(values[0], above)

    def _parts(self, kind: str, value: str, above: tuple[str, ...]) -> tuple[NodeExpression, ...]:
        members = self._graph.members(value)
        if not members:
            message = f"{_short(kind)} of a node expression is not a list of expressions"
            raise ExpressionError(message, "write a list: ( … )")
        return tuple(self.read(each, above) for each in members)


def _unsupported(kinds: list[str], others: list[str]) -> ExpressionError:
    if len(kinds) > 1:
        names = " and ".join(map(_short, kinds))
        return ExpressionError(f"a node expression has {names}", "give each its own node")
    if others:
        names = ", ".join(map(_short, others))
        return ExpressionError(
            f"the node expression with {names} is not supported",
            f"{_HINT}; supported are {SUPPORTED}",
        )
    return ExpressionError(
        "a blank node that says nothing is not a node expression", f"write one: {SUPPORTED}"
    )


def _short(term: str) -> str:
    for start, prefix in ((SH, "sh:"), (SHNEX, "shnex:")):
        if term.startswith(f"<{start}"):
            return prefix + term[len(start) + 1 : -1]
    return term
