"""Programs that copy facts along hierarchies, and epochs that change the facts and the hierarchies.

Some rules copy, and some read copies: at a class, at those that other facts tell, or at all. Edges
are facts, or derived, or copied themselves; there are cycles, and classes with several parents.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from hypothesis import strategies as st
from strategies import Scenario, checked

from streamreasoner.engine import cost_model
from streamreasoner.engine.inheritance import guess, outlook
from streamreasoner.errors import ProgramError

PREFIXES = """\
@prefix ex: <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@input in/2, part/2, in3/3, bad/1, listed/1, near/2 .
"""
COPYING = """\
[?x, a, ?c] :- [?x, a, ?b], [?b, rdfs:subClassOf, ?c] .
[?x, ?q, ?y] :- [?x, ?p, ?y], [?p, rdfs:subPropertyOf, ?q] .
[?x, a, ?c] :- [?x, a, ?b], [?b, ex:same, ?c] .
[?x, a, ?c] :- [?x, a, ?b], asserted [?b, ex:same, ?c] .
in(?x, ?s) :- in(?x, ?r), part(?r, ?s) .
in(?y, ?s) :- in(?x, ?s), near(?x, ?y) .
in3(?x, ?s, ?k) :- part(?r, ?s), in3(?x, ?r, ?k) .
""".splitlines()
OTHERS = """\
[?a, rdfs:subClassOf, ?c] :- [?a, rdfs:subClassOf, ?b], [?b, rdfs:subClassOf, ?c] .
[?a, rdfs:subPropertyOf, ?c] :- [?a, rdfs:subPropertyOf, ?b], [?b, rdfs:subPropertyOf, ?c] .
[?x, a, ?c] :- [?x, ?p, _], [?p, rdfs:domain, ?c] .
[?y, a, ?c] :- [_, ?p, ?y], [?p, rdfs:range, ?c] .
[?c, rdfs:subClassOf, ex:c0] :- [?c, a, ex:c3] .
[?x, a, ?d] :- [?x, ex:p, ?y], [?y, a, ?c], [?c, ex:some, ?d] .
[?x, a, ex:c2] :- [?x, ex:q, _] .
[?x, ex:p, ex:x0] :- [?x, a, ex:c1] .
[?x, ex:q, ?y] :- [?x, ex:p, ?y], not [?x, a, ex:c2] .
[?x, a, ex:c3] :- [?x, a, ex:c0], not [?x, a, ex:c1] .
[?x, ex:some, ?c] :- [?x, a, ?c], listed(?c), not [?x, ex:q, ?c] .
[?x, a, ?c] :- in(?x, ?c), not bad(?c) .
[?x, ?q, ?y] :- [?x, ex:p, ?y], in(?q, ?c), listed(?c) .
[?x, a, ?d] :- [?x, a, ?c], [?c, ex:some, ?d], not [?x, ?d, ?c] .
[ex:c1, a, ex:c2] .
part(?a, ?c) :- part(?a, ?b), part(?b, ?c) .
part(?a, ?b) :- near(?a, ?b) .
part(ex:c1, ex:c0) .
in(?x, ?c) :- in3(?x, ?c, _) .
in(?x, ?c) :- [?x, a, ?c], listed(?x) .
none(?x) :- [?x, ex:p, _], not [?x, a, ?c], bad(?c) .
outside(?x) :- in(?x, _), not in(?x, ex:c1) .
members(?c, count(?x)) :- [?x, a, ?c], listed(?c) .
inside(?c, count(?x)) :- in(?x, ?c), not listed(?c) .
risk(?x) :- [?x, a, ?c], bad(?c) .
pair(?x, ?c) :- in(?x, ?c), listed(?c), bad(?x) .
all(?x, ?c) :- [?x, a, ?c] .
least(?x, min(?c)) :- in(?x, ?c), bad(?x) .
two(?x) :- [?x, a, ex:c0], [?x, a, ex:c1] .
self(?x) :- [?x, a, ?x] .
""".splitlines()

_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_SUBCLASS, _SUBPROPERTY, _DOMAIN, _RANGE = (
    f"<http://www.w3.org/2000/01/rdf-schema#{name}>"
    for name in ("subClassOf", "subPropertyOf", "domain", "range")
)


def _terms(*names):
    return [f"<http://e/{name}>" for name in names]


_CLASSES, _THINGS = _terms("c0", "c1", "c2", "c3"), _terms("x0", "x1", "x2")
_PROPERTIES = _terms("p", "q", "some", "same")
_ENTITIES = [*_THINGS, *_CLASSES[:1]]
_SCHEMA = [*_PROPERTIES, _TYPE, _SUBCLASS, _SUBPROPERTY]
_SHAPES = (
    *[("triple", _ENTITIES, [_TYPE], _CLASSES)] * 3,
    *[("triple", _CLASSES, [_SUBCLASS], _CLASSES)] * 3,
    ("triple", _ENTITIES, _PROPERTIES, [*_THINGS, *_CLASSES]),
    ("triple", _CLASSES, _PROPERTIES, _CLASSES),
    ("triple", _PROPERTIES, [_SUBPROPERTY], _PROPERTIES),
    ("triple", _SCHEMA, [_SUBPROPERTY], _SCHEMA),
    ("triple", [*_PROPERTIES, _TYPE], [_DOMAIN, _RANGE], _CLASSES),
    *[("in", _ENTITIES, _CLASSES)] * 2,
    *[("part", _CLASSES, _CLASSES)] * 2,
    ("in3", _ENTITIES, _CLASSES, _THINGS),
    ("bad", [*_CLASSES, *_THINGS]),
    ("listed", [*_CLASSES, *_THINGS]),
    ("near", [*_CLASSES, *_THINGS], [*_CLASSES, *_THINGS]),
)
_MULTIPLICITIES = (1, 1, 1, 2, -1)


def programs():
    """Texts of programs that have strata."""
    copying = st.lists(st.sampled_from(COPYING), min_size=1, max_size=3, unique=True)
    others = st.lists(st.sampled_from(OTHERS), max_size=6, unique=True)
    texts = st.tuples(copying, others).map(lambda each: "\n".join((PREFIXES, *each[0], *each[1])))
    return texts.filter(_has_strata)


def _has_strata(text):
    try:
        checked(text)
    except ProgramError:
        return False
    return True


@st.composite
def _facts(draw):
    predicate, *arguments = draw(st.sampled_from(_SHAPES))
    return predicate, tuple(draw(st.sampled_from(each)) for each in arguments)


@st.composite
def scenarios(draw):
    """A program, and epochs of updates, many of them of the same facts."""
    facts = draw(st.lists(_facts(), min_size=3, max_size=16))
    updates = st.tuples(st.sampled_from(facts), st.sampled_from(_MULTIPLICITIES))
    epochs = draw(st.lists(st.lists(updates, max_size=8), min_size=1, max_size=4))
    first = [(*fact, 1) for fact in facts]
    return Scenario(
        draw(programs()),
        [first, *([(*fact, count) for fact, count in epoch] for epoch in epochs)],
    )


@contextmanager
def every_epoch_decides(part):
    """Epochs decide whether hierarchies are encoded, whatever their size, by all their entities.

    They are, if *part* of the facts would not be stored.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guess, "SHARE", 0)
        patch.setattr(outlook, "SAMPLED", 1)
        patch.setattr(cost_model, "PART", part)
        for module in (cost_model, outlook):
            patch.setattr(module, "ENOUGH", 1)
        patch.setattr(guess, "LARGE", 1)
        yield
