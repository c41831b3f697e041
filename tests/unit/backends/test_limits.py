"""Programs at the limits of the kernels' tables run; programs beyond them are rejected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamreasoner import Reasoner, Update
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.engine.session import Store
from streamreasoner.engine.updates import MAX_MULTIPLICITY
from streamreasoner.errors import ProgramError
from streamreasoner.lang import limits
from streamreasoner.plan.program_plan import SEGMENT
from streamreasoner.program import check_text
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.value_columns import Values


def joined(items):
    """Comma-separated items."""
    return ", ".join(items)


def test_a_built_in_takes_as_many_arguments_as_fit():
    """All 250 arguments are used; one more is a diagnostic at its call."""
    text = "long(concat({})) :- name(?n) ."
    reasoner = Reasoner.from_rules(text.format(joined(["?n"] * 249 + ['"!"'])))
    reasoner.apply([Update("name", ("ab",))])

    assert reasoner.facts("long") == [("ab" * 249 + "!",)]
    with pytest.raises(ProgramError, match=r"<rules>:1:6: SR231 'concat' takes 1 to 250 arguments"):
        Reasoner.from_rules(text.format(joined(["?n"] * 251)))


@pytest.mark.parametrize(
    "text",
    [
        f"wide({joined(['?x'] * 251)}) :- n(?x) .",
        f"wide({joined(map(str, range(251)))}) .",
        "@input wide/251 .",
        f"h(?v0) :- a(?v0), {joined(f'b(?v{i}, ?v{i + 1})' for i in range(101))} .",
        f"h(?x0) :- n(?x0), {joined(f'?x{i + 1} = ?x{i} + 1' for i in range(251))}, m(?x251) .",
    ],
)
def test_programs_that_do_not_fit_are_rejected(text):
    """Wide predicates, used or not, long bodies and many variables are program errors."""
    with pytest.raises(ProgramError):
        Reasoner.from_rules(text)


def test_records_have_a_limit():
    """A predicate with too many lookups is rejected instead of written out of bounds."""
    width = 12
    names = [f"?x{i}" for i in range(width)]
    rules = "".join(
        f"h{number}(?y) :- k{number}({joined(keys)}), w({joined(names)}), v({names[0]}, ?y) .\n"
        for number in range(1, layout.MAX_RECORD + 20)
        if (keys := [name for i, name in enumerate(names) if number >> i & 1])
    )

    with pytest.raises(ProgramError, match=r"Rules look up 'w' by \d+ combinations"):
        Reasoner.from_rules(rules)


FIXED = (layout.SCRATCH, layout.ARGUMENTS, layout.FREE, layout.PENDING_ROWS, layout.PENDING_CELLS)
"""Fixed-size arrays that kernels write at offsets that depend on programs and facts."""
GUARD = 4096
MARK = 0x5A5A5A5A


def guarded(backend):
    """Move the fixed arrays of a backend in front of guard memory; returns the new arrays."""
    state, moved = backend._state, {}  # noqa: SLF001 - the test inspects memory
    for column in FIXED:
        array = state.column(column)
        moved[column] = np.full(len(array) + GUARD, MARK, array.dtype)
        moved[column][: len(array)] = array
        state.table[column] = moved[column].ctypes.data
    backend._builtins.arguments = moved[layout.ARGUMENTS]  # noqa: SLF001 - see above
    return moved


WIDE = [f"?x{i}" for i in range(250)]
MEASURED = f"wider({joined(WIDE[:249])})"
LIMITS = {
    "arguments of an atom": (
        f"wide({joined(WIDE)}) :- wider({joined(WIDE)}), n(?x0) .",
        [Update("wider", tuple(range(250))), Update("n", (0,))],
        ("wide", 1),
    ),
    "arguments of an atom without rules": (
        "@input wider/250 .",
        [Update("wider", (i, *range(249))) for i in range(300)],
        ("wider", 300),
    ),
    "arguments of a function": (
        f"most(max({joined(WIDE[:249])}, ?x0)) :- wider({joined(WIDE[:249])}, _) .",
        [Update("wider", tuple(range(250)))],
        ("most", 1),
    ),
    "arguments of a Python function": (
        f"node(skolem({joined(WIDE[:249])}, ?x0)) :- wider({joined(WIDE[:249])}, _) .",
        [Update("wider", tuple(range(250)))],
        ("node", 1),
    ),
    "variables": (
        f"last(?x124) :- n(?x0), {joined(f'?x{i + 1} = ?x{i} + 1' for i in range(124))} .",
        [Update("n", (0,))],
        ("last", 1),
    ),
    "body atoms": (
        f"end(?x100) :- {joined(f'e(?x{i}, ?x{i + 1})' for i in range(100))} .",
        [Update("e", (0, 0))],
        ("end", 1),
    ),
    "keys of groups": (
        (
            f"sums({joined(WIDE[:248])}, sum(?x248)) :- {MEASURED} .\n"
            f"best({joined(WIDE[:248])}, min(?x248)) :- {MEASURED} .\n"
            f"near({joined(WIDE[:249])}) :- {MEASURED}, best({joined(WIDE[:249])}) ."
        ),
        [Update("wider", (*range(248), i)) for i in range(3)],
        ("near", 1),
    ),
}


def test_the_kernels_have_the_limits_of_the_language():
    """Kernels compile these numbers in, so their folder defines them itself."""
    assert layout.MAX_ARITY == limits.ARGUMENTS
    assert layout.MAX_VARIABLES == limits.VARIABLES
    assert layout.MAX_STEPS == limits.ATOMS
    assert layout.MAX_MULTIPLICITY == MAX_MULTIPLICITY
    assert 1 << layout.SEGMENT_BITS == SEGMENT


@pytest.mark.parametrize("limit", LIMITS)
def test_kernels_stay_inside_their_arrays_at_the_limits(limit):
    """The largest accepted programs and facts do not write past the arrays."""
    text, updates, (predicate, count) = LIMITS[limit]
    dictionary = Dictionary()
    backends = []

    def backend(plan):
        backends.append(ColumnarBackend(plan, dictionary, Values(dictionary)))
        return backends[0]

    reasoner = Reasoner(check_text(text), store=Store(dictionary, backend))
    moved = guarded(backends[0])
    reasoner.apply(updates)

    assert len(reasoner.facts(predicate)) == count
    reasoner.apply([replace(update, multiplicity=-1) for update in updates])

    assert reasoner.facts(predicate) == []
    for array in moved.values():
        assert (array[-GUARD:] == MARK).all()
