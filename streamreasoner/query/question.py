"""Questions: bodies of rules that are asked once. Invariant: an answer is a match of such a rule.

    list edge(?x, ?y), not edge(?y, ?x)    lists what this rule would derive:
    answer(?x, ?y) :- edge(?x, ?y), not edge(?y, ?x) .

The program of a question is this rule with the helpers of its body, whose input is the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import ProgramError
from streamreasoner.facts import FactPattern
from streamreasoner.lang.ast import (
    NOWHERE,
    Atom,
    Constant,
    Input,
    PredicateIndicator,
    Variable,
    Wildcard,
)
from streamreasoner.lang.binding import bindings, bound_by_atoms
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.traversal import variables, walk
from streamreasoner.program.checked import check_all
from streamreasoner.query.syntax import (
    SOURCE,
    error_of,
    misfits,
    read_name,
    read_statements,
    relocated,
    rule_warnings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.lang.ast import Program, Rule, Term
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.query.syntax import Scope

ANSWER: Final = "answer#"
"""The predicate of answers, which no text can name."""

_LEAD: Final = "answer() :- "


@dataclass(frozen=True, slots=True)
class Question:
    """What a body asks.

    Attributes:
        variables: The names of its variables, in textual order: those that every alternative has,
            and not an aggregate's braces alone.
        program: The rules that derive its answers, facts of `ANSWER` with these variables.
        warnings: What is probably a mistake in it, rendered.
    """

    variables: tuple[str, ...]
    program: CheckedProgram
    warnings: str


def read_question(text: str, start: int, scope: Scope) -> FactPattern | Question:
    """What a command asks from an offset: a predicate, an atom, or the body of a rule.

    Raises:
        ProgramError: It is none of them, or not of the program; carets show where.
    """
    named = read_name(text, start, scope)
    if named is not None:
        return named
    scope = replace(scope, lead=_LEAD)
    program = read_statements(text, start, scope)
    rule, *others = program.rules
    diagnostics = [*_more(program, others, scope), *_misfits(rule, scope)]
    if diagnostics:
        raise error_of(diagnostics, text, scope)
    match rule.body:
        case [Atom(asserted=False) as atom] if atom.arguments == (terms := _terms(atom)):
            return FactPattern(atom.predicate, terms)
        case _:
            return _asked(program, text, scope)


def _asked(program: Program, text: str, scope: Scope) -> Question:
    (rule,) = program.rules
    # The first check finds what the body binds once its aggregates are expanded.
    parts = [
        part for part in _checked(program, (), text, scope).rules if part.head.predicate == ANSWER
    ]
    bound = [bound_by_atoms(part) | dict(bindings(part).assignments).keys() for part in parts]
    asked = {
        name: variable
        for name, variable in _named(rule).items()
        if all(name in each for each in bound)
    }
    checked = _checked(program, tuple(asked.values()), text, scope)
    return Question(tuple(asked), checked, rule_warnings(checked.warnings, SOURCE, text, scope))


def _checked(
    program: Program, arguments: tuple[Variable, ...], text: str, scope: Scope
) -> CheckedProgram:
    """The program of a question that asks for these variables."""
    (rule,) = program.rules
    first, last = rule.body[0].span, rule.body[-1].span
    span = replace(first, end_line=last.end_line, end_column=last.end_column, end=last.end)
    asking = replace(rule, heads=(Atom(ANSWER, arguments, span),), span=span)
    read = tuple(PredicateIndicator(atom.predicate, None, NOWHERE) for atom in _atoms(rule))
    directives = (*program.directives, *([Input(read, NOWHERE)] if read else ()))
    try:
        return check_all([replace(program, directives=directives, rules=(asking,))])
    except ProgramError as error:
        raise relocated(error, SOURCE, text, scope, {}) from None


def _more(program: Program, others: list[Rule], scope: Scope) -> Iterator[Diagnostic]:
    """Report what follows a question."""
    for other in others:
        yield Diagnostic("SR101", "more than one question", other.span, "join atoms by commas")
    for directive in program.directives[len(scope.directives) :]:
        yield Diagnostic("SR101", "a directive, where a question is expected", directive.span)


def _misfits(rule: Rule, scope: Scope) -> Iterator[Diagnostic]:
    for atom in _atoms(rule):
        yield from misfits(atom, scope)


def _atoms(rule: Rule) -> Iterator[Atom]:
    """All atoms of a body, including those in negations, alternatives and braces."""
    for literal in rule.body:
        yield from (node for node in walk(literal) if isinstance(node, Atom))


def _named(rule: Rule) -> Mapping[str, Variable]:
    """The first occurrence of each variable of a body."""
    found: dict[str, Variable] = {}
    for literal in rule.body:
        for variable in variables(literal):
            found.setdefault(variable.name, variable)
    return found


def _terms(atom: Atom) -> tuple[Term, ...]:
    """The arguments of an atom that are not expressions."""
    return tuple(
        each for each in atom.arguments if isinstance(each, Constant | Variable | Wildcard)
    )
