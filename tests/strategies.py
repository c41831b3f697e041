"""Hypothesis strategies: programs, facts that match them, and epochs of updates.

Invariant: a program is a text that `check_text` accepts, and its fixpoint is small: terms come from
a fixed domain, rules have few variables, and what counts up is bounded. One integer is drawn for
each part of a rule and decoded digit by digit (`random_rules`). One scenario in four is a golden
program on random multiples of its own facts: dense graphs, long recursions, winners that change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import random_rules
from hypothesis import strategies as st
from oracle import holds
from oracle.expressions import assigned, term
from programs.cases import read_all

from streamreasoner.lang.ast import Aggregate, Atom, Call, Comparison, Constant, Negation, Wildcard
from streamreasoner.program import check_text

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
HEADER = f"@prefix ex: <{EX}> .\n"

DOMAIN = (
    f"<{EX}a>",
    f'"1"^^<{XSD}integer>',
    f"<{EX}b>",
    f'"2"^^<{XSD}integer>',
    '"x"',
    f'"1.0"^^<{XSD}decimal>',
    f'"3"^^<{XSD}integer>',
    f"<{EX}p>",
    f'"2.5E0"^^<{XSD}double>',
    f'"0"^^<{XSD}integer>',
    '"xB"@en',
    f'"0.5"^^<{XSD}decimal>',
    '"2"',
    "_:b",
    f'"1.0E0"^^<{XSD}double>',
    f'"2"^^<{XSD}short>',
    f'"true"^^<{XSD}boolean>',
    f"<{EX}c>",
    f'"2020-01-01"^^<{XSD}date>',
    f'"NaN"^^<{XSD}double>',
    f'"-INF"^^<{XSD}double>',
)
"""Canonical terms that facts are made of, of every kind; some are equal as values, not as terms."""

_CODE = st.integers(0, random_rules.MOST)
_BODY = st.lists(_CODE, min_size=1, max_size=3)
_FEATURES = st.lists(_CODE, max_size=2)
_SHAPE = st.integers(0, 15)
_LAYERS = st.integers(0, len(random_rules.LAYERS) - 1)
_PROGRAM_FACTS = st.lists(_CODE, max_size=2)


@st.composite
def programs(draw, *, most_rules=6):
    """Programs of the whole language in the house syntax, as text; they are stratified."""
    layers = random_rules.LAYERS[draw(_LAYERS)]
    rules = [
        random_rules.rule(
            layers,
            draw(_CODE),
            draw(_BODY),
            comparison=draw(_CODE),
            features=draw(_FEATURES),
            shape=draw(_SHAPE),
        )
        for _ in range(draw(st.integers(1, most_rules)))
    ]
    facts = [random_rules.fact(layers, code, DOMAIN) for code in draw(_PROGRAM_FACTS)]
    return HEADER + "".join(rules + facts)


@st.composite
def epochs(draw, pool, *, most_epochs=4, most_updates=12):
    """Epochs: lists of (predicate, args, multiplicity), in -3..3 and never 0; facts recur.

    Args:
        draw: Hypothesis's.
        pool: Lists of facts that come together, or one of them alone.
        most_epochs: Limit of the epochs.
        most_updates: Limit of the entries taken from the pool in an epoch.
    """
    code = st.integers(0, len(pool) * 4 * len(_MULTIPLICITIES) - 1)
    first = draw(st.lists(code, min_size=2, max_size=most_updates))
    others = draw(st.lists(st.lists(code, max_size=most_updates), max_size=most_epochs - 1))
    return [
        [update for each in codes for update in _updates(pool, each)] for codes in (first, *others)
    ]


@dataclass(frozen=True)
class Scenario:
    """A program and its epochs.

    Attributes:
        program: Its text.
        epochs: Per epoch the updates (predicate, args, multiplicity).
    """

    program: str
    epochs: list[list[tuple[str, tuple[str, ...], int]]]

    @property
    def checked(self):
        """The CheckedProgram."""
        return checked(self.program)


@st.composite
def generated(draw, *, most_rules=6, **limits):
    """A random program together with epochs of updates that match its rules."""
    program = draw(programs(most_rules=most_rules))
    size, start = draw(_DOMAIN_SIZE), draw(_DOMAIN_START)
    domain = (DOMAIN * 2)[start : start + size]
    bodies = _bodies(program)
    pool = [_facts(bodies, domain, code) for code in draw(_POOL)]
    return Scenario(program, draw(epochs(pool, **limits)))


@st.composite
def replayed(draw, **limits):
    """A golden program together with epochs of its own facts."""
    case = draw(st.sampled_from(_cases()))
    facts = list(dict.fromkeys((predicate, args) for predicate, args, _ in case.updates))
    pool = [[fact] for fact in facts]
    pool += [list(pair) for pair in pairwise(facts)]
    return Scenario(case.checked.program.text, draw(epochs(pool, **limits)))


def scenarios(*, most_rules=6, **limits):
    """A program and what happens to it; `limits` are those of `epochs`."""
    return st.one_of(*[generated(most_rules=most_rules, **limits)] * 3, replayed(**limits))


@lru_cache(maxsize=1)
def _cases():
    """The golden programs but those of packaged rulesets, which are large; lattices thrice."""
    cases = [case for case in read_all().values() if (case.folder / "program.dl").exists()]
    return cases + [case for case in cases if case.folder.name.startswith("lattice")] * 2


@lru_cache(maxsize=1000)
def checked(program):
    """`check_text(program)`, cached: a program is drawn and checked several times."""
    return check_text(program, "generated.dl")


def numbers(count):
    """The least non-negative integers, as terms."""
    return [f'"{number}"^^<{XSD}integer>' for number in range(count)]


def programs_of(declared, rules, **sizes):
    """Programs with some rules of a list; sizes are those of `st.lists`."""
    chosen = st.lists(st.sampled_from(rules), unique=True, **sizes)
    return chosen.map(lambda some: check_text("\n".join((declared, *some)), "generated.dl"))


def updates_of(predicates, terms):
    """Updates of binary predicates, each of which is as frequent as its letter."""
    args = st.tuples(*[st.sampled_from(terms)] * 2)
    multiplicities = st.sampled_from((1, 1, 1, -1, 2))
    return st.lists(st.tuples(st.sampled_from(predicates), args, multiplicities), max_size=14)


_MOST_BODIES = 24
_NAMES = ("x", "y", "z", "w")
_BODY_FACTS = st.integers(0, _MOST_BODIES * 5 ** (len(_NAMES) + 1) - 1)
_ATTEMPTS = 12
_STRIDE = 7  # coprime with the sizes of domains, so that all digits change
_POOL = st.lists(_BODY_FACTS, min_size=3, max_size=10)
_DOMAIN_SIZE = st.integers(2, 5)
_DOMAIN_START = st.integers(0, len(DOMAIN) - 1)
_MULTIPLICITIES = (1, 1, -1, 1, 2, 1, 1, -2, 1, 3, 1, -3)


@lru_cache(maxsize=1000)
def _bodies(program):
    """What facts are made for: (rule, atoms), with positive atoms, negated ones, and the head."""
    bodies = {}
    for rule in checked(program).rules:
        negated = [
            literal.atom
            for literal in rule.body
            if isinstance(literal, Negation) and isinstance(literal.atom, Atom)
        ]
        bodies[rule.atoms] = rule
        bodies[*rule.atoms, *negated] = rule
        bodies[rule.heads] = rule
    return [(rule, atoms) for atoms, rule in bodies.items()][:_MOST_BODIES]


def _facts(bodies, domain, code):
    """The atoms of one body under one substitution; every wildcard is the same term."""
    code, index = divmod(code, len(bodies))
    rule, atoms = bodies[index]
    # The first of a few substitutions that the conditions of the rule allow; else any.
    for attempt in range(_ATTEMPTS):
        bindings, rest = {}, code + attempt * _STRIDE
        for name in (*_NAMES, None):
            rest, digit = divmod(rest, len(domain))
            bindings[name] = domain[digit]
        if _allows(rule, bindings):
            break
    return [
        (atom.predicate, tuple(_term(rule, argument, bindings) for argument in atom.arguments))
        for atom in atoms
    ]


def _allows(rule, bindings):
    """Whether assignments have values, and comparisons and tests hold; negations may or may not."""
    complete = assigned(rule, bindings)
    return complete is not None and all(
        holds(literal, complete) for literal in rule.body if isinstance(literal, Comparison | Call)
    )


def _term(rule, argument, bindings):
    """What an argument is under a substitution, if it has a value; else some term."""
    if isinstance(argument, Constant):
        return argument.term
    if isinstance(argument, Wildcard):
        return bindings[None]
    operand = argument.arguments[0] if isinstance(argument, Aggregate) else argument
    try:
        value = term(operand, assigned(rule, bindings) or bindings)
    except KeyError:
        value = None
    return value or bindings[None]


def _updates(pool, code):
    """All facts of one substitution, or, half of the time, one of them."""
    code, index = divmod(code, len(pool))
    multiplicity, which = divmod(code, 4)
    facts = pool[index]
    chosen = facts if which < 2 else [facts[which % len(facts)]]
    return [(*fact, _MULTIPLICITIES[multiplicity]) for fact in chosen]
