"""Rules about triples, for the quads of named graphs. Invariant: rules about quads stay as written.

`union` reads the triple of each quad:

    [?s, ?p, ?o] :- [?s, ?p, ?o, _] .

`each` lets a rule hold within each graph too, where what holds in the default graph holds as well:

    [?x, a, ?d] :- up(?c, ?d), [?x, a, ?c] .    with a hidden predicate `up` becomes

    [?x, a, ?d, ?g] :- up(?c, ?d), [?x, a, ?c, ?g] .
    [?x, a, ?d, ?g] :- up#in(?c, ?d, ?g), [?x, a, ?c] .
    [?x, a, ?d, ?g] :- up#in(?c, ?d, ?g), [?x, a, ?c, ?g] .

These are the choices with at least one part from the graph: what follows from the default graph
alone is there already. What is aggregated is an exception: within a graph it is of all matches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count, product
from typing import TYPE_CHECKING, assert_never

from streamreasoner.lang import ast, traversal
from streamreasoner.lang.ast import QUAD, TRIPLE
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.directives import directives
from streamreasoner.lang.normal_form import aggregates
from streamreasoner.rdf.graph_mode import GraphMode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

WITHIN = "#in"
"""The end of a hidden predicate's name within graphs, where the graph is the last argument."""
OF_CONSTRAINT = "_in"
"""The same of a constraint."""
_GRAPH = f"graph{WITHIN}"


@dataclass(frozen=True, slots=True)
class WithinGraphs:
    """What a program gets for the quads of named graphs.

    Attributes:
        rules: Its rules in normal form.
        hidden: Number of arguments of each predicate that no text can name.
        constraints: Constraint to the one of its violations within graphs.
    """

    rules: tuple[ast.Rule, ...]
    hidden: Mapping[str, int]
    constraints: Mapping[str, str]


def graph_mode(programs: Iterable[ast.Program]) -> tuple[ast.Graphs | None, list[Diagnostic]]:
    """How graphs count, None if a program does not say, and what is wrong with what it says."""
    said = [*directives(programs, ast.Graphs)]
    others = [each for each in said if each.mode is not said[0].mode]
    wrong = [
        Diagnostic(
            "SR215",
            f"graphs count as `{each.mode}` here, but as `{said[0].mode}` elsewhere",
            each.span,
            "keep one of the two",
        )
        for each in others
    ]
    return (said[0] if said else None), wrong


def with_graphs(
    said: ast.Graphs | None, rules: Sequence[ast.Rule], hidden: Collection[str]
) -> WithinGraphs:
    """The rules of a program for its quads.

    Args:
        said: How they count.
        rules: The rules and facts in normal form.
        hidden: The hidden predicates, helpers among them.
    """
    if said is None:
        return WithinGraphs(tuple(rules), {}, {})
    match said.mode:
        case GraphMode.DEFAULT:
            return WithinGraphs(tuple(rules), {}, {})
        case GraphMode.UNION:
            return WithinGraphs((*_united(rules), _copy(said.span)), {}, {})
        case GraphMode.EACH:
            return _Within.of(rules, hidden).all(rules, said.span)
        case _:
            assert_never(said.mode)


# union -------------------------------------------------------------------------------------------


def _quad(triple: ast.Atom, graph: ast.Term) -> ast.Atom:
    return replace(triple, predicate=QUAD, arguments=(*triple.arguments, graph))


def _copy(span: ast.Span) -> ast.Rule:
    """The rule `[?s, ?p, ?o] :- [?s, ?p, ?o, _] .`."""
    triple = ast.Atom(TRIPLE, tuple(ast.Variable(name, span) for name in "spo"), span)
    return ast.Rule((triple,), (_quad(triple, ast.Wildcard(span)),), span)


def _united(rules: Iterable[ast.Rule]) -> Iterator[ast.Rule]:
    """Rules whose asserted triples are those of quads, too."""
    for rule in rules:
        choices = [_asserted(literal) for literal in rule.body]
        for chosen in product(*choices):
            yield replace(rule, body=tuple(part for parts in chosen for part in parts))


def _asserted(literal: ast.Literal) -> tuple[tuple[ast.Literal, ...], ...]:
    """The alternatives of a literal, each a conjunction."""
    match literal:
        case ast.Atom(predicate, asserted=True) if predicate == TRIPLE:
            return ((literal,), (_quad(literal, ast.Wildcard(literal.span)),))
        case ast.Negation(ast.Atom(predicate, asserted=True) as atom) if predicate == TRIPLE:
            other = replace(literal, atom=_quad(atom, ast.Wildcard(atom.span)))
            return ((literal, other),)
        case _:
            return ((literal,),)


