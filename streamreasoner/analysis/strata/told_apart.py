"""Facts that only more than their constants tell apart, in predicates of their own.

A fact belongs to one stratum by its constants (decision 0008), so rules that derive one kind of
triple term and negate another are in one stratum:

    [?r, ex:says, <<( ?s ex:good ?o )>>] :- offer(?r, ?s, ?o), not [_, ex:says, <<( ?s ex:bad _ )>>]

So are those that a repeated variable tells apart, or a new node. Where that is all that is wrong
with a program, each head is derived into a predicate of its own, and copied from there; what an
atom reads is what is asserted and what comes of the heads that have an instance in common with it.
Invariant: the facts of the program's predicates stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from streamreasoner.analysis.strata.asked import asked
from streamreasoner.analysis.strata.at_most import MAY, with_questions
from streamreasoner.analysis.strata.dependency import Through, dependencies, unifies
from streamreasoner.analysis.strata.stratify import decided_strata, unstratifiable
from streamreasoner.analysis.strata.unification import have_an_instance
from streamreasoner.lang import ast, traversal
from streamreasoner.lang.constants import triple_term
from streamreasoner.lang.normal_form import aggregates
from streamreasoner.lang.printer import digest, print_literal, print_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from streamreasoner.analysis.strata.dependency import Dependency
    from streamreasoner.analysis.strata.guards import Guarded
    from streamreasoner.lang.diagnostic import Diagnostic

APART = "#apart"
"""The end of the names of these predicates."""

STATIC = "__static"
"""The end of the name of a fact that asks for strata that no data decides, if there are some."""

_NEGATIVE = (Through.NEGATION, Through.AGGREGATE)


@dataclass(frozen=True, slots=True)
class Stratified:
    """Rules with their strata.

    Attributes:
        rules: The rules; more of them, if more than constants had to tell facts apart.
        strata: Indexes into them, see `decided_strata`.
        hidden: Number of arguments of each predicate that was added.
        diagnostics: Why they have no strata.
    """

    rules: tuple[ast.Rule, ...]
    strata: Mapping[tuple[int, ...], Guarded | None]
    hidden: Mapping[str, int]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_decided_by_data(self) -> bool:
        """Whether facts may make a negation circular."""
        return any(self.strata.values())


def stratified(
    rules: tuple[ast.Rule, ...], facts: Sequence[ast.Atom], prefixes: Mapping[str, str]
) -> Stratified:
    """Give rules in normal form their strata.

    Args:
        rules: The rules.
        facts: What the program states.
        prefixes: Prefixes to print IRIs with.
    """
    graph = dependencies(rules)
    strata = decided_strata(rules, graph)
    problems = tuple(unstratifiable(rules, graph, strata, prefixes, facts))
    no_data = any(map(is_static, facts))
    first = Stratified(rules, strata, {}, problems)
    if not problems and not (no_data and first.is_decided_by_data):
        return first
    accepted = [] if problems else [first]
    for others in _others(rules, graph, [*strata]):
        graph = dependencies(others)
        found = decided_strata(others, graph)
        if not any(unstratifiable(others, graph, found, prefixes, facts)):
            heads = (rule.head for rule in others)
            hidden = {e.predicate: e.arity for e in heads if e.predicate.endswith(APART)}
            accepted.append(Stratified(others, found, hidden, ()))
            if not (no_data and accepted[-1].is_decided_by_data):
                return accepted[-1]
    return accepted[0] if accepted else first


def is_static(fact: ast.Atom) -> bool:
    """Whether a fact asks for strata that no data decides."""
    return fact.predicate.startswith(ast.RULE_SET) and fact.predicate.endswith(STATIC)


def _others(
    rules: tuple[ast.Rule, ...],
    graph: Sequence[Sequence[Dependency]],
    strata: Sequence[Sequence[int]],
) -> Iterator[tuple[ast.Rule, ...]]:
    """Rules that derive the same facts, and may have strata where others do not."""
    questions = asked(rules)
    apart = None
    # What triple terms alone tell apart has the same plan as it would have without the others.
    for is_kind in (traversal.has_pattern, _is_special):
        if (apart := told_apart(rules, graph, strata, is_kind)) is not None:
            yield apart
    if apart is not None:
        rules, graph = apart, dependencies(apart)
    if (most := with_questions(rules, graph, questions, APART)) is not None:
        yield most


def told_apart(
    rules: Sequence[ast.Rule],
    graph: Sequence[Sequence[Dependency]],
    strata: Sequence[Sequence[int]],
    is_kind: Callable[[ast.Atom], bool],
) -> tuple[ast.Rule, ...] | None:
    """The rules with more predicates, if heads may tell facts of a circular stratum apart.

    Args:
        rules: Rules in normal form.
        graph: The dependencies of each rule.
        strata: Indexes of mutually dependent rules.
        is_kind: Whether a head tells its facts from others of its predicate.
    """
    circular = {
        index
        for members in map(frozenset, strata)
        if any(
            edge.through in _NEGATIVE and edge.on in members
            for index in members
            for edge in graph[index]
        )
        for index in members
    }
    heads = [rules[index].head for index in circular]
    names = {head.predicate for head in heads if is_kind(head)}
    read = [
        atom
        for index in circular
        for atom in map(traversal.atom_of, rules[index].body)
        if atom is not None and not atom.asserted and atom.predicate in names
        if any(unifies(atom, head) for head in heads)
    ]
    split = {
        index
        for index, rule in enumerate(rules)
        if any(unifies(atom, rule.head) for atom in dict.fromkeys(read))
    }
    if not split or any(aggregates(rules[index].head) for index in split):
        return None
    made = _Apart([rules[index] for index in sorted(split)])
    found = []
    for index, rule in enumerate(rules):
        body = tuple(map(made.reading, rule.body)) if index in circular else rule.body
        found.append(replace(rule, body=body))
        if index in split:
            found[-1] = replace(found[-1], heads=(_kind(rule),))
            made.rules[_copy(rule)] = None
    return (*found, *made.rules)


@dataclass(slots=True)
class _Apart:
    """The rules that are added.

    Attributes:
        own: The rules whose heads have predicates of their own.
        rules: The rules.
    """

    own: Sequence[ast.Rule]
    rules: dict[ast.Rule, None] = field(default_factory=dict)

    def reading(self, literal: ast.Literal) -> ast.Literal:
        """A literal that reads what its atom may match, and no other facts."""
        match literal:
            case ast.Atom(asserted=False) if self._is_read(literal):
                return self._view(literal)
            case ast.Negation(ast.Atom(asserted=False) as atom) if self._is_read(atom):
                return replace(literal, atom=self._view(atom))
            case _:
                return literal

    def _is_read(self, atom: ast.Atom) -> bool:
        return any(unifies(atom, rule.head) for rule in self.own)

    def _view(self, atom: ast.Atom) -> ast.Atom:
        """An atom of the facts that match an atom; the rules of its predicate are added."""
        names = (f"any.{number}" for number in count())
        columns: dict[ast.Variable, ast.Expression] = {}

        def column(argument: ast.Expression) -> ast.Expression:
            match argument:
                case ast.Constant():
                    return argument
                case ast.TripleTerm():
                    return triple_term(map(column, argument.parts), argument.span)
                case ast.Variable():
                    columns[argument] = argument
                    return argument
                case _:
                    variable = ast.Variable(next(names), argument.span)
                    columns[variable] = argument
                    return variable

        matched = replace(atom, arguments=tuple(map(column, atom.arguments)))
        head = _apart("read", print_literal(matched), tuple(columns), atom.span)
        bodies = [replace(matched, asserted=True)]
        bodies += (
            replace(_kind(rule), arguments=matched.arguments)
            for rule in self.own
            if have_an_instance(matched, rule.head)
        )
        self.rules |= dict.fromkeys(ast.Rule((head,), (body,), atom.span) for body in bodies)
        return replace(head, arguments=tuple(columns.values()))


def _is_special(head: ast.Atom) -> bool:
    """Whether an atom may match facts of the predicate, and none of the head."""
    names = [each for each in head.arguments if isinstance(each, ast.Variable)]
    return len(set(names)) < head.arity and not aggregates(head)


def _apart(kind: str, text: str, arguments: tuple[ast.Expression, ...], span: ast.Span) -> ast.Atom:
    """An atom of a predicate that a text names."""
    return ast.Atom(f"{kind}.{digest(text)}{APART}", arguments, span)


def _kind(rule: ast.Rule) -> ast.Atom:
    """The head of a rule, of a predicate of its own."""
    return _apart("made", print_rule(rule), rule.head.arguments, rule.head.span)


def _copy(rule: ast.Rule) -> ast.Rule:
    """The rule that derives the facts of a head from those of its own predicate."""
    arguments = tuple(
        each if isinstance(each, ast.Constant) else ast.Variable(f"v.{position}", each.span)
        for position, each in enumerate(rule.head.arguments)
    )
    head = replace(rule.head, arguments=arguments)
    return replace(rule, heads=(head,), body=(replace(_kind(rule), arguments=arguments),))


class Written:
    """Atoms and rules as they are written, of those that are told apart.

    Args:
        rules: The rules of a program, with those that were added.
    """

    def __init__(self, rules: Sequence[ast.Rule]) -> None:
        self._rules = {rule.head.predicate: rule for rule in rules if is_apart(rule.head)}
        alone = [
            (rule, literal)
            for rule in rules
            if len(rule.body) == 1 and isinstance(literal := rule.body[0], ast.Atom)
        ]
        self._views = {
            rule.head.predicate: rule
            for rule, atom in alone
            if atom.asserted and is_apart(rule.head)
        }
        # A rule of the text may read nothing but a view.
        self._made = {
            atom.predicate: rule.head.predicate
            for rule, atom in alone
            if is_apart(atom) and atom.predicate not in self._views and not is_apart(rule.head)
        }

    def atom(self, atom: ast.Atom) -> ast.Atom:
        """An atom of the program's own predicate."""
        if is_apart(atom) and atom.predicate.startswith(MAY) and atom.predicate not in self._views:
            name = atom.predicate.removeprefix(MAY)
            known = name if name in self._rules else name.removesuffix(APART)
            return self.atom(replace(atom, predicate=known))
        if atom.predicate in self._made:
            return replace(atom, predicate=self._made[atom.predicate])
        if (view := self._views.get(atom.predicate)) is None:
            return atom
        columns = zip(view.head.arguments, atom.arguments, strict=True)
        values = {each.name: value for each, value in columns if isinstance(each, ast.Variable)}
        return replace(traversal.substituted(view.atoms[0], values), asserted=False, span=atom.span)

    def rule(self, rule: ast.Rule) -> ast.Rule:
        """The rule of the text; of a copy, the rule whose facts it copies."""
        if (predicate := self.copied(rule)) is not None:
            return self.rule(self._rules[predicate])
        body = tuple(map(self._literal, rule.body))
        return replace(rule, heads=(self.atom(rule.head),), body=body)

    def copied(self, rule: ast.Rule) -> str | None:
        """The predicate whose facts a rule copies, if it is one of those that were added."""
        match rule.body:
            case (ast.Atom(predicate),) if predicate in self._made and not is_apart(rule.head):
                return predicate
            case _:
                return None

    def _literal(self, literal: ast.Literal) -> ast.Literal:
        match literal:
            case ast.Atom():
                return self.atom(literal)
            case ast.Negation(ast.Atom() as atom):
                return replace(literal, atom=self.atom(atom))
            case _:
                return literal


def is_apart(literal: ast.Literal) -> bool:
    """Whether a literal is an atom of a predicate that was added."""
    return isinstance(literal, ast.Atom) and literal.predicate.endswith(APART)
