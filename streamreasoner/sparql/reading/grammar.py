"""The grammar of SPARQL. Invariant: the tree of lark goes no further than this module.

It is walked without recursion, and what is made of it nests no deeper than `NESTING`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NoReturn

from lark import Lark, Token, Tree, UnexpectedInput
from lark.exceptions import UnexpectedToken
from lark.lexer import PatternStr

from streamreasoner.sparql.reading import mistakes
from streamreasoner.system.garbage import without_collections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.sparql.reading.groups import GroupReader
    from streamreasoner.sparql.reading.source import Source

NESTING = 100
"""How deep groups, nodes, expressions and paths nest: each OPTIONAL, operand and call counts."""

_NAMED = re.compile(r"^([A-Z]\w*)(?:\.\d+)?:", re.MULTILINE)
# A value of these nests those of its parts.
_NESTING = frozenset(
    {
        "alternative",
        "annotation",
        "blank_list",
        "both",
        "collection",
        "comparison",
        "either",
        "exists",
        "function_call",
        "inverse",
        "iri_call",
        "membership",
        "negated",
        "negation",
        "not_exists",
        "reified",
        "repeated",
        "sequence",
        "sign",
        "signed_product",
        "sub_select",
        "triple_data",
        "triple_term",
        "triple_value",
    }
)
# A part of these nests the parts before it.
_CHAINED = frozenset(
    {
        "bind",
        "graph",
        "key",
        "minus",
        "optional",
        "projected",
        "service",
        "signed_product",
        "union",
        "values",
        "window",
    }
)
_CHAINS = frozenset({"product", "sum"})


@cache
def _text() -> str:
    return files(__package__).joinpath("sparql.lark").read_text(encoding="utf-8")


@cache
def _grammar() -> Lark:
    return Lark(
        _text(),
        parser="lalr",
        lexer="contextual",
        start=["unit", "rule_set"],
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


@cache
def _fixed() -> dict[str, str]:
    """The text of the tokens that have one."""
    return {
        terminal.name: terminal.pattern.value
        for terminal in _grammar().terminals
        if isinstance(terminal.pattern, PatternStr)
    }


@cache
def _meaningful() -> frozenset[str]:
    """The names of the tokens that the reader is given: those that the grammar defines by name."""
    return frozenset(_NAMED.findall(_text()))


@without_collections
def read(source: Source, reader: GroupReader, start: str = "unit") -> Any:
    """The value that a reader makes of a text, children first.

    Args:
        source: The text.
        reader: Has a method for each rule of the grammar that the text may have.
        start: The rule of the whole text.

    Raises:
        ProgramError: The text has no tree, or the reader refuses it.
    """
    try:
        tree = _grammar().parse(source.plain, start=start)
    except UnexpectedInput as error:
        _refuse(error, source)
    meaningful = _meaningful()
    stack: list[_Node] = [_Node(tree)]
    while True:
        node = stack[-1]
        for child in node.children:
            if isinstance(child, Tree):
                stack.append(_Node(child))
                break
            node.reach(child.start_pos or 0, child.end_pos or 0)
            if child.type in meaningful:
                node.values.append(child)
        else:
            stack.pop()
            node.depth += node.rule in _NESTING
            if node.depth > NESTING:
                raise source.refusal(
                    f"groups, nodes and expressions are nested more than {NESTING} deep here",
                    (node.start, node.end),
                    "bind parts of it to variables, or put them into sub-queries",
                )
            value = getattr(reader, node.rule)((max(node.start, 0), node.end), node.values)
            if not stack:
                return value
            stack[-1].add(node, value)


class _Node:
    """A node of the tree whose children are read."""

    __slots__ = ("children", "depth", "end", "rule", "start", "values")

    def __init__(self, tree: Tree[Token]) -> None:
        self.rule = str(tree.data)
        self.children: Iterator[Tree[Token] | Token] = iter(tree.children)
        self.values: list[Any] = []
        self.start = -1
        self.end = 0
        self.depth = 0

    def reach(self, start: int, end: int) -> None:
        if self.start < 0:
            self.start = start
        self.end = end

    def add(self, child: _Node, value: Any) -> None:
        self.values.append(value)
        if child.start >= 0:
            self.reach(child.start, child.end)
        self.depth = max(self.depth, child.depth)
        self.depth += child.rule in _CHAINED or self.rule in _CHAINS


def _refuse(error: UnexpectedInput, source: Source) -> NoReturn:
    start = end = error.pos_in_stream or 0
    if isinstance(error, UnexpectedToken):
        end = error.token.end_pos or 0
        if error.token.type == "$END":
            start = end = len(source.plain.rstrip())
    names = error.interactive_parser.accepts()  # type: ignore[no-untyped-call]
    expected = frozenset(_fixed().get(name, name) for name in names)
    mistake = mistakes.describe(source.plain, start, end, expected, source.language)
    raise source.refusal(mistake.message, mistake.place, mistake.hint) from None
