"""The constraints of a program. Invariant: a message depends on the program and the terms alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamreasoner.lang import ast
from streamreasoner.lang.directives import directives
from streamreasoner.lang.printer import print_call, print_expression
from streamreasoner.program.constraint_checks import PLACEHOLDER, constraint_heads
from streamreasoner.program.text import common_prefixes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from re import Match


@dataclass(frozen=True, slots=True)
class Constraint:
    """A predicate whose facts are violations.

    Attributes:
        name: The predicate.
        span: Its first head.
        template: Its `@message`, None if it has none.
        prefixes: Prefix name to IRI, for the terms of messages.
    """

    name: str
    span: ast.Span
    template: ast.Message | None
    prefixes: Mapping[str, str]

    def message(self, args: Sequence[str]) -> str:
        """Return the text of a violation; without a template, the fact in the rule language.

        Args:
            args: Canonical terms.
        """
        return self.fact(args) if self.template is None else self.filled(self.template.text, args)

    def filled(self, text: str, args: Sequence[str]) -> str:
        """A text with arguments in place of the placeholders of the template's parameters."""
        assert self.template is not None  # noqa: S101 - it names the arguments
        printed = {
            parameter.name: print_expression(term, self.prefixes)
            for parameter, term in zip(self.template.atom.arguments, _constants(args), strict=True)
            if isinstance(parameter, ast.Variable)
        }

        def put(match: Match[str]) -> str:
            return printed[match[1]]

        return PLACEHOLDER.sub(put, text)

    def fact(self, args: Sequence[str]) -> str:
        """Return a violation as a fact in the rule language; see `message`."""
        return print_call(ast.Atom(self.name, _constants(args), ast.NOWHERE), self.prefixes)


def within_graphs(constraint: Constraint, name: str) -> Constraint:
    """The constraint of the violations within graphs: the graph is the last argument."""
    template = constraint.template
    if template is None:
        return replace(constraint, name=name)
    used = {each.name for each in template.atom.arguments if isinstance(each, ast.Variable)}
    graph = next(each for each in ("g", *(f"g{n}" for n in range(len(used)))) if each not in used)
    arguments = (*template.atom.arguments, ast.Variable(graph, template.span))
    atom = replace(template.atom, predicate=name, arguments=arguments)
    text = f"{template.text}, in the graph {{?{graph}}}"
    return replace(constraint, name=name, template=replace(template, atom=atom, text=text))


def _constants(args: Sequence[str]) -> tuple[ast.Constant, ...]:
    return tuple(ast.Constant(term, ast.NOWHERE) for term in args)


def constraints(programs: Sequence[ast.Program]) -> dict[str, Constraint]:
    """Return the constraints of a program of one or more files, in textual order."""
    prefixes = common_prefixes(programs)
    templates = {each.atom.predicate: each for each in directives(programs, ast.Message)}
    return {
        name: Constraint(name, head.span, templates.get(name), prefixes)
        for name, head in constraint_heads(programs).items()
    }
