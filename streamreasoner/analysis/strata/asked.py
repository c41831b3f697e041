"""What a negation is asked about. Invariant: a rule that negates a predicate implies it.

A condition of a negation may need values from outside, so what is negated begins with what the rule
has that negates it:

    reach(?x, ?z) :- reach(?x, ?y), edge(?y, ?z), not some#1f(?y)
    some#1f(?y) :- reach(_, ?y), closed(?m), ?m < ?y

`reach(_, ?y)` says no more than what `some#1f` is asked about. Of a rule of a helper such literals
are those that each rule implies which negates it, and that share no variables of their own with
the rest.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from typing import TYPE_CHECKING

from streamreasoner.lang import ast, traversal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import TypeAlias

    Terms: TypeAlias = Mapping[str, ast.Expression]


def asked(rules: Sequence[ast.Rule]) -> dict[int, frozenset[int]]:
    """The positions of such literals in the body of each rule that has some.

    Args:
        rules: Rules in normal form.
    """
    return _Negations(rules).asked()


class _Negations:
    """The predicates of a program that are read by negations alone."""

    def __init__(self, rules: Sequence[ast.Rule]) -> None:
        self._rules = rules
        self._of: defaultdict[str, list[ast.Rule]] = defaultdict(list)
        self._by: defaultdict[str, list[tuple[ast.Rule, ast.Atom]]] = defaultdict(list)
        read = set[str]()
        for rule in rules:
            self._of[rule.head.predicate].append(rule)
            for literal in rule.body:
                match literal:
                    case ast.Negation(ast.Atom(asserted=False) as atom):
                        self._by[atom.predicate].append((rule, atom))
                    case ast.Atom():
                        read.add(literal.predicate)
                    case _:
                        pass
        for predicate in [each for each in self._by if each in read or not _is_helper(each)]:
            del self._by[predicate]
        self._names = (f"in.{number}" for number in count())

    def asked(self) -> dict[int, frozenset[int]]:
        """See the function."""
        found = {}
        for index, rule in enumerate(self._rules):
            negating = self._by.get(rule.head.predicate)
            if negating and (positions := self._implied(rule, negating)):
                found[index] = positions
        return found

    def _implied(
        self, rule: ast.Rule, negating: Sequence[tuple[ast.Rule, ast.Atom]]
    ) -> frozenset[int]:
        columns = _names(rule.head)
        asked = [
            (
                dict(_columns(rule.head, atom)),
                [each for each in by.body if not _negates(each, atom)],
            )
            for by, atom in negating
        ]
        return frozenset(
            position
            for part in _parts(rule.body, columns)
            if any(isinstance(rule.body[each], ast.Atom) for each in part)
            and all(self._holds([rule.body[each] for each in part], *each) for each in asked)
            for position in part
        )

    def _holds(
        self, literals: Sequence[ast.Literal], terms: Terms, body: Sequence[ast.Literal]
    ) -> bool:
        """Whether a body implies literals, for some terms of their other variables."""
        if not literals:
            return True
        # Atoms give variables their terms, so what is computed or negated follows them.
        first = next((each for each in literals if isinstance(each, ast.Atom)), literals[0])
        rest = [each for each in literals if each is not first]
        if not isinstance(first, ast.Atom):
            return traversal.substituted(first, terms) in body and self._holds(rest, terms, body)
        for other in body:
            if isinstance(other, ast.Atom):
                extended = _matched(first, other, terms)
                if extended is not None and self._holds(rest, extended, body):
                    return True
        unfolded = self._unfolded(first)
        return unfolded is not None and self._holds([*unfolded, *rest], terms, body)

    def _unfolded(self, atom: ast.Atom) -> list[ast.Literal] | None:
        """What an atom of a helper says, if a single rule derives its facts."""
        match self._of.get(atom.predicate, ()):
            case (rule,) if _is_helper(atom.predicate):
                pass
            case _:
                return None
        terms = dict(_columns(rule.head, atom))
        for each in rule.body:
            for variable in traversal.variables(each):
                if variable.name not in terms:
                    terms[variable.name] = ast.Variable(next(self._names), variable.span)
        return [traversal.substituted(each, terms) for each in rule.body]


def _is_helper(predicate: str) -> bool:
    """Whether rules alone read the facts of a predicate."""
    return "#" in predicate or predicate.startswith(ast.RULE_SET)


def _negates(literal: ast.Literal, atom: ast.Atom) -> bool:
    """Whether a literal negates the predicate of an atom."""
    return (
        isinstance(literal, ast.Negation)
        and isinstance(literal.atom, ast.Atom)
        and literal.atom.predicate == atom.predicate
    )


def _parts(body: Sequence[ast.Literal], columns: Collection[str]) -> Iterator[list[int]]:
    """The positions of literals that share variables, other than those of the head."""
    left = {at: {*_names(each)}.difference(columns) for at, each in enumerate(body)}
    while left:
        first, shared = next(iter(left.items()))
        part = {first}
        while more := [at for at, names in left.items() if at not in part and names & shared]:
            part.update(more)
            shared = shared.union(*(left[at] for at in more))
        for at in part:
            del left[at]
        yield sorted(part)


def _columns(head: ast.Atom, atom: ast.Atom) -> Iterator[tuple[str, ast.Expression]]:
    """The terms of an atom, by the variables of a head that has each once."""
    for argument, term in zip(head.arguments, atom.arguments, strict=True):
        if isinstance(argument, ast.Variable):
            yield argument.name, term


def _names(node: ast.Node) -> set[str]:
    return {each.name for each in traversal.variables(node)}


def _matched(atom: ast.Atom, other: ast.Atom, terms: Terms) -> Terms | None:
    """Terms of variables with which one atom follows from another; None if it never does."""
    if (atom.predicate, atom.arity) != (other.predicate, other.arity):
        return None
    if atom.asserted and not other.asserted:
        return None
    found = dict(terms)
    pairs = zip(atom.arguments, other.arguments, strict=True)
    return found if all(_agree(one, two, found) for one, two in pairs) else None


def _agree(one: ast.Expression, two: ast.Expression, terms: dict[str, ast.Expression]) -> bool:
    match one:
        case ast.Wildcard():
            return True
        case ast.Variable(name) if name not in terms:
            if isinstance(two, ast.Wildcard):
                # Its value has no name, so the variable agrees with nothing else.
                two = ast.Variable(f"any.{len(terms)}", two.span)
            terms[name] = two
            return True
        case ast.Variable(name):
            return not isinstance(two, ast.Wildcard) and terms[name] == two
        case ast.TripleTerm():
            return isinstance(two, ast.TripleTerm) and all(
                _agree(*parts, terms) for parts in zip(one.parts, two.parts, strict=True)
            )
        case _:
            return traversal.substituted(one, terms) == two
