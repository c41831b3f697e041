"""Integers to rules: what the strategies draw, as text of the rule language.

Invariant: `check_text` accepts a rule. Predicates lie in layers, and negated or aggregated atoms
are of a lower layer than the head, so programs are stratified; operands are of a kind that
built-ins take. Integers are decoded digit by digit: fast, and shrinking towards what is first.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Predicate:
    """A predicate, or the triples with one verb.

    Attributes:
        name: Its name.
        arity: Number of arguments.
        verb: The second argument of triples that all have the same.
        best: (function, position of the value) if it is a lattice.
    """

    name: str
    arity: int
    verb: str | None = None
    best: tuple[str, int] | None = None

    def text(self, arguments):
        """An atom."""
        listed = ", ".join(arguments)
        return f"[{listed}]" if self.name in ("triple", "quad") else f"{self.name}({listed})"

    @property
    def iris(self):
        """Positions at which only IRIs may stand, as far as a rule tells."""
        return {"triple": (1,), "quad": (1, 3)}.get(self.name, ())


_EDGE, _PATH, _NODE, _T, _U, _ON, _TRIPLE, _QUAD = (
    Predicate(*each)
    for each in (
        ("edge", 2), ("path", 2), ("node", 1), ("t", 3), ("u", 4), ("on", 0), ("triple", 3),
        ("quad", 4),
    )
)  # fmt: skip
_P, _Q, _A = (Predicate("triple", 3, verb) for verb in ("ex:p", "ex:q", "a"))
_DIST, _TOP = Predicate("dist", 2, best=("min", 1)), Predicate("top", 2, best=("max", 1))
_LEAST = Predicate("least", 1, best=("min", 0))
_NEAR = Predicate("triple", 3, "ex:near", ("min", 2))

# Few predicates a program: more rules that feed each other, and themselves.
LAYERS = (
    ((_EDGE, _PATH),),
    ((_EDGE,), (_PATH,)),
    ((_T,), (_DIST,)),
    ((_TRIPLE,),),
    ((_P,), (_Q,), (_A,)),
    ((_EDGE, _NODE), (_PATH,)),
    ((_EDGE,), (_TOP,), (_NODE,)),
    ((_EDGE, _PATH, _NODE),),
    ((_PATH,), (_NODE,), (_ON,)),
    ((_EDGE,), (_T,), (_PATH,)),
    ((_TRIPLE, _PATH),),
    ((_EDGE,), (_DIST, _PATH)),
    ((_P, _Q), (_NEAR,), (_A,)),
    ((_TRIPLE,), (_PATH, _NODE)),
    ((_PATH,),),
    ((_EDGE,), (_LEAST,), (_U,)),
    ((_T, _PATH), (_EDGE,)),
    ((_QUAD,), (_TRIPLE,), (_NODE,)),
    ((_U, _PATH, _NODE),),
    ((_EDGE, _PATH), (_ON, _NODE)),
    ((_EDGE, _T), (_DIST, _TOP)),
    ((_TRIPLE, _T), (_EDGE,)),
    ((_DIST,), (_EDGE,), (_U,)),
    ((_QUAD, _TRIPLE),),
    ((_TRIPLE, _EDGE, _PATH, _NODE, _T, _U, _ON),),
)
"""Layers of predicates, the lowest first, from which a program is made."""

MOST = 24**8
"""Every integer here is drawn from 0 to this."""

_VARIABLES = ("?x", "?y", "?z")
_ORDERS = ((0, 1, 2), (1, 2, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0))
_OTHER = ("_", "ex:a", "_", "1", "?x", '"x"', "?y", "ex:b")
_VERBS = ("ex:p", "ex:q", "ex:p", "a", "_", "ex:p", "?y", "?x", "ex:q", "?z")
_HEAD_CONSTANTS = ("ex:a", "1")
_OPERATORS = ("!=", "=", "<", "<=", ">", ">=")
_LITERALS = ("1", '"x"')
_VALUES = ("1", "2", "1.5", "1e0", '"x"')
_TERMS = ("ex:a", "ex:b", "1.0", '"x"')
_NUMBERS = ("1", "2", "0.5", "2e0")

_NUMERIC = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} % {b}", "{a} + 1", "abs({a})", "-{a}",
    "length({a})", "to_number({a})", "({a} - {b}) * 2", "{a} ** 2", "2 ** {a}", "-{a} / 3",
)  # fmt: skip
_TEXTUAL = (
    'concat({a}, "x")', "concat({a}, {c})", "str({a})", "substring({a}, 2)", "lower({a})",
    "substring({a}, 1, 1)", "upper({a})", "to_string({a})", "lang({a})",
)  # fmt: skip
_ANY = (
    "min({a}, {b})", "datatype({a})", "max({a}, {c})", "skolem({a}, {c})", "skolem({a})",
    "coalesce({a} + 1, length({a}), {c})", "if(({a} < 2 | not is_number({a} * 2)), {c}, {a})",
)  # fmt: skip
_EXPRESSIONS = tuple(each for three in zip(_NUMERIC, _TEXTUAL * 2, _ANY * 2) for each in three)  # noqa: B905
_NO_NUMBERS = (*_TEXTUAL, "datatype({a})", "skolem({a}, {c})", "skolem({a})")
# In a rule that may feed itself values must not grow without end: each has a bound.
_BOUNDED = (
    ("{a} + 1", "{a} < 3"), ("{a} % 2", None), ("min({a}, {b})", None), ("str({a})", None),
    ("length({a})", None), ("{a} + 1.5", "{a} <= 2"), ("upper({a})", None), ("abs({a})", None),
    ('concat({a}, "x")', "length({a}) < 3"), ("max({a}, {c})", None), ("datatype({a})", None),
    ("skolem({a})", "not is_blank({a})"), ("if({a} < 2, {a} + 1, {c})", None),
    ("to_number({a})", None), ("substring({a}, 2)", None),
)  # fmt: skip
_TESTS = (
    "is_iri({a})", "is_number({a})", 'contains({a}, "x")', "is_literal({a})", "is_string({a})",
    'matches({a}, "^[x1]")', "is_integer({a})", "starts_with({a}, {c})", "is_blank({a})",
    "is_decimal({a})", 'ends_with({a}, "b")', "is_double({a})", "is_boolean({a})",
    "is_number({a} + {b})", "matches({c}, {a})",
)  # fmt: skip
_CONDITIONS = (
    "{a} + {b} < 4", "{a} = {b} + 1", "{a} * {b} != {a}", "length({a}) = 1", "{a} % 2 = 0",
    "str({a}) != str({c})", "{a} >= {b} / 2", 'lang({a}) = "en"', "lower({a}) = {c}",
    "{a} - {b} > 0", "to_string({a}) <= to_string({c})", "datatype({a}) = datatype({c})",
)  # fmt: skip
_AGGREGATES = (
    *("count({})", "sum({})", "lowest({}, 2)", "count(distinct {})", "highest({}, 1)", "avg({})"),
    *("max({})", "min({})"),
)
_ALONE = 6  # the others are lattices if they are alone in a head
_OF_NUMBERS = ("sum({})", "avg({})")
_STEPS = ("{z} + {w}", "{z}", "{z} + 1", "max({z}, {w})", "min({z}, {w})", "{z} + {w}")


class Digits:
    """An integer that is taken apart."""

    def __init__(self, code):
        self.code = code

    def take(self, base):
        """A number from 0 to base - 1."""
        self.code, digit = divmod(self.code, base)
        return digit

    def choose(self, options):
        """One of the options."""
        return options[self.take(len(options))]


@dataclass
class Draft:
    """A rule in the making.

    Attributes:
        below: Predicates of lower layers than the head's.
        wide: Whether the head has many places for many terms.
        recursive: Whether a positive atom is of the head's layer.
        atoms: Positive atoms as (predicate, arguments).
        literals: The rest of the body.
        values: What the features want in the head: names of assigned variables, and expressions.
        numbers: What can be a number of all that may stand in the head.
        aggregates: How many arguments of the head are aggregates.
    """

    below: tuple[Predicate, ...]
    wide: bool
    recursive: bool = False
    atoms: list[tuple[Predicate, list[str]]] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    numbers: set[str] = field(default_factory=lambda: {"1"})
    aggregates: int = 0

    @property
    def bound(self):
        """The variables of positive atoms."""
        names = {argument for _, arguments in self.atoms for argument in arguments}
        return sorted(names & {*_VARIABLES, "?w"})

    @property
    def operands(self):
        """Those of any kind: where an IRI must stand, no number can."""
        iris = {arguments[at] for each, arguments in self.atoms for at in each.iris}
        return [name for name in self.bound if name not in iris]

    def fill(self, template, digits):
        """The template with operands: {a} and {c} of any kind, {b} a number or of any kind."""
        operands = self.operands
        first = operands.pop(digits.take(len(operands)))
        return template.format(
            a=first, b=digits.choose((*operands, *_NUMBERS)), c=digits.choose((*operands, '"x"'))
        )

    def compute(self, digits, name=None):
        """An expression for the head, or for a variable; bounded if the rule may feed itself."""
        template, bound = digits.choose(_EXPRESSIONS), None
        if self.recursive:
            template, bound = digits.choose(_BOUNDED)
        if bound:
            self.literals.append(self.fill(bound, Digits(digits.code)))
        text = self.fill(template, digits)
        self.values.append(name or text)
        if template not in _NO_NUMBERS:
            self.numbers.add(name or text)
        return text


def rule(layers, head, body, *, comparison, features, shape):
    """The text of a rule; all but `layers` are integers, `body` and `features` lists of them."""
    digits = Digits(head)
    level = len(layers) - 1 - digits.take(len(layers))
    predicate = digits.choose(layers[level])
    below = tuple(each for layer in layers[:level] for each in layer)
    kinds = [Digits(code) for code in features]
    chosen_features = [(each.choose(_FEATURES), each) for each in kinds]
    aggregates = any(feature is _aggregate for feature, _ in chosen_features)
    aggregated = aggregates and bool(below) and not predicate.best
    if predicate.best and shape % 4 == 1:
        text = _step(predicate, below, Digits(body[0]))
        if text is not None:
            return text
    options = below if aggregated else (*below, *layers[level])
    draft = Draft(below, predicate.arity > 2 and not predicate.iris)
    draft.atoms = [_atom(Digits(code), options, _VARIABLES, _OTHER, _VERBS) for code in body]
    draft.recursive = any(each in layers[level] for each, _ in draft.atoms)
    # Features that may remove a variable come first; none is applied twice.
    for feature, each in sorted(
        dict(chosen_features).items(), key=lambda pair: _FEATURES.index(pair[0])
    ):
        if feature is not _aggregate or aggregated:
            feature(draft, each)
    if comparison % (1 + len(chosen_features)) == 0:
        _comparison(draft, Digits(comparison))
    heads = [_head(draft, digits, predicate)]
    if shape % 16 == 14:
        heads.append(_head(draft, digits, digits.choose(layers[level])))
    literals = [each.text(arguments) for each, arguments in draft.atoms]
    if shape % 16 == 13:
        literals[0] = f"asserted {literals[0]}"
    if shape % 16 == 15:  # the same atom read backwards binds the same variables
        each, arguments = draft.atoms[0]
        if not each.iris:
            literals[0] = f"({literals[0]} | {each.text(arguments[::-1])})"
    return f"{', '.join(heads)} :- {', '.join((*literals, *draft.literals))} .\n"


def fact(layers, code, terms):
    """A fact of some predicate, as text; `terms` are canonical, IRIs among them."""
    digits = Digits(code)
    predicate = digits.choose([each for layer in layers for each in layer])
    arguments = [digits.choose(terms) for _ in range(predicate.arity)]
    for at in predicate.iris:
        arguments[at] = digits.choose(("ex:p", "ex:q"))
    if predicate.verb:
        arguments[1] = predicate.verb
    return f"{predicate.text(arguments)} .\n"


def _atom(digits, predicates, variables, others, verbs):
    """Mostly different variables in some order; one argument in four is something else."""
    predicate = digits.choose(predicates)
    order = digits.choose(_ORDERS)
    arguments = []
    for position in range(predicate.arity):
        digit = digits.take(24)
        if variables and digit < 18:
            arguments.append(variables[order[position % 3] % len(variables)])
        else:
            arguments.append(others[digit % len(others)])
    if predicate.iris:
        arguments[1] = predicate.verb or digits.choose(verbs)
    if predicate.name == "quad" and arguments[3] in _LITERALS:
        arguments[3] = "ex:a"
    return predicate, arguments


def _head(draft, digits, predicate):
    """An atom of bound variables, and what the features want at other positions than verbs."""
    bound = draft.bound
    verbs = [each for each in _VERBS if each in bound or each[0] not in "?_"]
    _, arguments = _atom(digits, [predicate], bound, _HEAD_CONSTANTS, verbs)
    if predicate.name == "quad":
        arguments[3] = digits.choose(("ex:a", "ex:b"))
    free = [at for at in range(predicate.arity) if at not in predicate.iris]
    for value in draft.values[: len(free)]:
        arguments[digits.choose(free)] = value
    if predicate.best and digits.take(4):
        function, at = predicate.best
        if _without_constants(draft, digits, arguments, {*free} - {at}):
            arguments[at] = f"{function}({arguments[at]})"
    elif draft.aggregates and free and not predicate.best:
        first = digits.take(len(free))
        chosen = (free + free)[first : first + min(draft.aggregates, len(free))]
        if predicate.iris and not predicate.verb:
            arguments[1] = digits.choose(("ex:p", "ex:q"))
        if _without_constants(draft, digits, arguments, {*free} - {*chosen}):
            for at in chosen:
                arguments[at] = _aggregated(draft, digits, arguments[at], alone=len(chosen) == 1)
    return predicate.text(arguments)


def _without_constants(draft, digits, arguments, positions):
    """Put variables for constants, if there are any: heads that aggregate alike differ in none."""
    for at in positions:
        if arguments[at] in _HEAD_CONSTANTS:
            if not draft.bound:
                return False
            arguments[at] = digits.choose(draft.bound)
    return True


def _aggregated(draft, digits, argument, *, alone):
    """An aggregate of an argument, of a kind that it can be."""
    form = _AGGREGATES[digits.take(_ALONE if alone else len(_AGGREGATES))]
    if form in _OF_NUMBERS and argument not in draft.numbers.union(draft.operands):
        form = _AGGREGATES[0]
    return form.format(argument)


def _step(predicate, below, digits):
    """A step through a graph: the value of a node from those of its neighbours, or None."""
    graphs = [each for each in below if each.arity >= 2 and not each.best]
    if not graphs:
        return None
    graph = digits.choose(graphs)
    ends = digits.choose((("?x", "?y"), ("?y", "?x")))
    arguments = [*ends, *["?w"] * (graph.arity - 2)]
    if graph.iris:
        arguments = [ends[0], graph.verb or "ex:p", ends[1], *["_"] * (graph.arity - 3)]
    weight = "?w" if "?w" in arguments else digits.choose(_NUMBERS)
    function, at = predicate.best
    value = digits.choose(_STEPS).format(z="?z", w=weight)
    here, there = ["?x"] * predicate.arity, ["?y"] * predicate.arity
    here[at], there[at] = "?z", f"{function}({value})"
    if predicate.verb:
        here[1] = there[1] = predicate.verb
    if predicate.arity == 1:
        here = ["?x"]
        there = [f"{function}({value.replace('?z', '?y')})"]
    source = "?x" if predicate.arity == 1 else "?z"
    bound = digits.choose((f", {source} < 4", "", f", is_number({source})", f", {source} <= ?y"))
    if "+" in value and function == "max":
        bound = f", {source} < 4"
    return f"{predicate.text(there)} :- {predicate.text(here)}, {graph.text(arguments)}{bound} .\n"


def _comparison(draft, digits):
    left, operator, right = digits.take(3), digits.take(6), digits.take(8)
    bound = draft.operands
    if digits.take(8) < 4 or not bound:
        return
    one = bound.pop(left % len(bound))
    options = (*bound, *(_TERMS if operator < 2 else _VALUES))
    draft.literals.append(f"{one} {_OPERATORS[operator]} {options[right % len(options)]}")


def _negate(draft, digits):
    if not draft.below:
        _test(draft, digits)
        return
    variables = draft.bound or ["_"]
    others = tuple(each for each in _OTHER if each[0] != "?" or each in variables)
    verbs = [each for each in _VERBS if each[0] != "?" or each in variables]
    predicate, arguments = _atom(digits, draft.below, variables, others, verbs)
    free = [at for at in range(predicate.arity) if at not in predicate.iris]
    if free and draft.operands and digits.take(8) == 7:
        arguments[digits.choose(free)] = draft.fill(digits.choose(_EXPRESSIONS), digits)
    given = "asserted " if digits.take(6) == 5 else ""
    draft.literals.append(f"not {given}{predicate.text(arguments)}")


def _assign(draft, digits):
    if draft.operands and not (draft.wide and draft.recursive):
        text = draft.compute(digits, "?v")
        draft.literals.append(f"?v = {text}" if digits.take(2) else f"{text} = ?v")


def _compute_in_head(draft, digits):
    if draft.operands and not (draft.wide and draft.recursive):
        draft.compute(digits)


def _compute_in_body(draft, digits):
    """Replace an argument whose variable another place binds, or was none."""
    predicate, arguments = draft.atoms[digits.take(len(draft.atoms))]
    free = [at for at in range(predicate.arity) if at not in predicate.iris]
    if free:
        at = digits.choose(free)
        before, arguments[at] = arguments[at], "_"
        if draft.operands:
            arguments[at] = draft.fill(digits.choose(_EXPRESSIONS), digits)
        else:
            arguments[at] = before


def _test(draft, digits):
    if draft.operands:
        negated = "not " if digits.take(2) else ""
        draft.literals.append(negated + draft.fill(digits.choose(_TESTS), digits))


def _compare(draft, digits):
    if draft.operands:
        draft.literals.append(draft.fill(digits.choose(_CONDITIONS), digits))


def _aggregate(draft, digits):
    draft.aggregates = 1 + (digits.take(3) == 2)


_FEATURES = (
    _compute_in_body, _negate, _assign, _aggregate, _compute_in_head, _compare, _negate, _test,
    _aggregate, _assign,
)  # fmt: skip
