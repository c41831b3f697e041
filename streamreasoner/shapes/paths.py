"""Paths of property shapes. Invariant: a path is one of SPARQL, as its node in the graph says.

Source: Shapes Constraint Language (SHACL), W3C Recommendation of 20 July 2017, section 2.3.1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang.ast import NOWHERE, Constant
from streamreasoner.rdf.term_kind import is_iri, is_literal
from streamreasoner.shapes.graph import iri
from streamreasoner.sparql.algebra import Alternative, Inverse, Negated, Repeat, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streamreasoner.shapes.graph import Graph
    from streamreasoner.sparql.algebra import Path

REPEATS = {"zeroOrMorePath": (0, True), "oneOrMorePath": (1, True), "zeroOrOnePath": (0, False)}
"""The least number of steps, and whether there may be more than one."""

PATHS = ("inversePath", "alternativePath", *REPEATS)
"""What describes a path that is neither a predicate nor a list."""

_MARKS = {(0, True): "*", (1, True): "+", (0, False): "?"}
_WORDS = {(0, True): "any", (1, True): "some", (0, False): "optional"}


def read_path(graph: Graph, node: str, above: tuple[str, ...] = ()) -> Path | None:  # noqa: PLR0911 - one for each kind of path
    """The path that a node describes, None if it is not well-formed."""
    members = graph.members(node)
    if is_iri(node) and members is None:
        return Constant(node, NOWHERE)
    if node in above or members == [] or is_literal(node):
        return None
    above = (*above, node)
    if members:
        steps = _paths(graph, members, above)
        return None if steps is None else _single(steps) or Sequence(steps)
    described = [(name, value) for name in PATHS for value in graph.objects(node, iri(name))]
    if len(described) != 1:
        return None
    ((name, value),) = described
    if name == "alternativePath":
        paths = _paths(graph, graph.members(value) or (), above)
        return None if not paths else _single(paths) or Alternative(paths)
    inner = read_path(graph, value, above)
    if inner is None:
        return None
    return Inverse(inner) if name == "inversePath" else Repeat(inner, *REPEATS[name])


def _paths(graph: Graph, nodes: Iterable[str], above: tuple[str, ...]) -> tuple[Path, ...] | None:
    paths = [read_path(graph, node, above) for node in nodes]
    known = tuple(path for path in paths if path is not None)
    return known if len(known) == len(paths) else None


def _single(paths: tuple[Path, ...]) -> Path | None:
    return paths[0] if len(paths) == 1 else None


def path_text(path: Path, printed: Callable[[str], str] = str) -> str:
    """The path as in SPARQL, with brackets where they are needed."""

    def inner(part: Path, *loose: type) -> str:
        text = path_text(part, printed)
        return f"({text})" if isinstance(part, loose) else text

    match path:
        case Constant(term):
            return printed(term)
        case Inverse(part):
            return f"^{inner(part, Sequence, Alternative, Inverse)}"
        case Sequence(parts):
            return "/".join(inner(part, Sequence, Alternative) for part in parts)
        case Alternative(parts):
            return "|".join(inner(part, Alternative) for part in parts)
        case Repeat(part, least, many):
            return inner(part, Sequence, Alternative, Inverse, Repeat) + _MARKS[least, many]
        case Negated():
            raise AssertionError(path)
        case _:
            assert_never(path)


def path_words(path: Path) -> str:
    """A name of the path in the rule language."""
    match path:
        case Constant(term):
            return local_name(term)
        case Inverse(part):
            return f"inverse_{path_words(part)}"
        case Sequence(parts):
            return "_".join(map(path_words, parts))
        case Alternative(parts):
            return "_or_".join(map(path_words, parts))
        case Repeat(part, least, many):
            return f"{_WORDS[least, many]}_{path_words(part)}"
        case Negated():
            raise AssertionError(path)
        case _:
            assert_never(path)


def local_name(term: str) -> str:
    """A name in the rule language, of the last part of an IRI."""
    local = re.split(r"[/#:]", term[1:-1].rstrip("/#:"))[-1]
    words = re.sub(r"[^A-Za-z0-9]+", "_", local).strip("_")
    return words if re.match("[A-Za-z]", words) else f"shape_{words}".rstrip("_")
