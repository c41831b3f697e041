"""Arities: without a report, a program uses each predicate with one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.analysis.arity import arities, arity_clashes, unknown_signatures
from streamreasoner.lang.ast import ARITIES
from streamreasoner.lang.parser import parse

PLACES = (
    "@input {name}/{arity} .",
    "{atom} .",
    "{atom} :- e(?x) .",
    "h(?x) :- e(?x), {atom} .",
    "h(?x) :- e(?x), not {atom} .",
    "h(?x) :- (e(?x) | e(?x), {atom}) .",
)
USES = st.lists(
    st.tuples(
        st.sampled_from(("p", "q", *ARITIES)), st.integers(0, 4), st.sampled_from(PLACES)
    ),
    max_size=4,
)  # fmt: skip


def written(uses):
    """The program with these uses of predicates."""
    return parse(
        "\n".join(
            place.format(name=name, arity=arity, atom=f"{name}({', '.join(['?x'] * arity)})")
            for name, arity, place in uses
        )
    )


@given(USES, USES)
def test_a_predicate_has_the_arity_of_each_of_its_uses(uses, others):
    """In any place of any file, a use with another arity than the first is reported, once."""
    programs = [written(uses), written(others)]
    found = arities(programs)
    expected = [
        (file, line)
        for file, part in enumerate((uses, others))
        for line, (name, arity, _) in enumerate(part, start=1)
        if arity != found[name]
    ]
    # A clash names the place of the first use, which is the same for both.
    clashes = [*arity_clashes(programs)]

    assert sorted(clash.span.line for clash in clashes) == sorted(line for _, line in expected)
    assert {clash.code for clash in clashes} <= {"SR210"}
    assert {name for name, *_ in (*uses, *others)} <= found.keys()
    assert all(found.get(name, arity) == arity for name, arity in ARITIES.items())
    if not clashes:
        assert set(found.items()) >= {(name, arity) for name, arity, _ in (*uses, *others)}


@given(USES, st.sets(st.sampled_from(("p", "q", *ARITIES)), max_size=3))
def test_a_predicate_without_an_arity_is_reported(uses, outputs):
    """A directive may name a predicate alone, if another place of the program has its arity."""
    program = written(uses)
    declared = parse("".join(f"@output {name} .\n" for name in outputs))
    used = {name for name, *_ in uses} | ARITIES.keys()
    found = [*unknown_signatures([program, declared])]

    assert {item.code for item in found} <= {"SR211"}
    assert {item.message.split("'")[1] for item in found} == outputs - used
