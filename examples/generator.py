"""What all generators share: options in, facts out. Invariant: equal options give equal bytes."""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Fact: TypeAlias = tuple[str, tuple[int | str, ...]]
"""A predicate and its arguments; those of `triple` are terms in N-Triples syntax."""

TRIPLE = "triple"


def main(facts: Callable[[int, random.Random], Iterable[Fact]], size: int) -> None:
    """Write generated facts to standard output or files, according to the options.

    Args:
        facts: The facts for a size and a source of randomness.
        size: The default size.
    """
    options = _parser(size).parse_args()
    # Sets are left to this function: a fact is written once, in the order of its first mention.
    distinct = list(dict.fromkeys(facts(options.size, random.Random(options.seed))))  # noqa: S311 - repeatable
    if options.json:
        sys.stdout.writelines(_message(fact, options.diff) for fact in distinct)
        return
    groups: dict[str, list[tuple[int | str, ...]]] = {}
    for predicate, args in distinct:
        groups.setdefault(predicate, []).append(args)
    if options.output is None:
        predicate = options.predicate or next(iter(groups))
        _write(sys.stdout, predicate, groups.get(predicate, []))
        return
    options.output.mkdir(parents=True, exist_ok=True)
    for predicate, rows in groups.items():
        suffix = "nt" if predicate == TRIPLE else "csv"
        path = options.output / f"{predicate}.{suffix}"
        with path.open("w", encoding="utf-8", newline="") as file:
            _write(file, predicate, rows)


def _parser(size: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Generate facts: CSV, or N-Triples for triples.")
    parser.add_argument("--size", type=int, default=size, help=f"default: {size}")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--predicate", help="print this one; default: the first")
    parser.add_argument("--output", type=Path, help="write a file for each predicate in here")
    parser.add_argument("--json", action="store_true", help="print messages for `produce`")
    parser.add_argument("--diff", type=int, default=1, help="of the messages; -1 retracts")
    return parser


def _write(file: IO[str], predicate: str, rows: Iterable[tuple[int | str, ...]]) -> None:
    if predicate == TRIPLE:
        file.writelines(f"{s} {p} {o} .\n" for s, p, o in rows)
    else:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _message(fact: Fact, diff: int) -> str:
    predicate, args = fact
    if predicate == TRIPLE:
        message: dict[str, object] = {**dict(zip("spo", args, strict=True)), "diff": diff}
    else:
        # A number is a literal; a string in a message is a term, so text needs quotes.
        terms = [arg if isinstance(arg, int) else json.dumps(arg) for arg in args]
        message = {"predicate": predicate, "args": terms, "diff": diff}
    return f"{json.dumps(message)}\n"
