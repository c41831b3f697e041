"""Lines of code of the examples, as a table. Invariant: only lines of logic count.

Blank lines, comments, docstrings and imports are not lines of code.

`python examples/count_lines.py` prints the table of README.md and docs/examples.md.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

FOLDER = Path(__file__).parent
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def of_rules(text: str) -> int:
    """Lines of a rule file that hold more than a comment."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))


def of_python(text: str) -> int:
    """Lines of a module that hold code."""
    tree = ast.parse(text)
    left_out = [node for node in tree.body if _is_import(node)]
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    left_out += [
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node)
    ]
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in left_out:
        lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _is_import(node: ast.stmt) -> bool:
    """Whether it is an import, or the block of those that types alone need."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case _:
            return False


def table() -> str:
    """The examples that have a twin in plain PySpark, in the order of their names."""
    rows = ["| example | rules.dl | plain PySpark |", "|---|---:|---:|"]
    for plain in sorted(FOLDER.glob("*/plain.py")):
        rules = of_rules(plain.with_name("rules.dl").read_text(encoding="utf-8"))
        python = of_python(plain.read_text(encoding="utf-8"))
        rows.append(f"| {plain.parent.name} | {rules} | {python} |")
    return "".join(f"{row}\n" for row in rows)


if __name__ == "__main__":
    sys.stdout.write(table())
