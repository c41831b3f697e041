"""New nodes of rules: one for each solution, the same wherever and whenever it is derived."""

from __future__ import annotations

from driver import Driver

from streamreasoner.program import check_text
from streamreasoner.rdf.term_kind import is_blank_node
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.rdf.triple_terms import components

PARTS = 'part(?x, blank("p")), sized(blank("p"), blank("q")) :- thing(?x, ?n) .'


def rows(driver, predicate):
    """The arguments of the present facts of a predicate."""
    return {arguments for _, arguments in driver.closure([predicate])}


def derived(rules, *things):
    """A driver that has applied facts of `thing`."""
    driver = Driver(check_text(rules))
    driver.apply(facts(1, *things))
    return driver


def facts(times, *things):
    """Updates of `thing`."""
    return [("thing", tuple(map(to_ntriples, each)), times) for each in things]


def test_a_label_is_one_node_in_all_heads_of_a_solution():
    """Each solution has nodes of its own, of which another label is another one."""
    driver = derived(PARTS, ("a", 1), ("a", 2), ("b", 1))
    parts, sized = rows(driver, "part"), rows(driver, "sized")

    assert len(parts) == len({node for _, node in parts}) == 3
    assert {first for first, _ in sized} == {node for _, node in parts}
    assert all(map(is_blank_node, {node for row in sized for node in row}))
    assert len({node for row in sized for node in row}) == 6


def test_a_solution_that_returns_has_its_node_again():
    """A node depends on the rule and the solution, not on when it is derived."""
    driver = derived(PARTS, ("a", 1))
    before = rows(driver, "part")
    driver.apply(facts(-1, ("a", 1)))
    driver.apply(facts(1, ("a", 1), ("b", 2)))

    assert before < rows(driver, "part")
    assert rows(derived(PARTS, ("a", 1)), "part") == before


def test_rules_have_nodes_of_their_own():
    """The same label in two rules is two nodes."""
    driver = derived('a(blank("x")) :- thing(?x, _) . b(blank("x")) :- thing(?x, _) .', ("a", 1))

    assert not rows(driver, "a") & rows(driver, "b")


def test_alternatives_with_the_same_variables_are_the_same_solutions():
    """A solution that two alternatives have is one; those that bind other variables are others."""
    same = derived('a(blank("x")) :- thing(?x, ?n), (?n > 0 | ?n < 5) .', ("a", 1))
    others = derived('a(blank("x")) :- (thing(?x, _) | thing(?y, _)) .', ("a", 1))

    assert len(rows(same, "a")) == 1
    assert len(rows(others, "a")) == 2


def test_what_braces_count_is_no_variable_of_a_solution():
    """A node stays when only a count that the rule does not name changes."""
    rule = 'a(?x, blank("x")) :- thing(?x, 1), count() { thing(?x, ?m) } > 0 .'
    driver = derived(rule, ("a", 1))
    before = rows(driver, "a")
    driver.apply(facts(1, ("a", 2)))

    assert rows(driver, "a") == before


def test_a_fact_with_a_node_has_one():
    """Without a body there is one solution, and a triple term may have its node."""
    driver = derived('a(<<( blank("x") <urn:p> blank("y") )>>, blank("x")) .')
    ((term, node),) = rows(driver, "a")

    assert components(term)[0] == node != components(term)[2]


def test_nodes_of_triple_terms_of_nodes_end():
    """A node of a triple term of nodes is one level deeper, and there are 16 levels."""
    rules = """
    a(skolem(?x), 1) :- thing(?x, 1) .
    a(skolem(<<( ?x <urn:p> ?x )>>), 1) :- a(?x, 1) .
    """

    assert len(rows(derived(rules, ("a", 1)), "a")) == 16