# each --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Within:
    """Which predicates have facts within graphs.

    Attributes:
        names: Predicate to the one of its facts within graphs.
        whole: Those whose facts within a graph are of all matches, as they are aggregated.
        constraints: Those that are constraints.
    """

    names: Mapping[str, str]
    whole: frozenset[str]
    constraints: frozenset[str]

    @staticmethod
    def of(rules: Iterable[ast.Rule], hidden: Collection[str]) -> _Within:
        """Triples, hidden predicates and constraints that follow from any of them."""
        heads = [rule.head for rule in rules if rule.body]
        constraints = frozenset(head.predicate for head in heads if head.violation)
        names = {name: f"{name}{WITHIN}" for name in hidden}
        names |= {name: f"{name}{OF_CONSTRAINT}" for name in constraints}
        names = {name: each for name, each in names.items() if name in {h.predicate for h in heads}}
        about = {TRIPLE}
        while new := {
            rule.head.predicate
            for rule in rules
            if rule.head.predicate in names.keys() - about
            and any(_predicate(each) in about for each in rule.body)
        }:
            about |= new
        names = {name: names[name] for name in about if name != TRIPLE} | {TRIPLE: QUAD}
        whole = {head.predicate for head in heads if aggregates(head)}
        return _Within(names, frozenset(whole & names.keys()), constraints)

    def all(self, rules: Sequence[ast.Rule], span: ast.Span) -> WithinGraphs:
        """The rules, and those that hold within graphs."""
        within = [new for rule in rules for new in self._rules(rule)]
        if any(_predicate(literal) == _GRAPH for rule in within for literal in rule.body):
            within.append(_graphs(span))
        derived = {rule.head.predicate: rule.head.arity for rule in within}
        hidden = {name: arity for name, arity in derived.items() if name.endswith(WITHIN)}
        constraints = {
            name: self.names[name] for name in self.constraints if self.names.get(name) in derived
        }
        return WithinGraphs((*rules, *within), hidden, constraints)

    def _rules(self, rule: ast.Rule) -> Iterator[ast.Rule]:
        """The same rule within graphs."""
        name = self.names.get(rule.head.predicate)
        if not rule.body or name is None or QUAD in map(_predicate, rule.body):
            return
        names = traversal.unused_names((f"g{number or ''}" for number in count()), rule)
        graph = ast.Variable(next(names), rule.span)
        choices = [[*self._choices(literal, graph)] for literal in rule.body]
        for chosen in product(*choices):
            body = tuple(part for parts, _ in chosen for part in parts)
            if not any(is_within for _, is_within in chosen):
                if rule.head.predicate not in self.whole:
                    continue
                body = (*body, ast.Atom(_GRAPH, (graph,), rule.span))
            head = replace(rule.head, predicate=name, arguments=(*rule.head.arguments, graph))
            yield replace(rule, heads=(head,), body=body)

    def _choices(
        self, literal: ast.Literal, graph: ast.Variable
    ) -> Iterator[tuple[tuple[ast.Literal, ...], bool]]:
        """The alternatives of a literal, each a conjunction, and whether it is of the graph."""
        name = self.names.get(_predicate(literal) or "")
        match literal:
            case ast.Atom() if name is not None:
                atom = replace(literal, predicate=name, arguments=(*literal.arguments, graph))
                if literal.predicate not in self.whole:
                    yield (literal,), False
                if not literal.asserted or literal.predicate == TRIPLE:
                    yield (atom,), True
            case ast.Negation(ast.Atom() as atom) if name is not None:
                within = replace(atom, predicate=name, arguments=(*atom.arguments, graph))
                other = replace(literal, atom=within)
                yield ((other,) if atom.predicate in self.whole else (literal, other)), False
            case _:
                yield (literal,), False


def _graphs(span: ast.Span) -> ast.Rule:
    """The rule `graph#in(?g) :- asserted [_, _, _, ?g] .`."""
    graph = ast.Variable("g", span)
    quad = ast.Atom(QUAD, (*(ast.Wildcard(span),) * 3, graph), span, asserted=True)
    return ast.Rule((ast.Atom(_GRAPH, (graph,), span),), (quad,), span)


def _predicate(literal: ast.Literal) -> str | None:
    atom = traversal.atom_of(literal)
    return None if atom is None else atom.predicate
