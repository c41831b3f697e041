"""Proofs as text: every kind of step, and the limits."""

from __future__ import annotations

from rdflib import Namespace

from streamreasoner import Reasoner, Update
from streamreasoner.explain import Limits

EX = Namespace("http://example.org/")
HEADER = "@prefix ex: <http://example.org/> .\n"


def reasoner(rules, *facts):
    """A reasoner for rules, which start at line 2, and asserted (predicate, arguments...)."""
    started = Reasoner.from_rules(HEADER + rules)
    started.apply([Update(predicate, args) for predicate, *args in map(tuple, facts)])
    return started


def proof(rules, facts, fact, **limits):
    """The text of an explanation."""
    return reasoner(rules, *facts).explain(fact, limits=Limits(**limits)).text()


def test_a_chain_of_rules():
    """Each fact is followed by its rule, with file and line, and then by the rule's body."""
    rules = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
    facts = [("edge", EX.a, EX.b), ("edge", EX.b, EX.c), ("edge", EX.b, EX.c)]

    assert proof(rules, facts, "path(ex:a, ex:c)") == (
        "path(ex:a, ex:c)\n"
        "│ <rules>:3: path(?x, ?z) :- path(?x, ?y), edge(?y, ?z)\n"
        "├── path(ex:a, ex:b)\n"
        "│   │ <rules>:2: path(?x, ?y) :- edge(?x, ?y)\n"
        "│   └── edge(ex:a, ex:b)  asserted\n"
        "└── edge(ex:b, ex:c)  asserted 2 times\n"
    )


def test_a_derivation_that_is_needed_twice_is_shown_once():
    """The second occurrence refers to the first."""
    rules = "a(?x) :- b(?x), c(?x) .\nb(?x) :- d(?x) .\nc(?x) :- d(?x) .\nd(?x) :- e(?x) ."

    assert proof(rules, [("e", 1)], "a(1)") == (
        "a(1)\n"
        "│ <rules>:2: a(?x) :- b(?x), c(?x)\n"
        "├── b(1)\n"
        "│   │ <rules>:3: b(?x) :- d(?x)\n"
        "│   └── d(1)\n"
        "│       │ <rules>:5: d(?x) :- e(?x)\n"
        "│       └── e(1)  asserted\n"
        "└── c(1)\n"
        "    │ <rules>:4: c(?x) :- d(?x)\n"
        "    └── d(1)  (shown above)\n"
    )


def test_facts_of_the_program():
    """A stated fact is a leaf with its position; if it is asserted too, both are reported."""
    rules = "edge(ex:a, ex:b) .\nback(?y, ?x) :- edge(?x, ?y) ."

    assert proof(rules, [], "back(ex:b, ex:a)").endswith(
        "└── edge(ex:a, ex:b)  stated in <rules>:2\n"
    )
    assert proof(rules, [("edge", EX.a, EX.b)], "edge(ex:a, ex:b)") == (
        "edge(ex:a, ex:b)  stated in <rules>:2, asserted\n"
    )


def test_negation_conditions_and_computed_values():
    """Absent facts, values of expressions and comparisons are premises."""
    rules = (
        "cheap(?x, ?p * 2) :- item(?x, ?p), ?q = ?p + 1, not sold(?x, _), ?q + ?p < 10,"
        ' not contains(str(?x), "z") .'
    )

    assert proof(rules, [("item", EX.a, 3), ("sold", EX.b, 1)], "cheap(ex:a, 6)") == (
        "cheap(ex:a, 6)\n"
        "│ <rules>:2: cheap(?x, ?p * 2) :- item(?x, ?p), ?q = ?p + 1, not sold(?x, _),"
        ' ?q + ?p < 10, not contains(str(?x), "z")\n'
        "├── item(ex:a, 3)  asserted\n"
        "├── 3 + 1 = 4\n"
        "├── absent: not sold(ex:a, _)\n"
        "├── 4 + 3 = 7\n"
        "├── 7 < 10\n"
        '├── str(ex:a) = "http://example.org/a"\n'
        '├── not contains("http://example.org/a", "z")\n'
        "└── 3 * 2 = 6\n"
    )


