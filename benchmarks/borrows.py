"""The borrow checker of Rust as a program: Polonius's rules, and facts of a function to check.

The rules are those of `polonius-engine` 0.13, all three parts of them: which paths are initialised,
which origins are live, and which loans they contain, by the naive rules. Facts are those that
`rustc -Znll-facts` writes into a folder for each function, or made-up ones of the same shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks import fact_files
from benchmarks.peers.case import Case, choose
from benchmarks.programs import tagged

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

TASK = "borrows"

# Our predicate, the file of rustc without its suffix, and the columns: the order of rows' numbers.
INPUTS = (
    ("edge", "cfg_edge", 2),
    ("subsetBase", "subset_base", 3),
    ("issued", "loan_issued_at", 3),
    ("killed", "loan_killed_at", 2),
    ("invalidated", "loan_invalidated_at", 2),
    ("used", "var_used_at", 2),
    ("defined", "var_defined_at", 2),
    ("dropped", "var_dropped_at", 2),
    ("usesOrigin", "use_of_var_derefs_origin", 2),
    ("dropsOrigin", "drop_of_var_derefs_origin", 2),
    ("childPath", "child_path", 2),
    ("pathOfVar", "path_is_var", 2),
    ("assignedBase", "path_assigned_at_base", 2),
    ("movedBase", "path_moved_at_base", 2),
    ("accessedBase", "path_accessed_at_base", 2),
    ("universal", "universal_region", 1),
    ("knownBase", "known_placeholder_subset", 2),
)
OUTPUTS = ("originLive", "subset", "holds", "loanLive", "error", "subsetError", "moveError")

RULES = """
ancestor(?x, ?c) :- childPath(?c, ?x) .
ancestor(?g, ?c) :- ancestor(?x, ?c), childPath(?x, ?g) .
moved(?x, ?n) :- movedBase(?x, ?n) .
moved(?c, ?n) :- moved(?x, ?n), ancestor(?x, ?c) .
assigned(?x, ?n) :- assignedBase(?x, ?n) .
assigned(?c, ?n) :- assigned(?x, ?n), ancestor(?x, ?c) .
accessed(?x, ?n) :- accessedBase(?x, ?n) .
accessed(?c, ?n) :- accessed(?x, ?n), ancestor(?x, ?c) .
begins(?x, ?v) :- pathOfVar(?x, ?v) .
begins(?c, ?v) :- begins(?x, ?v), ancestor(?x, ?c) .
initialized(?x, ?n) :- assigned(?x, ?n) .
initialized(?x, ?m) :- initialized(?x, ?n), edge(?n, ?m), not moved(?x, ?m) .
uninitialized(?x, ?n) :- moved(?x, ?n) .
uninitialized(?x, ?m) :- uninitialized(?x, ?n), edge(?n, ?m), not assigned(?x, ?m) .
partly(?v, ?n) :- initialized(?x, ?n), begins(?x, ?v) .
entered(?v, ?m) :- partly(?v, ?n), edge(?n, ?m) .
moveError(?x, ?m) :- uninitialized(?x, ?n), edge(?n, ?m), accessed(?x, ?m) .
live(?v, ?n) :- used(?v, ?n) .
live(?v, ?n) :- live(?v, ?m), edge(?n, ?m), not defined(?v, ?n) .
dropLive(?v, ?n) :- dropped(?v, ?n), entered(?v, ?n) .
dropLive(?v, ?n) :- dropLive(?v, ?m), edge(?n, ?m), partly(?v, ?n), not defined(?v, ?n) .
point(?n) :- edge(?n, _) .
point(?n) :- edge(_, ?n) .
originLive(?o, ?n) :- live(?v, ?n), usesOrigin(?v, ?o) .
originLive(?o, ?n) :- dropLive(?v, ?n), dropsOrigin(?v, ?o) .
originLive(?o, ?n) :- universal(?o), point(?n) .
known(?o, ?p) :- knownBase(?o, ?p) .
known(?o, ?q) :- known(?o, ?p), knownBase(?p, ?q) .
subset(?o, ?p, ?n) :- subsetBase(?o, ?p, ?n), ?o != ?p .
subset(?o, ?q, ?n) :- subset(?o, ?p, ?n), subset(?p, ?q, ?n), ?o != ?q .
subset(?o, ?p, ?m) :- subset(?o, ?p, ?n), edge(?n, ?m), originLive(?o, ?m), originLive(?p, ?m) .
holds(?o, ?l, ?n) :- issued(?o, ?l, ?n) .
holds(?p, ?l, ?n) :- holds(?o, ?l, ?n), subset(?o, ?p, ?n) .
holds(?o, ?l, ?m) :- holds(?o, ?l, ?n), edge(?n, ?m), originLive(?o, ?m), not killed(?l, ?n) .
loanLive(?l, ?n) :- holds(?o, ?l, ?n), originLive(?o, ?n) .
error(?l, ?n) :- invalidated(?n, ?l), loanLive(?l, ?n) .
subsetError(?o, ?p, ?n) :-
    subset(?o, ?p, ?n), universal(?o), universal(?p), not known(?o, ?p) .
"""


def case(name: str, tables: list[NDArray[np.int32]], singles: int, batch: int) -> Case:
    """The check of a function whose facts are tables in the order of `INPUTS`."""
    rows = tagged(*tables)
    return Case(
        f"borrows of {name}, {len(rows):,} facts",
        TASK,
        RULES,
        tuple(predicate for predicate, _, _ in INPUTS),
        OUTPUTS,
        rows,
        *choose(rows, singles, batch),
        widths=tuple(width for _, _, width in INPUTS),
    )


def read(folder: Path) -> list[NDArray[np.int32]]:
    """The facts of a function, distinct; points, origins, loans, variables and paths as numbers.

    Raises:
        AbsentError: A file is not there.
    """
    files = [(folder / f"{file}.facts", width) for _, file, width in INPUTS]
    return fact_files.read(files, "\t")


def made_up(points: int, seed: int = 0) -> list[NDArray[np.int32]]:
    """Facts of a made-up function: its points in a line, with branches and loops.

    An origin, a loan, a variable and a path come with four points each, near which they are used.
    """
    random = np.random.default_rng(seed)
    count = points // 4
    ids = np.arange(count)
    # Numbers of one kind begin where those of the one before end.
    origin, loan, variable, path = (points + kind * count + ids for kind in range(4))
    first = np.minimum(ids * 4, points - 1)

    def near(reach: int) -> NDArray[np.int64]:
        return np.clip(first + random.integers(-reach, reach, count), 0, points - 1)

    line = np.arange(points - 1)
    jumps = random.integers(0, points, (points // 20, 2))
    tables = (
        np.concatenate([np.column_stack([line, line + 1]), jumps]),
        np.column_stack([origin, random.choice(origin, count), near(8)]),
        np.column_stack([origin, loan, first]),
        np.column_stack([loan, near(20)])[::4],
        np.column_stack([near(20), loan]),
        np.column_stack([variable, near(30)]),
        np.column_stack([variable, first]),
        np.column_stack([variable, near(30)])[::2],
        np.column_stack([variable, random.choice(origin, count)]),
        np.column_stack([variable, random.choice(origin, count)])[::3],
        np.column_stack([path[1:], path[: count - 1]])[::3],
        np.column_stack([path, variable]),
        np.column_stack([path, first]),
        np.column_stack([path, near(30)])[::5],
        np.column_stack([path, near(30)]),
        origin[:3, None],
        origin[None, :2],
    )
    return [np.unique(table, axis=0).astype(np.int32) for table in tables]
