"""Answers for people. Invariant: what is not shown is counted, and the command for all is named."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from streamreasoner.counts import counted
from streamreasoner.lang.ast import NOWHERE, Constant
from streamreasoner.lang.printer import print_expression
from streamreasoner.query.sparql.answers import Solutions, Truth

if TYPE_CHECKING:
    from collections.abc import Mapping

SHOWN: Final = 1000
"""Solutions of a table at most."""


def show(answer: Solutions | Truth, prefixes: Mapping[str, str]) -> None:
    """Print solutions as a table, with short names of IRIs, and a truth as a word."""
    console = Console(soft_wrap=False)
    if isinstance(answer, Truth):
        console.print(str(answer.holds).lower(), highlight=False)
        return
    count = len(answer)
    if answer.variables and count:
        names = {**prefixes, **answer.prefixes}
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in answer.variables:
            table.add_column(Text(f"?{name}"), overflow="fold")
        for row in islice(answer, SHOWN):
            table.add_row(*(Text("" if term is None else _short(term, names)) for term in row))
        console.print(table)
    more = f", of which the first {SHOWN:,} are shown; --format tsv writes all"
    said = counted(count, "solution")
    console.print(f"{said}{more if count > SHOWN else ''}", highlight=False)


def _short(term: str, prefixes: Mapping[str, str]) -> str:
    return print_expression(Constant(term, NOWHERE), prefixes)
