"""Hypothesis strategies: random programs, facts that match them, and epochs of updates.

Invariant: a program is a text that `check_text` accepts, and its fixpoint is small: terms come from
a fixed domain, rules have at most three variables. One integer is drawn per atom or fact and
decoded digit by digit, which is fast and shrinks towards few variables and small indexes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hypothesis import strategies as st

from streamreasoner.analysis import check_text
from streamreasoner.lang.ast import TRIPLE, Constant, Variable

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
HEADER = f"@prefix ex: <{EX}> .\n"

DOMAIN = (
    f"<{EX}a>",
    f"<{EX}b>",
    f'"1"^^<{XSD}integer>',
    f"<{EX}c>",
    f'"1.0"^^<{XSD}decimal>',
    '"x"',
    f'"2"^^<{XSD}integer>',
    f'"2.5E0"^^<{XSD}double>',
    f"<{EX}p>",
)
"""Canonical terms that facts are made of; two of them are equal as values and not as terms."""

_TRIPLE = (TRIPLE, 3)
_EDGE, _PATH, _NODE, _T, _U, _ON = (
    ("edge", 2),
    ("path", 2),
    ("node", 1),
    ("t", 3),
    ("u", 4),
    ("on", 0),
)
# Few predicates a program: more rules that feed each other, and themselves.
_VOCABULARIES = (
    (_EDGE, _PATH),
    (_TRIPLE,),
    (_EDGE, _PATH, _NODE),
    (_TRIPLE, _PATH),
    (_PATH,),
    (_T, _PATH),
    (_EDGE, _PATH, _ON),
    (_TRIPLE, _NODE),
    (_U, _PATH, _NODE),
    (_TRIPLE, _T, _EDGE),
    (_U, _T),
    (_TRIPLE, _EDGE, _PATH, _NODE, _T, _U, _ON),
)
_VARIABLES = ("?x", "?y", "?z")
_ORDERS = ((0, 1, 2), (1, 2, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0))
_OTHER = ("_", "ex:a", "_", "1", "?x", '"x"', "?y", "ex:b")
_VERBS = ("ex:p", "ex:q", "ex:p", "a", "_", "ex:p", "?y", "?x", "ex:q", "?z")
_HEAD_VERBS = ("ex:p", "ex:q", "ex:p", "a", "ex:p", "?y", "?x", "ex:q", "?z", "ex:q")
_HEAD_CONSTANTS = ("ex:a", "1")
_OPERATORS = ("!=", "=", "<", "<=", ">", ">=")
_VALUES = ("1", "2", "1.5", "1e0", '"x"')
_TERMS = ("ex:a", "ex:b", "1.0", '"x"')

# An atom is one integer: predicate, order of variables, then a digit for each argument.
_DIGIT = 24
_ATOM = st.integers(0, 7 * len(_ORDERS) * _DIGIT**4 - 1)
_BODY = st.lists(_ATOM, min_size=1, max_size=3)
_COMPARISON = st.integers(0, 3 * 6 * 8 * 5 - 1)
_SHAPE = st.integers(0, 15)
_VOCABULARY = st.integers(0, len(_VOCABULARIES) - 1)


@st.composite
def programs(draw, *, most_rules=6):
    """Positive programs in the house syntax, as text: recursion, constants, wildcards, filters."""
    predicates = _VOCABULARIES[draw(_VOCABULARY)]
    count = draw(st.integers(1, most_rules))
    return HEADER + "".join(_rule(draw, predicates) for _ in range(count))


@st.composite
def facts(draw, program):
    """Facts (predicate, canonical terms) that match one rule body of the program text together."""
    return _facts(_bodies(program), DOMAIN, draw(_BODY_FACTS))


@st.composite
def epochs(draw, program, *, most_epochs=4, most_updates=12):
    """Epochs: lists of (predicate, args, multiplicity), in -3..3 and never 0; facts recur."""
    size, start = draw(_DOMAIN_SIZE), draw(_DOMAIN_START)
    domain = (DOMAIN * 2)[start : start + size]
    bodies = _bodies(program)
    pool = [_facts(bodies, domain, code) for code in draw(_POOL)]
    code = st.integers(0, len(pool) * 4 * len(_MULTIPLICITIES) - 1)
    epoch = st.lists(code, max_size=most_updates)
    return [
        [update for code in codes for update in _updates(pool, code)]
        for codes in draw(st.lists(epoch, min_size=1, max_size=most_epochs))
    ]


@dataclass(frozen=True)
class Scenario:
    """A program and what happens to it.

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
def scenarios(draw, *, most_rules=6, most_epochs=4, most_updates=12):
    """A program together with epochs of updates that match its rules."""
    program = draw(programs(most_rules=most_rules))
    given = epochs(program, most_epochs=most_epochs, most_updates=most_updates)
    return Scenario(program, draw(given))