def test_computed_arguments_of_atoms():
    """A computed argument is shown before the fact that it matches."""
    rules = "next(?x, ?y) :- at(?x, ?n), at(?y, ?n + 1) ."

    assert proof(rules, [("at", EX.a, 1), ("at", EX.b, 2)], "next(ex:a, ex:b)").endswith(
        "├── at(ex:a, 1)  asserted\n├── 1 + 1 = 2\n└── at(ex:b, 2)  asserted\n"
    )


def test_the_best_of_several_candidates():
    """A winner is shown with the number of candidates and the next best one."""
    rules = (
        "dist(ex:a, 0) .\ndist(?y, min(?d + ?w)) :- dist(?x, ?d), edge(?x, ?y, ?w) .\n"
        "far(max(?d)) :- dist(_, ?d) ."
    )
    edges = [("edge", EX.a, EX.b, 3), ("edge", EX.b, EX.c, 4), ("edge", EX.a, EX.c, 9)]

    assert proof(rules, edges, "dist(ex:c, 7)") == (
        "dist(ex:c, 7)\n"
        "│ <rules>:3: dist(?y, min(?d + ?w)) :- dist(?x, ?d), edge(?x, ?y, ?w)\n"
        "│ min of 2 candidates; the next is dist(ex:c, 9)\n"
        "├── dist(ex:b, 3)\n"
        "│   │ <rules>:3: dist(?y, min(?d + ?w)) :- dist(?x, ?d), edge(?x, ?y, ?w)\n"
        "│   ├── dist(ex:a, 0)  stated in <rules>:2\n"
        "│   ├── edge(ex:a, ex:b, 3)  asserted\n"
        "│   └── 0 + 3 = 3\n"
        "├── edge(ex:b, ex:c, 4)  asserted\n"
        "└── 3 + 4 = 7\n"
    )
    assert "│ max of 3 candidates; the next is far(3)\n" in proof(rules, edges, "far(7)")


def test_a_fact_that_outlives_what_held_it_up():
    """If a proof from present facts would be circular, it uses the facts that came before."""
    rules = "dist(1, 5) .\nreached(?x) :- dist(?x, _) .\ndist(?x, min(3)) :- reached(?x) ."

    assert proof(rules, [], "dist(1, 3)") == (
        "dist(1, 3)\n"
        "│ <rules>:4: dist(?x, min(3)) :- reached(?x)\n"
        "│ min of 2 candidates; the next is dist(1, 5)\n"
        "└── reached(1)\n"
        "    │ <rules>:3: reached(?x) :- dist(?x, _)\n"
        "    └── dist(1, 5)  (in iterations 0 to 1 only)  stated in <rules>:2\n"
    )


def test_what_lasts_is_preferred_to_what_came_first():
    """A derivation from present facts is preferred to an earlier one from a replaced winner."""
    rules = (
        "best(1, 5) .\nbest(?x, min(?y)) :- step(?x, ?y) .\nstep(?x, 3) :- from(?x) .\n"
        "from(?x) :- best(?x, _), start(?x) .\nfound(?x) :- best(?x, _) .\n"
        "from(?x) :- found(?x), never(?x) ."
    )
    text = proof(rules, [("start", 1)], "found(1)")

    assert text.splitlines()[2] == "└── best(1, 3)"


def test_aggregates_show_some_of_their_matches():
    """The first contributing matches are shown, and the number of the others."""
    rules = "cost(?x, sum(?n * ?p)) :- part(?x, ?y, ?n), price(?y, ?p) ."
    facts = [("part", EX.bike, EX.wheel, 2), ("part", EX.bike, EX.bell, 1)]
    facts += [("price", EX.wheel, 30), ("price", EX.bell, 5), ("price", EX.bell, "free")]

    assert proof(rules, facts, "cost(ex:bike, 65)", matches=1) == (
        "cost(ex:bike, 65)\n"
        "│ sum(?n * ?p) of 2 matches\n"
        "├── <rules>:2: cost(?x, sum(?n * ?p)) :- part(?x, ?y, ?n), price(?y, ?p)\n"
        "│   ├── part(ex:bike, ex:bell, 1)  asserted\n"
        "│   ├── price(ex:bell, 5)  asserted\n"
        "│   └── 1 * 5 = 5\n"
        "└── … and 1 more\n"
    )


