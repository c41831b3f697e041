"""Rules that rewrites change, and facts for them. Invariant: no tree is rewritten here."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from oracle.arithmetic import numeral
from thorough import THOROUGH

from streamreasoner.plan.lower.steps import STEPS, incomplete_expression
from streamreasoner.program import check_text

SOME = settings(max_examples=2000 if THOROUGH else 20)
"""Naive evaluation meets each row with each fact."""

HEADS = ("h(?x)", "h(?x, ?y)", "h(?y, 1 + 1)", "h(?x * 2, 3)", "h(?v, ?w)", "h(?x, 1 / (1 - 1))")
LITERALS = (
    "a(?x, ?y)",
    "a(?y, ?x)",
    "a(?x, ?x)",
    "a(?x, _)",
    "a(?y, ?z)",
    "a(?x, 2)",
    "a(1, ?y)",
    "a(?y, 1 + 1)",
    "a(?x, ?y + 1)",
    "b(?x)",
    "b(?z)",
    "b(_)",
    "b(3)",
    "b(?w + 1)",
    "not a(?x, _)",
    "not a(?y, ?x)",
    "not a(?x, 1 + 1)",
    "not b(?y)",
    "not b(?x + 1)",
    "?x < ?y",
    "?x != 2",
    "?y = 1 + 1",
    "?x + 1 > ?y",
    "1 < 2",
    "2 < 1 + 0",
    "1 / (1 - 1) < 3",
    "is_number(?x)",
    'not contains("ab", "b")',
)
FACTS = [("b", (numeral(x),)) for x in (1, 2, 3)]
FACTS += [("a", (numeral(x), numeral(y))) for x in (1, 2, 3) for y in (1, 2, 3)]


def by_predicate(facts):
    """Argument tuples by predicate."""
    present = defaultdict(list)
    for predicate, args in sorted(facts):
        present[predicate].append(args)
    return present


def texts(count):
    """Rules, the shortest first; equations come before what reads them, and after."""
    random = Random(0)
    found = set()
    for _ in range(count):
        body = random.choices(LITERALS, k=random.randrange(6))
        body.insert(random.randint(0, len(body)), "a(?x, ?y), ?v = ?x + 1, ?w = 2 * 1")
        found.add(f"{random.choice(HEADS)} :- {', '.join(body)} .")
    return sorted(found, key=lambda text: (len(text), text))


@lru_cache(maxsize=1000)
def rule(text):
    """The only rule of a program."""
    (only,) = check_text(text).rules
    return only


@lru_cache(maxsize=1000)
def lowered(text):
    """The tree of a rule after the last step of lowering, before all rewrites."""
    tree = incomplete_expression(rule(text))
    for step in STEPS.values():
        tree = step(tree)
    return tree


RULES = st.sampled_from(texts(2000 if THOROUGH else 150))
READ_BACK = RULES.filter(lambda text: "1 / (1 - 1)" not in text)
"""Those whose plans, printed, are read as rules again: a text may not divide by 0."""
TREES = RULES.map(lowered)
PRESENTS = st.sets(st.sampled_from(FACTS), max_size=8).map(by_predicate)