def total(epoch_list):
    """The sum of all updates, fact -> multiplicity without zeros: what the oracle evaluates."""
    totals = {}
    for predicate, args, multiplicity in (update for epoch in epoch_list for update in epoch):
        totals[predicate, args] = totals.get((predicate, args), 0) + multiplicity
    return {fact: multiplicity for fact, multiplicity in totals.items() if multiplicity}


@lru_cache(maxsize=1000)
def checked(program):
    """`check_text(program)`; a program is drawn, and asked for, several times."""
    return check_text(program, "generated.dl")


def _rule(draw, predicates):
    atoms = [_atom(code, predicates) for code in draw(_BODY)]
    bound = sorted({argument for _, arguments in atoms for argument in arguments} & {*_VARIABLES})
    literals = [_text(*atom) for atom in atoms]
    comparison = _comparison(draw(_COMPARISON), bound)
    if comparison is not None:
        literals.append(comparison)
    shape = draw(_SHAPE)
    if shape == 15:  # the same atom read backwards binds the same variables
        name, arguments = atoms[0]
        if name != TRIPLE:
            literals[0] = f"({literals[0]} | {_text(name, arguments[::-1])})"
    heads = [_head(draw(_ATOM), predicates, bound) for _ in range(2 if shape == 14 else 1)]
    return f"{', '.join(heads)} :- {', '.join(literals)} .\n"


def _atom(code, predicates):
    name, arguments, code = _arguments(code, predicates, _VARIABLES, _OTHER)
    if name == TRIPLE:
        arguments[1] = _VERBS[code % len(_VERBS)]
    return name, arguments


def _head(code, predicates, bound):
    name, arguments, code = _arguments(code, predicates, bound, _HEAD_CONSTANTS)
    if name == TRIPLE:
        verb = _HEAD_VERBS[code % len(_HEAD_VERBS)]
        arguments[1] = "ex:q" if verb.startswith("?") and verb not in bound else verb
    return _text(name, arguments)


def _arguments(code, predicates, variables, others):
    """Mostly different variables in some order; one argument in four is something else."""
    code, index = divmod(code, len(predicates))
    code, order = divmod(code, len(_ORDERS))
    name, arity = predicates[index]
    arguments = []
    for position in range(arity):
        code, digit = divmod(code, _DIGIT)
        if variables and digit < _DIGIT * 3 // 4:
            arguments.append(variables[_ORDERS[order][position % 3] % len(variables)])
        else:
            arguments.append(others[digit % len(others)])
    return name, arguments, code


def _comparison(code, bound):
    code, left = divmod(code, 3)
    code, operator = divmod(code, 6)
    used, right = divmod(code, 8)
    if used < 4 or not bound:
        return None
    options = (*bound, *(_TERMS if operator < 2 else _VALUES))
    return f"{bound[left % len(bound)]} {_OPERATORS[operator]} {options[right % len(options)]}"


def _text(name, arguments):
    if name == TRIPLE:
        return f"[{', '.join(arguments)}]"
    return f"{name}({', '.join(arguments)})"


_MOST_BODIES = 16
_BODY_FACTS = st.integers(0, _MOST_BODIES * len(DOMAIN) ** 4 - 1)
_POOL = st.lists(_BODY_FACTS, min_size=2, max_size=10)
_DOMAIN_SIZE = st.integers(2, 4)
_DOMAIN_START = st.integers(0, len(DOMAIN) - 1)
_MULTIPLICITIES = (1, 1, -1, 1, 2, 1, 1, -2, 1, 3, 1, -3)


def _bodies(program):
    bodies = [rule.atoms for rule in checked(program).rules]
    return list(dict.fromkeys(bodies))[:_MOST_BODIES]


def _facts(bodies, domain, code):
    """The atoms of one body under one substitution; every wildcard is the same term."""
    code, index = divmod(code, len(bodies))
    bindings = {}
    for name in ("x", "y", "z", None):
        code, digit = divmod(code, len(domain))
        bindings[name] = domain[digit]
    return [
        (
            atom.predicate,
            tuple(
                argument.term
                if isinstance(argument, Constant)
                else bindings[argument.name if isinstance(argument, Variable) else None]
                for argument in atom.arguments
            ),
        )
        for atom in bodies[index]
    ]


def _updates(pool, code):
    """All facts of one substitution, or, half of the time, one of them."""
    code, index = divmod(code, len(pool))
    multiplicity, which = divmod(code, 4)
    given = pool[index]
    chosen = given if which < 2 else [given[which % len(given)]]
    return [(*fact, _MULTIPLICITIES[multiplicity]) for fact in chosen]
