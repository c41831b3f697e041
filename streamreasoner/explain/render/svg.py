"""An explanation as a picture for web pages. Invariant: it loads nothing, and reads as the text.

A row for each fact, as in the text; the colours are those of the page around it.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from streamreasoner.explain.render.tree import absence_trees, proof_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from streamreasoner.explain.proof import Absence, Proof
    from streamreasoner.explain.render.prefixed import ExplanationPrinter
    from streamreasoner.explain.render.tree import TreeRow

_LINE, _INDENT, _CHARACTER, _MARGIN = 20, 24, 7.3, 8
"""In pixels: height of a line, width of a level and of a character, space around the picture."""
_STYLE = (
    'font-family="ui-monospace, monospace" font-size="12" fill="currentColor" '
    'stroke="none" role="img" style="white-space:pre" xml:space="preserve"'
)


def proof_svg(proof: Proof, printer: ExplanationPrinter) -> str:
    """The proof: below each fact its rule and its premises."""
    return _svg([[*proof_tree(proof, printer)]], f"Why {printer.fact(proof.steps[0].fact)}")


def absence_svg(absence: Absence, printer: ExplanationPrinter) -> str:
    """The fact, and below it what each rule lacks."""
    return _svg(absence_trees(absence, printer), f"Why not {printer.fact(absence.fact)}")


def _svg(trees: Sequence[Sequence[TreeRow]], title: str) -> str:
    lines = [*_lines(trees)]
    width = 2 * _MARGIN + max(x + _CHARACTER * _columns(text) for x, _, text, _ in lines)
    height = 2 * _MARGIN + _LINE * (1 + max(line for _, line, _, _ in lines))
    body = [
        f'<text x="{x}" y="{_y(line) + 4}"{style}>{escape(text)}</text>'
        for x, line, text, style in lines
    ]
    path = " ".join(_connections(trees))
    drawn = f'<path d="{path}" fill="none" stroke="currentColor" opacity="0.4"/>' if path else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" {_STYLE}><title>{escape(title)}</title>{drawn}'
        f"{''.join(body)}</svg>"
    )


def _lines(trees: Iterable[Sequence[TreeRow]]) -> Iterator[tuple[int, int, str, str]]:
    """Every text with its x, its line and its style."""
    for line, row in _numbered(trees):
        x = _MARGIN + _INDENT * len(row.more)
        yield x, line, row.line, ' font-weight="bold"' if row.has_children else ""
        for number, note in enumerate(row.notes, start=line + 1):
            yield x + _INDENT // 2, number, note, ' opacity="0.7"'


def _connections(trees: Iterable[Sequence[TreeRow]]) -> Iterator[str]:
    """From each node down the side of its children, and to each of them."""
    parents: list[int] = []
    for line, row in _numbered(trees):
        depth = len(row.more)
        if depth:
            x = _MARGIN + _INDENT * (depth - 1) + 4
            yield f"M{x} {_y(parents[depth - 1]) + 8}V{_y(line)}h{_INDENT - 8}"
        parents[depth:] = [line]


def _numbered(trees: Iterable[Sequence[TreeRow]]) -> Iterator[tuple[int, TreeRow]]:
    """Every row with the number of its line; an empty line is between trees."""
    line = 0
    for tree in trees:
        for row in tree:
            yield line, row
            line += 1 + len(row.notes)
        line += 1


def _y(line: int) -> int:
    return _MARGIN + _LINE * line + _LINE // 2


def _columns(text: str) -> int:
    """The columns of a text in a font of equal widths."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
