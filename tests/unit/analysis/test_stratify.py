"""Dependencies between atoms, and the resulting strata."""

from __future__ import annotations

import pytest

from streamreasoner.analysis.strata import flows, stratify
from streamreasoner.analysis.strata.dependency import Through, dependencies, unifies
from streamreasoner.analysis.strata.stratify import decided_strata, strata, unstratifiable
from streamreasoner.lang.constants import RDF_TYPE
from streamreasoner.lang.normal_form import normal_form
from streamreasoner.lang.parser import parse
from streamreasoner.program import check_text

EX = "@prefix ex: <http://example.org/> .\n"


def rules(text):
    """Rules of a text in normal form, unchecked."""
    return [part for rule in parse(EX + text).rules for part in normal_form(rule)]


def layers(text):
    """The strata of a text, unchecked."""
    return strata(dependencies(rules(text)))


def refused(text):
    """Codes of the errors of stratification."""
    parts = rules(text)
    bodies = [part for part in parts if part.body]
    facts = [part.head for part in parts if not part.body]
    graph = dependencies(bodies)
    found = unstratifiable(bodies, graph, decided_strata(bodies, graph), {}, facts)
    return [item.code for item in found]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("p(?x, ?y)", "p(?y, ?x)", True),
        ("p(?x, ?x)", "p(ex:a, ex:b)", True),
        ("p(?x, ?x)", "p(ex:a, ex:a)", True),
        ("p(?x, ?x, ex:a)", "p(?y, ex:b, ex:b)", False),
        ("p(?x, ?x, ex:a)", "p(?y, ?z, ?y)", True),
        ("p(?x, ?y, ?x, ?y)", "p(ex:a, ?z, ?z, ex:b)", True),
        ("p(_, _)", "p(ex:a, ex:b)", True),
        ("p(1)", 'p("1")', False),
        ("p(1)", "p(01)", False),
        ("p(?x)", "q(?x)", False),
        ("p(?x)", "p(?x, ?y)", False),
        ("p()", "p()", True),
        ("p(?x, count(?y))", "p(ex:a, 5)", True),
        ("[?x, a, ex:A]", "[?x, a, ?c]", True),
        ("[?x, a, ex:A]", "[?x, a, ex:B]", False),
        ("[?x, ?p, ?y]", "[?x, a, ex:B]", True),
    ],
)
def test_atoms_unify_iff_their_constants_agree(first, second, expected):
    """Only differing constants separate atoms; variables do not, not even repeated ones."""
    one, other = (parse(f"{EX}{text} .").rules[0].head for text in (first, second))

    assert unifies(one, other) is expected
    assert unifies(other, one) is expected


def test_strata_are_in_dependency_order():
    """A stratum comes after those that it depends on, whatever the order of the text."""
    text = """
        top(?x) :- path(?x, ?x) .
        path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .
        path(?x, ?y) :- edge(?x, ?y) .
        edge(?x, ?y) :- road(?x, ?y) .
    """

    assert layers(text) == ((3,), (1, 2), (0,))


def test_mutual_recursion_is_one_stratum():
    """Mutually dependent rules share a stratum."""
    text = """
        odd(?y)  :- even(?x), next(?x, ?y) .
        even(?y) :- odd(?x), next(?x, ?y) .
        even(?x) :- zero(?x) .
    """

    assert layers(text) == ((0, 1, 2),)


def test_rules_that_derive_a_common_fact_are_in_one_stratum():
    """A fact belongs to exactly one stratum, even if nothing is recursive."""
    assert layers("[?x, a, ?c] :- k(?x, ?c) .\n[?x, ?p, ex:C] :- l(?x, ?p) .") == ((0, 1),)
    assert layers("[?x, a, ex:B] :- k(?x) .\n[?x, a, ex:C] :- l(?x) .") == ((0,), (1,))


def test_triples_with_different_constants_stay_apart():
    """A negation over triples is not a cycle unless a head unifies with the negated atom."""
    lonely = "[?x, a, ex:Lonely] :- [?x, a, ex:Person], not [?x, ex:knows, _] .\n"

    assert refused(lonely) == []
    assert layers(lonely) == ((0,),)
    assert refused(lonely + "[?x, a, ex:Person] :- [?x, a, ex:Student] .") == []
    assert layers(lonely + "[?x, a, ex:Person] :- [?x, a, ex:Student] .") == ((1,), (0,))