def test_distinct_terms_are_counted_once():
    """`count(distinct)` shows one match for each term."""
    rules = "ends(count(distinct ?y)) :- edge(_, ?y) .\nall(count(?y), min(?y)) :- edge(_, ?y) ."
    edges = [("edge", 1, 2), ("edge", 3, 2), ("edge", 4, 5)]

    assert "count(distinct ?y) of 2 matches" in proof(rules, edges, "ends(2)")
    assert "count(?y), min(?y) of 3 matches" in proof(rules, edges, "all(3, 2)")


def test_limits_cut_what_is_farthest():
    """Limits of depth and size omit derivations, and mark where."""
    rules = "n(?y) :- n(?x), next(?x, ?y) ."
    facts = [("n", 0), *(("next", i, i + 1) for i in range(5))]
    started = reasoner(rules, *facts)
    by_depth = started.explain("n(5)", limits=Limits(depth=2))
    by_size = started.explain("n(5)", limits=Limits(size=2))

    assert by_depth.text() == by_size.text()
    assert by_depth.text() == (
        "n(5)\n"
        "│ <rules>:2: n(?y) :- n(?x), next(?x, ?y)\n"
        "├── n(4)\n"
        "│   │ <rules>:2: n(?y) :- n(?x), next(?x, ?y)\n"
        "│   ├── n(3)  … its derivation is cut off here\n"
        "│   └── next(3, 4)  asserted\n"
        "└── next(4, 5)  asserted\n"
    )
    assert "cut off" not in started.explain("n(5)", limits=Limits(depth=5)).text()


def test_a_proof_may_be_thousands_of_steps_high():
    """No code recurses over the height of a proof."""
    rules = "n(?y) :- n(?x), next(?x, ?y) ."
    facts = [("n", 0), *(("next", i, i + 1) for i in range(3000))]
    explanation = reasoner(rules, *facts).explain("n", 3000, limits=Limits(depth=None, size=None))

    assert len(explanation.content.steps) == 6001
    assert explanation.content.steps[0].iteration == 3000
    assert len(explanation.text().splitlines()) == 9001
    assert explanation.json()
    assert explanation.dot()


def test_a_fact_with_debts():
    """A derivation explains a fact that needs more than one, and the retractions are reported."""
    started = Reasoner.from_rules("p(?x) :- q(?x, _) .")
    started.apply([Update("p", (1,), -1), Update("q", (1, 1)), Update("q", (1, 2))])
    explanation = started.explain("p", 1)

    assert explanation.present
    assert explanation.content.steps[0].asserted == -1
    assert "\n│ retracted 1 time more than asserted, but other derivations keep it present\n" in (
        explanation.text()
    )


def test_triples_quads_and_predicates_without_arguments():
    """Facts in brackets and facts without arguments are explained like any other."""
    rules = (
        "[?x, a, ex:N] :- [?x, ex:p, ?y, ex:g] .\non() :- [_, a, ex:N] .\n"
        "off() :- [_, a, ex:N], not on() ."
    )
    started = reasoner(rules, ("quad", EX.a, EX.p, EX.b, EX.g))

    assert started.explain("[ex:a, a, ex:N]").text() == (
        "[ex:a, a, ex:N]\n"
        "│ <rules>:2: [?x, a, ex:N] :- [?x, ex:p, ?y, ex:g]\n"
        "└── [ex:a, ex:p, ex:b, ex:g]  asserted\n"
    )
    assert started.explain("on").text() == started.explain("on()").text()
    assert started.explain("on").present
    assert not started.explain("off").present
