"""Goals: what is evaluated for a goal is what matches it of all consequences."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from driver import Driver
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rdflib import Literal, URIRef
from strategies import scenarios
from thorough import THOROUGH

from streamreasoner.api.asking.goals import Goals, GoalWork, Pays, facts_alone
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.backends.store import columnar
from streamreasoner.errors import DataError, ProgramError
from streamreasoner.explain import read_goal
from streamreasoner.facts import FactPattern, decode_rows, matching
from streamreasoner.lang.ast import NOWHERE, Constant, TripleTerm, Variable, Wildcard
from streamreasoner.program import check_text
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_terms import components

EX = "http://example.org/"
DEFAULT = Pays()
PAYS = st.sampled_from((DEFAULT, DEFAULT, Pays(rules=0), Pays(facts=1, part=0.0), Pays(kept=5)))


def goal_of(driver, number, mask):
    """A goal of one of the program's predicates, with terms of one of its facts or of the input."""
    names = sorted(driver.own)
    predicate = names[number % len(names)]
    args = driver.session.engine.facts(predicate)
    arity = driver.session.program.arities[predicate]
    if len(args):
        terms = driver.session.dictionary.decode(args[number // len(names) % len(args)]).to_pylist()
    else:
        terms = ["<http://example.org/a>"] * arity
    return FactPattern(predicate, tuple(argument(term, mask, at) for at, term in enumerate(terms)))


def argument(term, mask, at):
    """A term as it is, as a variable, as any, or as a pattern of a triple term."""
    if mask >> at & 1:
        return Constant(term, NOWHERE)
    if is_triple_term(term) and mask >> 6 & 1:
        subject, *parts = (argument(part, mask >> 1, at) for part in components(term))
        return TripleTerm(subject, *parts, NOWHERE)
    return Variable("x", NOWHERE) if mask >> 4 + at & 1 else Wildcard(NOWHERE)


def terms_of(session, args):
    """Rows of ids as a list of rows of terms, in order."""
    return sorted(decode_rows(args, session.dictionary, str))


class Asked:
    """A session that evaluates all of a program, and one that is asked for goals of it."""

    def __init__(self, program, pays=DEFAULT):
        self.program = program
        self.whole, self.facts = Driver(program), Driver(facts_alone(program))
        self.goals = Goals(self.facts.session, new_store=Driver.new_store or columnar, pays=pays)

    def apply(self, updates):
        """One epoch of both."""
        self.whole.run([updates])
        self.facts.run([updates])

    def check(self, goal):
        """A goal has the same answer in both."""
        session = self.whole.session
        present = session.engine.facts(goal.predicate)
        expected = present[matching(goal, present, session.dictionary)]
        found, dictionary = self.goals.answered(self.program, goal)
        assert sorted(decode_rows(found, dictionary, str)) == terms_of(session, expected)


@settings(max_examples=5_000 if THOROUGH else 60)
@given(
    scenarios(most_rules=6, most_epochs=4),
    st.lists(st.lists(st.tuples(st.integers(0, 2**12), st.integers(0, 255)), max_size=3)),
    PAYS,
)
def test_the_answer_of_a_goal_is_what_matches_it(scenario, goals, pays):
    """Of any program, goals and facts, also as these change and hide others between goals."""
    assume(not scenario.checked.expiries)
    asked = Asked(scenario.checked, pays)
    for epoch, chosen in zip(scenario.epochs, [*goals, *[[(0, 3)]] * 4], strict=False):
        asked.apply(epoch)
        for number, mask in chosen:
            asked.check(goal_of(asked.whole, number, mask))


PATHS = """
@prefix ex: <http://example.org/> .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""


def chain(count):
    """A reasoner without rules, with that many chains of three edges."""
    reasoner = Reasoner.from_rules("@input edge/2 .")
    names = [f"http://example.org/n{number}" for number in range(4 * count)]
    reasoner.apply_tables(
        {
            "edge": pa.table(
                {
                    "a0": [f"<{name}>" for at, name in enumerate(names) if at % 4 < 3],
                    "a1": [f"<{name}>" for at, name in enumerate(names) if at % 4 > 0],
                }
            )
        }
    )
    return reasoner


def test_a_goal_reads_what_it_needs():
    """A goal about one chain of many reads the edges of this chain, and no others."""
    reasoner = chain(5_000)
    found = reasoner.ask_goal("path(ex:n0, ?y)", PATHS)
    assert {str(target) for _, target in found} == {
        f"http://example.org/n{number}" for number in (1, 2, 3)
    }
    goals = Goals(reasoner.session)
    goal = read_goal("path(ex:n0, ?y)", goals.program_of(PATHS), {})
    goals.answered(goals.program_of(PATHS), goal)

    assert goals.work == GoalWork("", 3, 15_000)


def asked_again(reasoner, goal, rules):
    """The number of answers of a goal, and how many facts were read for it."""
    found = reasoner.ask_goal(goal, rules)
    return len(found), int(re.search("([0-9,]+) of", found.how)[1].replace(",", ""))


def test_the_next_goal_of_a_shape_reads_what_is_new():
    """What was read for a goal stays, and what epochs change between goals is followed."""
    reasoner = chain(5_000)
    edge = "edge", (URIRef(f"{EX}n2"), URIRef(f"{EX}n3"))

    assert asked_again(reasoner, "path(ex:n0, ?y)", PATHS) == (3, 3)
    assert asked_again(reasoner, "path(ex:n0, ?y)", PATHS) == (3, 0)
    assert asked_again(reasoner, "path(ex:n8, ?y)", PATHS) == (3, 3)

    reasoner.apply([Update(*edge, -1)])
    assert asked_again(reasoner, "path(ex:n0, ?y)", PATHS) == (2, 1)

    reasoner.apply([Update(*edge)])
    assert asked_again(reasoner, "path(ex:n0, ?y)", PATHS) == (3, 1)


def test_all_that_was_evaluated_for_a_goal_answers_the_next_ones():
    """A goal about everything needs all rules, whose consequences stay and follow the facts."""
    reasoner = chain(20_000)
    found = reasoner.ask_goal("path(?x, ?y)", PATHS)
    assert (len(found), asked_again(reasoner, "path(?x, ?y)", PATHS)) == (120_000, (120_000, 0))
    assert "demands more than" in found.how

    reasoner.apply([Update("edge", (URIRef(f"{EX}n0"), URIRef(f"{EX}n1")), -1)])
    assert asked_again(reasoner, "path(?x, ?y)", PATHS) == (119_997, 1)
    assert asked_again(reasoner, "path(ex:n0, ?y)", PATHS) == (0, 0)


def test_facts_that_were_sorted_for_goals_follow_changes():
    """Of all consequences, sorted once goals come without changes, and anew after a change."""
    asked = Asked(check_text(PATHS), Pays(rules=0))
    edges = [("edge", (f"<{EX}{at}>", f"<{EX}{at + 1}>"), 1) for at in range(5)]
    goals = [
        read_goal(text, asked.program, {"ex": EX})
        for text in ("path(ex:2, ?y)", "path(?x, ex:4)", "path(?x, ?x)", "path(ex:0, ex:5)")
    ]
    for updates in (edges[:4], edges[4:], [(*edges[2][:2], -1)]):
        asked.apply(updates)
        for goal in (*goals, *goals):
            asked.check(goal)
            assert "planning" in asked.goals.work.reason


def test_a_large_change_between_goals_is_followed():
    """Where epochs touch too much to be noted, or the rules change, the facts are read anew."""
    reasoner = chain(10)
    assert len(reasoner.ask_goal("path(ex:n0, ?y)", PATHS)) == 3
    names = [f"<{EX}n{number}>" for number in range(40, 20_040)]
    table = pa.table({"a0": [f"<{EX}n3>"] * len(names), "a1": names})
    reasoner.apply_tables({"edge": table})
    assert len(reasoner.ask_goal("path(ex:n0, ex:n20039)", PATHS)) == 1
    assert len(reasoner.ask_goal("path(ex:n0, ?y)", PATHS)) == 20_003
    reasoner.apply_tables(
        {"edge": table.append_column("multiplicity", pa.array([-1] * len(names)))}
    )
    assert len(reasoner.ask_goal("path(ex:n0, ?y)", PATHS)) == 3
    reasoner.add_rules(f"edge(<{EX}n3>, <{EX}m>) .")
    assert len(reasoner.ask_goal("path(ex:n0, ?y)", PATHS)) == 4
    assert len(reasoner.ask_goal("far(ex:n0, ?y)", f"{PATHS} far(?x, ?y) :- path(?x, ?y) .")) == 4


def test_what_is_retracted_more_often_than_asserted_hides_what_rules_derive():
    """Then all rules are evaluated, and it is said; facts that no rule derives hide nothing."""
    reasoner = Reasoner.from_rules("@input edge/2, path/2 .")

    def update(name, at, to, times):
        return Update(name, (URIRef(EX + at), URIRef(EX + to)), times)

    reasoner.apply(
        [update("edge", "a", "b", 1), update("edge", "b", "c", 1), update("edge", "c", "d", -1)]
    )
    assert "needs was evaluated" in reasoner.ask_goal("path(ex:a, ?y)", PATHS).how

    reasoner.apply([update("path", "a", "b", -1)])
    found = reasoner.ask_goal("path(ex:a, ?y)", PATHS)
    assert not found
    assert "retracted more often than asserted" in found.how

    reasoner.apply([update("path", "a", "b", 1)])
    found = reasoner.ask_goal("path(ex:a, ?y)", PATHS)
    assert (len(found), "needs was evaluated" in found.how) == (2, True)


def test_facts_that_come_twice_in_one_round_count_once():
    """A fact that two patterns name, or that rules state, too, leaves when it is retracted."""
    rules = """@prefix ex: <http://example.org/> .
        edge(ex:s, ex:t) .
        near(?x) :- edge(?x, _), not edge(_, ?x) . near(?x) :- edge(?x, ?y), not edge(?y, ?y) .
    """
    reasoner = Reasoner.from_rules("@input edge/2 .")
    loop, stated = (("edge", (URIRef(EX + at), URIRef(EX + to))) for at, to in ("aa", "st"))
    reasoner.apply([Update(*loop), Update(*stated)])
    assert len(reasoner.ask_goal("near(?x)", rules)) == 1
    reasoner.apply([Update(*loop, -1), Update(*stated, -1)])
    assert len(reasoner.ask_goal("near(?x)", rules)) == 1
    reasoner.apply([Update("edge", (URIRef(f"{EX}a"), URIRef(f"{EX}b")))])
    assert len(reasoner.ask_goal("near(?x)", rules)) == 2


def test_rules_of_a_file_are_read_again_when_it_changes(tmp_path):
    """A goal is of the rules as they are, those that a file imports included."""
    (tmp_path / "paths.dl").write_text(PATHS)
    (tmp_path / "main.dl").write_text('@import "paths.dl" .')
    reasoner = chain(1)
    assert len(reasoner.ask_goal(f"path(<{EX}n0>, ?y)", tmp_path / "main.dl")) == 3
    (tmp_path / "paths.dl").write_text("path(?x, ?y) :- edge(?x, ?y) .")
    assert len(reasoner.ask_goal(f"path(<{EX}n0>, ?y)", tmp_path / "main.dl")) == 1


def test_a_goal_takes_triple_terms_apart():
    """Its variables and constants may be inside triple terms, at any depth."""
    rules = """@prefix ex: <http://example.org/> .
        said(?x, <<( ?s ex:p <<( ?s ex:q ?o )>> )>>) :- says(?x, ?s, ?o) .
    """
    reasoner = Reasoner.from_rules(
        "@prefix ex: <http://example.org/> . @input says/3 ."
        'says(ex:a, ex:b, ex:c) . says(ex:b, ex:b, ex:b) . says(ex:c, _:n, "1"@en) .'
    )
    for goal, count in (
        ("said(?x, <<( ex:b ?p ?o )>>)", 2),
        ("said(?x, <<( ?x ?p <<( ?x _ ?x )>> )>>)", 1),
        ("said(ex:a, <<( ?s ex:p <<( ex:b ex:q ?o )>> )>>)", 1),
        ("said(ex:a, <<( ex:b ex:p <<( ex:b ex:q ex:c )>> )>>)", 1),
        ('said(_, <<( _ _ <<( _ ex:q "1"@en )>> )>>)', 1),
        ("said(ex:a, <<( ?s ex:q ?o )>>)", 0),
    ):
        assert len(reasoner.ask_goal(goal, rules)) == count, goal


def test_a_goal_without_rules_is_of_the_present_facts():
    """The reasoner's own facts, derived ones too, are selected; nothing is added to it."""
    reasoner = Reasoner.from_rules(f"{PATHS} edge(ex:a, ex:b) . edge(ex:b, ex:c) .")
    assert len(reasoner.ask_goal("path(ex:a, ?y)")) == 2
    assert len(reasoner.ask_goal("path")) == 3
    assert reasoner.ask_goal("path(ex:none, _)").to_arrow().num_rows == 0


def test_a_wrong_goal_is_refused_by_name():
    """Unknown predicates, wrong arities, expressions and several atoms are shown with a caret."""
    reasoner = chain(1)
    for goal, code in (
        ("pathh(ex:a, ?y)", "SR211"),
        ("path(ex:a)", "SR210"),
        ("path(1 + 1, ?y)", "SR107"),
        ("path(ex:a, ?y) . path(ex:b, ?y)", "SR101"),
    ):
        with pytest.raises(ProgramError, match=code):
            reasoner.ask_goal(goal, PATHS)
    with pytest.raises(DataError, match="'edge' has 2 arguments"):
        reasoner.ask_goal("far(?x)", "far(?x) :- edge(?x, _, _) .")


def test_a_goal_compares_terms_where_rules_assign_them():
    """A goal about 1 is not answered by a rule that computes 1.0, and equal values are joined."""
    stated = "q(2.5) . q(1.0) . s(1) . s(1.0) . s(2) ."
    rules = "p(?v) :- q(?x), ?v = ?x % 2 . r(?z) :- q(?x), s(?z), ?x = ?z . u(?z) :- r(?z) ."
    facts = Reasoner.from_rules(f"@input q/1, s/1 . {stated}")
    whole = Reasoner.from_rules(f"{rules} {stated}")
    for goal in ("p(0.5)", "p(5.0e-1)", "p(1)", "p(1.0)", "u(?x)", "u(1)", "u(1.0e0)"):
        assert {*facts.ask_goal(goal, rules)} == {*whole.ask_goal(goal)}, goal
    assert len(facts.ask_goal("u(?x)", rules).to_arrow()) == 2


def test_demands_make_no_terms_without_end():
    """A recursive rule reads a triple term of what is demanded; its demand does not nest it."""
    rules = """@prefix ex: <http://example.org/> .
        p(?y, ?x) :- p(<<( ?x ex:p ?y )>>, ?x), p(?y, ?x) .
        q(?y, ?x) :- p(?y, ?x), r(<<( ?x ex:p ?y )>>) .
    """
    facts = Reasoner.from_rules("""@prefix ex: <http://example.org/> . @input p/2, r/1 .
        p(ex:a, ex:b) . p(<<( ex:b ex:p ex:a )>>, ex:b) . r(<<( ex:b ex:p ex:a )>>) .
    """)
    assert len(facts.ask_goal("p(ex:a, ex:b)", rules)) == 1
    assert len(facts.ask_goal("p(ex:b, ex:a)", rules)) == 0
    assert len(facts.ask_goal("q(?x, ex:b)", rules)) == 1


def test_goals_find_the_nodes_that_rules_make():
    """A node made for a solution is the same for a goal as in all consequences."""
    rules = """@prefix ex: <http://example.org/> .
        [?x, ex:has, ?n], [?n, ex:of, ?y] :- p(?x, ?y), ?n = skolem("r", ?x, ?y) .
        [?x, ex:deep, ?z] :- [?x, ex:has, ?n], [?n, ex:of, ?z], not p(?z, ?z) .
        c(?x, count(?n)) :- [?x, ex:has, ?n] .
    """
    stated = '@prefix ex: <http://example.org/> . p(ex:a, "b"@en) . p(ex:a, _:b) . p(_:b, _:b) .'
    facts, whole = (
        Reasoner.from_rules(f"@input p/2 . {stated}"),
        Reasoner.from_rules(rules + stated),
    )
    [(node,)] = {node[:1] for node in whole.facts() if node[2:] == (Literal("b", "en"),)} - {
        (URIRef(f"{EX}a"),)
    }
    for goal in (
        "[ex:a, ?p, ?o]",
        "[_:b, ex:has, ?n]",
        '[?n, ex:of, "b"@en]',
        '[?x, ?p, "b"@en]',
        f"[_:{node}, ?p, ?o]",
        f"[?x, ?p, _:{node}]",
        "c(?x, 2)",
    ):
        expected = {*whole.ask_goal(goal)}
        assert expected, goal
        assert {*facts.ask_goal(goal, rules)} == expected, goal
