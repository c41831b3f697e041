"""The classification of an ontology in OWL 2 EL, and axioms to classify.

The rules are those of Nemo's evaluation at KR 2024: the calculus of ELK (Kazakov, Krötzsch and
Simančík, "The incredible ELK", Journal of Automated Reasoning 2014, figure 3) over axioms in normal
form. Axioms are those of GALEN, from files that come with Nemo, or made-up ones of the same shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks import fact_files
from benchmarks.peers.case import Case, choose
from benchmarks.programs import tagged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Axioms = Mapping[str, NDArray[np.int32]]

# Our predicates, which are Nemo's files without their suffix, and their columns.
INPUTS = {
    "isMainClass": 1,
    "isSubClass": 1,
    "conj": 3,
    "exists": 3,
    "subClassOf": 2,
    "subProp": 2,
    "subPropChain": 3,
}
OUTPUTS = ("init", "subsumedBy", "related", "mainSubClassOf")
THING, NOTHING = 0, 1
"""The constants of the rules."""

# FlowLog joins atoms as they are written, so rare ones come first.
RULES = """
init(?c) :- isMainClass(?c) .
init(?c) :- related(_, _, ?c) .
subsumedBy(?c, ?c) :- init(?c) .
subsumedBy(?c, 0) :- isMainClass(?c) .
subsumedBy(?c, ?d) :- subsumedBy(?c, ?y), conj(?y, ?d, _) .
subsumedBy(?c, ?d) :- subsumedBy(?c, ?y), conj(?y, _, ?d) .
subsumedBy(?c, ?y) :-
    conj(?y, ?d, ?e), isSubClass(?y), subsumedBy(?c, ?d), subsumedBy(?c, ?e) .
related(?c, ?r, ?d) :- subsumedBy(?c, ?y), exists(?y, ?r, ?d) .
subsumedBy(?c, ?y) :-
    exists(?y, ?s, ?d), isSubClass(?y), subProp(?r, ?s), subsumedBy(?e, ?d), related(?c, ?r, ?e) .
related(?c, ?s, ?e) :-
    subPropChain(?t, ?u, ?s), subProp(?q, ?t), subProp(?r, ?u),
    related(?c, ?q, ?d), related(?d, ?r, ?e) .
subsumedBy(?c, ?e) :- subsumedBy(?c, ?d), subClassOf(?d, ?e) .
subsumedBy(?c, 1) :- related(?c, _, ?d), subsumedBy(?d, 1) .
mainSubClassOf(?c, ?d) :- subsumedBy(?c, ?d), isMainClass(?c), isMainClass(?d) .
"""

ROLES = 40


def case(name: str, axioms: Axioms, singles: int, batch: int) -> Case:
    """The classification of an ontology whose axioms are tables in the order of `INPUTS`."""
    rows = tagged(*axioms.values())
    return Case(
        f"classification of {name}, {len(rows):,} axioms",
        "ontology",
        RULES,
        tuple(INPUTS),
        OUTPUTS,
        rows,
        *choose(rows, singles, batch),
        (THING, NOTHING),
        widths=tuple(INPUTS.values()),
    )


def read(folder: Path) -> Axioms:
    """The axioms of files, distinct; classes and properties as numbers, those of OWL first.

    Raises:
        AbsentError: A file is not there.
    """
    files = [(folder / f"{name}.csv.gz", width) for name, width in INPUTS.items()]
    owl = [f"<http://www.w3.org/2002/07/owl#{name}>" for name in ("Thing", "Nothing")]
    return dict(zip(INPUTS, fact_files.read(files, ",", owl), strict=True))


def made_up(classes: int, seed: int = 0) -> Axioms:
    """Axioms of a made-up medical ontology, by predicate.

    A class has a parent among the 200 before it, and a third of them another, more general one; one
    in six has a restriction as a parent, and one in twelve is a parent of one, or of a conjunction.
    """
    random = np.random.default_rng(seed)
    above, below = classes // 6, classes // 12
    sizes = [1 + NOTHING, classes, ROLES, above + below]
    class_, role, restriction, conjunction = np.cumsum(sizes)

    def some(part: int, among: int = classes) -> NDArray[np.int64]:
        return class_ + random.integers(0, among, classes // part)

    def roles(count: int) -> NDArray[np.int64]:
        return random.integers(role, role + ROLES, count)

    children = np.arange(1, classes)
    parents = random.integers(np.maximum(children - 200, 0), children)
    restrictions = restriction + np.arange(above + below)
    conjunctions = conjunction + np.arange(below)
    fillers = np.concatenate([some(6), some(12)])
    members = np.column_stack([some(12), some(12, classes // 10)])
    wider = np.eye(ROLES, dtype=bool)
    wider[tuple(random.integers(0, ROLES, (2, ROLES // 2)))] = True
    for _ in range(ROLES.bit_length()):
        wider |= wider @ wider
    tables = {
        "isMainClass": class_ + np.arange(classes)[:, None],
        "isSubClass": np.concatenate(
            [class_ + np.arange(classes), restrictions[above:], conjunctions]
        )[:, None],
        "conj": np.column_stack([conjunctions, members]),
        "exists": np.column_stack([restrictions, roles(above + below), fillers]),
        "subClassOf": np.concatenate(
            [
                np.column_stack([class_ + children, class_ + parents]),
                np.column_stack([some(3), some(3, classes // 10)]),
                np.column_stack([some(6), restrictions[:above]]),
                np.column_stack([restrictions[above:], some(12)]),
                np.column_stack([conjunctions, some(12)]),
            ]
        ),
        "subProp": role + np.argwhere(wider),
        "subPropChain": roles(3 * (ROLES // 8)).reshape(-1, 3),
    }
    return {name: np.unique(rows, axis=0).astype(np.int32) for name, rows in tables.items()}
