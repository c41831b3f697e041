"""Rules that make terms without end. Invariant: what is reported is a cycle that grows terms.

Weak acyclicity: terms flow from the variables of a rule to those of its head, and on to the
variables of atoms that match it. Arithmetic, `concat`, `skolem` and the like grow terms; if what
they make flows back to what they make it of, only the data can end it:

    n(?m) :- n(?n), ?m = ?n + 1 .

A flow ends where a test bounds it (`?n < 100`), where an atom has finitely many terms, such as
those of the input, and where `min` or `max` chooses. A rule that names the steps of a walk over
what no rule derives, by `skolem`, is not reported: its terms end with the walk, or at a depth.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from streamreasoner.analysis.strata.components import components
from streamreasoner.analysis.strata.dependency import Heads
from streamreasoner.analysis.strata.unification import agree
from streamreasoner.lang import ast, traversal
from streamreasoner.lang.binding import bindings
from streamreasoner.lang.printer import print_expression, print_literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

GROWING = frozenset(
    {
        "add_duration", "bit_not", "bit_xor", "concat", "encode_for_uri", "md5", "replace", "sha1",
        "sha256", "sha384", "sha512", "shift_left", "skolem", "subtract_duration", "triple",
        "triple_iri", "uuid",
    }
)  # fmt: skip
"""Functions whose result can be larger than their arguments, or any of very many."""
_OF_FEW = frozenset({"lang", "datatype", "month", "day", "hours", "minutes", "timezone", "tz"})
_GROWING_OPERATORS = frozenset("+-*/") | {"**"}
_UPPER, _LOWER = {"<", "<=", "="}, {">", ">=", "="}


class Growth(Enum):
    """How an expression grows its terms, which says what bounds it."""

    UP = "up"
    DOWN = "down"
    ANY = "any"


class Flow(NamedTuple):
    """Terms of one variable that become terms of another.

    Attributes:
        source: The number of a variable of a rule.
        target: Another one.
        growth: How it grows them; None if it does not.
        by: What grows them.
    """

    source: int
    target: int
    growth: Growth | None
    by: ast.Expression


@dataclass(frozen=True, slots=True)
class Endless:
    """A rule that makes new terms of those that it made.

    Attributes:
        rule: The rule.
        text: What it makes, and by which heads it comes back.
        walks: Whether it names the steps of a walk over what no rule derives.
    """

    rule: ast.Rule
    text: str
    walks: bool


def endless(rules: Sequence[ast.Rule], prefixes: Mapping[str, str]) -> Iterator[Endless]:
    """The rules in normal form that may make terms without end."""
    if not any(_grows(rule) for rule in rules):
        return
    flows = _Flows.of(rules)
    found: dict[tuple[int, str], str] = {}
    for growth in Growth:
        for flow, path in flows.cycles(growth):
            heads = [print_literal(rules[number].head, prefixes) for number in path]
            text = f"`{print_expression(flow.by, prefixes)}`"
            found.setdefault((path[0], text), " → ".join(heads))
    for (number, text), cycle in found.items():
        message = f"{text} makes new terms of those that it made: {cycle}"
        yield Endless(rules[number], message, number in flows.walks)


def _grows(rule: ast.Rule) -> bool:
    return _calls(rule, *GROWING) or any(
        isinstance(node, ast.BinaryOperation | ast.TripleTerm) for node in _nodes(rule)
    )


def _calls(rule: ast.Rule, *functions: str) -> bool:
    return any(isinstance(node, ast.Call) and node.function in functions for node in _nodes(rule))


def _nodes(rule: ast.Rule) -> Iterator[ast.Expression | ast.Literal]:
    return (node for part in (rule.head, *rule.body) for node in traversal.walk(part))


@dataclass(frozen=True, slots=True)
class _Flows:
    """How terms flow between the variables of rules.

    Attributes:
        rules: The rules.
        owners: The rule of each variable.
        flows: The flows.
        given: For each variable, the sources of each atom that binds it.
        tests: (variable, operator, variables of the other side), of comparisons.
        walks: The rules with an atom that no rule feeds, and new nodes.
    """

    rules: Sequence[ast.Rule]
    owners: Sequence[int]
    flows: Sequence[Flow]
    given: Mapping[int, Sequence[frozenset[int]]]
    tests: Sequence[tuple[int, str, frozenset[int]]]
    walks: frozenset[int]

    @staticmethod
    def of(rules: Sequence[ast.Rule]) -> _Flows:
        """Those of rules in normal form."""
        numbers: dict[tuple[int, str], int] = {}
        heads = Heads.of(rules)
        for index, rule in enumerate(rules):
            for literal in (rule.head, *rule.body):
                for variable in traversal.variables(literal):
                    numbers.setdefault((index, variable.name), len(numbers))
        flows: list[Flow] = []
        given: dict[int, list[frozenset[int]]] = defaultdict(list)
        tests: list[tuple[int, str, frozenset[int]]] = []
        walks: set[int] = set()
        for index, rule in enumerate(rules):
            bound = bindings(rule)
            for name, expression in bound.assignments:
                target = numbers[index, name]
                flows += (
                    Flow(numbers[index, of], target, growth, expression)
                    for of, growth in _parts(expression)
                )
            for atom in rule.atoms:
                feeding = [] if atom.asserted else heads.unifying(atom)
                feeding = [other for other in feeding if _feeds(rules[other].head, atom)]
                if not feeding and _calls(rule, "skolem"):
                    walks.add(index)
                for target, into in _fed(atom, index, feeding, rules, numbers):
                    flows += into
                    given[target].append(frozenset(flow.source for flow in into))
            for literal in bound.filters:
                tests += _tests(literal, index, numbers)
        owners = [index for index, _ in numbers]
        return _Flows(rules, owners, flows, given, tests, frozenset(walks))

    def cycles(self, growth: Growth) -> Iterator[tuple[Flow, list[int]]]:
        """The flows that grow terms in a cycle, each with the rules that its terms come through."""
        if not any(flow.growth is growth for flow in self.flows):
            return
        bounded: set[int] = set()
        while True:
            flows = [f for f in self.flows if not {f.source, f.target} & bounded]
            graph: list[list[int]] = [[] for _ in self.owners]
            for flow in flows:
                graph[flow.source].append(flow.target)
            place = {
                node: number for number, members in enumerate(components(graph)) for node in members
            }
            growing = [
                flow
                for flow in flows
                if flow.growth is growth and place[flow.source] == place[flow.target]
            ]
            endless = _reached({flow.source for flow in growing}, graph)
            ends = {
                node
                for node in endless
                if any(not each & endless for each in self.given.get(node, ()))
            }
            ends |= {
                node
                for node, operator, others in self.tests
                if node in endless and not others & endless and _bounds(operator, growth)
            }
            if not ends:
                break
            bounded |= ends
        for flow in growing:
            yield flow, self._path(flow, graph, place)

    def _path(
        self, flow: Flow, graph: Sequence[Sequence[int]], place: Mapping[int, int]
    ) -> list[int]:
        """The rules from the one that grows the terms, back to it."""
        before: dict[int, int] = {flow.target: flow.target}
        queue = deque([flow.target])
        while queue and flow.source not in before:
            node = queue.popleft()
            for other in graph[node]:
                if other not in before and place[other] == place[node]:
                    before[other] = node
                    queue.append(other)
        nodes = [flow.source]
        while nodes[-1] != flow.target:
            nodes.append(before[nodes[-1]])
        owners = [self.owners[flow.source], *(self.owners[node] for node in reversed(nodes))]
        path = [each for at, each in enumerate(owners) if at == 0 or owners[at - 1] != each]
        return path if len(path) > 1 else path * 2


def _fed(
    atom: ast.Atom,
    rule: int,
    feeding: Sequence[int],
    rules: Sequence[ast.Rule],
    numbers: Mapping[tuple[int, str], int],
) -> Iterator[tuple[int, list[Flow]]]:
    """The variables of an atom, each with what flows into it from the heads of other rules."""
    for position, argument in enumerate(atom.arguments):
        made = [(other, rules[other].head.arguments[position]) for other in feeding]
        for name, sources in _matched(argument, made):
            target = numbers[rule, name]
            yield (
                target,
                [
                    Flow(numbers[other, of], target, growth, expression)
                    for other, expression in sources
                    for of, growth in _parts(expression)
                ],
            )


def _matched(
    argument: ast.Expression, made: list[tuple[int, ast.Expression]]
) -> Iterator[tuple[str, list[tuple[int, ast.Expression]]]]:
    """The variables of an argument, each with what heads of rules have where it stands.

    What is not written as a triple term may be one, of parts that are not known.
    """
    match argument:
        case ast.Variable(name):
            yield name, made
        case ast.TripleTerm():
            for place, part in enumerate(argument.parts):
                yield from _matched(
                    part,
                    [
                        (rule, each.parts[place] if isinstance(each, ast.TripleTerm) else each)
                        for rule, each in made
                    ],
                )
        case _:
            pass


def _feeds(head: ast.Atom, atom: ast.Atom) -> bool:
    """Whether facts of a head that unifies with an atom may match it, triple terms by parts."""
    return all(
        agree(left, right)
        for left, right in zip(head.arguments, atom.arguments, strict=True)
        if isinstance(left, ast.TripleTerm) or isinstance(right, ast.TripleTerm)
    )


def _reached(starts: set[int], graph: Sequence[Sequence[int]]) -> set[int]:
    found, waiting = set(starts), list(starts)
    while waiting:
        new = set(graph[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def _parts(expression: ast.Expression) -> Iterator[tuple[str, Growth | None]]:
    """The variables whose terms become those of an expression, and how it grows them."""
    match expression:
        case ast.Variable(name):
            yield name, None
        case ast.BinaryOperation("%", _, right):
            yield from _parts(right)
        case ast.BinaryOperation(operator, left, right) if operator in _GROWING_OPERATORS:
            grown = _growth(operator, left, right)
            yield from ((name, grown) for side in (left, right) for name, _ in _parts(side))
        case ast.UnaryMinus(operand):
            yield from _parts(operand)
        case ast.TripleTerm():
            yield from ((name, Growth.ANY) for part in expression.parts for name, _ in _parts(part))
        case ast.Call(function, arguments) if function not in _OF_FEW:
            for argument in arguments:
                for name, growth in _parts(argument):
                    yield name, Growth.ANY if function in GROWING else growth
        case ast.Conditional(_, then, otherwise):
            yield from _parts(then)
            yield from _parts(otherwise)
        case _:
            # A constant, or the one that an aggregate chooses.
            pass


def _growth(operator: str, left: ast.Expression, right: ast.Expression) -> Growth:
    match operator, left, right:
        case ("+", ast.Constant(term), _) | ("+", _, ast.Constant(term)):
            return Growth.DOWN if term.startswith('"-') else Growth.UP
        case "-", _, ast.Constant(term):
            return Growth.UP if term.startswith('"-') else Growth.DOWN
        case _:
            return Growth.ANY


def _tests(
    literal: ast.Literal, rule: int, numbers: Mapping[tuple[int, str], int]
) -> Iterator[tuple[int, str, frozenset[int]]]:
    """The variables that a comparison may bound, each as on its left side."""
    if not isinstance(literal, ast.Comparison):
        return
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    left, right = (
        frozenset(numbers[rule, each.name] for each in traversal.variables(side))
        for side in (literal.left, literal.right)
    )
    yield from ((node, literal.operator, right) for node in left)
    operator = turned.get(literal.operator, literal.operator)
    yield from ((node, operator, left) for node in right)


def _bounds(operator: str, growth: Growth) -> bool:
    match growth:
        case Growth.UP:
            return operator in _UPPER
        case Growth.DOWN:
            return operator in _LOWER
        case Growth.ANY:
            return operator in _UPPER | _LOWER