def test_a_variable_predicate_or_class_can_close_a_cycle():
    """A head that unifies with a negated atom of its rule is refused, unless facts decide."""
    lonely = "[?x, a, ex:Lonely] :- [?x, a, ex:Person], not [?x, ex:knows, _] .\n"
    idle = "[?x, a, ex:Idle] :- [?x, a, ex:Person], not [?x, a, ex:Employed] .\n"
    sub = lonely + "[?x, ?q, ?y] :- [?x, ?p, ?y], [?p, ex:sub, ?q] .\n"
    kinds = idle + "[?x, a, ?c] :- [?x, a, ?d], [?d, ex:isA, ?c] .\n"

    assert refused(sub) == refused(kinds) == []
    assert refused(sub + "[ex:knows, ex:sub, ex:likes] .") == []
    assert refused(sub + f"[{RDF_TYPE}, ex:sub, ex:knows] .") == ["SR301"]
    counted = "[?x, ex:n, count(?y)] :- owns(?x, ?y), not [?x, ex:knows, _] .\n"
    assert refused(sub + counted) == ["SR301"]
    assert refused(kinds + "[ex:Employed, ex:isA, ex:Idle] .") == []
    assert refused(kinds + "[ex:Idle, ex:isA, ex:Employed] .") == ["SR301"]
    assert refused(lonely + "[?x, ?p, ?y] :- [?x, ex:same, ?z], [?z, ?p, ?y] .") == []
    assert refused(lonely + "[?x, ?p, ?y] :- [?x, ?q, ?y], [?x, ?p, _] .") == ["SR301"]
    assert refused(sub + "[?p, ex:sub, ?q] :- [?p, a, ex:Lonely], [?q, a, ex:Lonely] .") == [
        "SR301"
    ]
    assert refused(idle + "[?x, ex:kind, ?c] :- [?x, a, ?c] .") == []


def test_what_segments_and_plans_have_no_room_for_is_refused(monkeypatch):
    """Each negated atom that the schema decides may need a segment, and is waited for."""
    sub = "[?x, ?q, ?y] :- [?x, ?p, ?y], [?p, ex:sub, ?q] .\n"
    negated = [f"not [?x, ex:n{number}, _]" for number in range(50)]

    def alone(count):
        return "".join(f"[?x, ex:a, 1] :- b(?x), {each} .\n" for each in negated[:count])

    assert refused(sub + f"[?x, ex:a, 1] :- b(?x), {', '.join(negated[:49])} .") == []
    assert refused(sub + f"[?x, ex:a, 1] :- b(?x), {', '.join(negated)} .") == ["SR208"]
    monkeypatch.setattr(flows, "MOST_GUARDS", 3)
    monkeypatch.setattr(stratify, "MOST_GUARDS", 3)
    assert refused(sub + alone(3)) == []
    assert refused(sub + alone(4)) == ["SR208"]


def test_negation_below_is_no_cycle():
    """Negation of a predicate of a lower stratum is stratified."""
    assert refused("a(?x) :- n(?x), not b(?x) .\nb(?x) :- c(?x), not d(?x) .") == []


def test_only_min_and_max_may_be_recursive():
    """All other aggregates need a complete group."""
    assert refused("d(?y, min(?n)) :- d(?x, ?n), edge(?x, ?y) .") == []
    assert refused("d(?y, sum(?n)) :- d(?x, ?n), edge(?x, ?y) .") == ["SR302"]
    assert refused("d(?y, sum(?n)) :- e(?y, ?n) .\nd(?y, 0) :- node(?y) .") == []
    assert refused("d(?y, min(?n), max(?n)) :- d(?y, ?n, _) .") == ["SR302"]
    assert refused("d(?y, min(?n)) :- d(?x, ?n), not d(?y, ?x) .") == ["SR301"]


def test_the_kinds_of_dependency_are_told_apart():
    """Each dependency has the atom and its kind."""
    graph = dependencies(rules("a(?x) :- b(?x), not c(?x) .\nb(1) :- d() .\nc(?x) :- b(?x) ."))

    assert [(edge.on, edge.through) for edge in graph[0]] == [
        (1, Through.ATOM),
        (2, Through.NEGATION),
    ]


def test_long_chains_do_not_exhaust_the_stack():
    """A chain of thousands of dependent rules gives as many strata."""
    text = "".join(f"p{i}(?x) :- p{i + 1}(?x) .\n" for i in range(3000))
    found = check_text(text).strata

    assert found == tuple((index,) for index in reversed(range(3000)))
