"""Rule sets, rules of shapes and triple terms on parts elsewhere, one triple at a time.

After each step, facts and multiplicities are those that evaluation from scratch has in one store.
With HYPOTHESIS_PROFILE=thorough, each case of rules of shapes is replayed.
"""

from __future__ import annotations

from functools import partial

import pyoxigraph
import pytest
from conformance.datasets import quad_row
from conformance.replay import replay
from shape_rule_cases import DATA, PREFIXES, SHAPES
from teams import store_elsewhere
from thorough import THOROUGH

from streamreasoner import Reasoner
from streamreasoner.program import check_text
from streamreasoner.program.checked import check_source

SOME = (
    "a condition about all values",
    "SPARQL that derives what is missing",
    "recursion",
)
RULE_SET = """
PREFIX ex: <http://example.org/>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
DATA { ex:a ex:part ex:d }
RULE { ?x ex:within ?z } WHERE { ?z ex:part ?x }
RULE { ?x ex:within ?z } WHERE { ?x ex:within/ex:within ?z }
RULE { ?x ex:loose true } WHERE { ?x ex:tag ?t NOT { ?x ex:within ?y . ?y ex:tag ?t } }
RULE { [] ex:of ?r ; rdf:reifies <<( ?r ex:area ?n )>> }
WHERE { ?r ex:width ?w ; ex:height ?h SET(?n := ?w * ?h) }
RULE { ?r ex:known ?n } WHERE { ?b rdf:reifies <<( ?r ex:area ?n )>> }
RULE { ?x ex:first ?y } WHERE DATA { ?x ex:also ?y NOT { ?y ex:part ?z } }
"""
RULES = """
@prefix ex: <http://example.org/> .
[?x, ex:says, <<( ?x ex:part ?y )>>] :- [?x, ex:part, ?y] .
[?x, ex:says, <<( ?x ex:part ?z )>>] :-
    [?x, ex:says, <<( ?x ex:part ?y )>>], [?y, ex:says, <<( ?y ex:part ?z )>>] .
[?x, ex:says, <<( ?y ex:says ?t )>>] :- [?x, ex:also, ?y], [?y, ex:says, ?t], [?y, ex:part, _] .
quiet(?x) :- [?x, ex:tag, _], not [_, ex:says, <<( _ _ ?x )>>] .
heard(?x, count(?o)) :- [?x, ex:says, <<( _ ex:says <<( _ _ ?o )>> )>>] .
"""


def check(program):
    """Replay the data on two parts."""
    rows = [quad_row(each) for each in pyoxigraph.parse(DATA, format=pyoxigraph.RdfFormat.TURTLE)]
    replay(lambda store: Reasoner(program, store=store), rows, "seed", partial(store_elsewhere, 2))


@pytest.mark.parametrize("name", SHAPES if THOROUGH else SOME)
def test_rules_of_shapes(name):
    """Conditions, paths, recursion and negation."""
    check(check_source(PREFIXES + SHAPES[name], "shapes.ttl"))


def test_a_rule_set():
    """Recursion, negation, new nodes, triple terms, and rules about the data alone."""
    check(check_source(RULE_SET, "rules.srl"))


def test_triple_terms():
    """Terms in terms are derived in a recursion, taken apart, negated and counted."""
    check(check_text(RULES))
