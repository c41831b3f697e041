"""Diagnostics of rule texts. Invariant: every code is in the catalogue, with its rule.

SR1xx syntax · SR2xx safety, arity, types, prefixes, imports, built-ins · SR3xx stratification ·
SR5xx warnings. The meaning of a code never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streamreasoner.lang.ast import Span

CATALOGUE = {
    "SR101": "A rule file is a sequence of rules, facts and directives, each terminated by a dot.",
    "SR102": "The text ends inside a statement, for example because its dot is missing.",
    "SR103": "A string or an IRI has no closing quotation mark or angle bracket.",
    "SR104": "A constant is not a valid RDF term.",
    "SR105": "The directives are @prefix, @base, @input, @output, @hidden, @graphs, "
    "@annotate, @import, @query, @expires, @message and @columns.",
    "SR106": "A relative IRI needs a @base before it.",
    "SR107": "An expression stands where a literal is expected, or vice versa.",
    "SR108": "Expressions and groups are nested at most 100 deep.",
    "SR201": "Every variable of a head is bound in the body.",
    "SR202": "Every variable of a comparison, negation, test or expression is bound elsewhere.",
    "SR203": "The wildcard `_` is allowed only in atoms of the body.",
    "SR204": "What an aggregate is over has at least one positive atom.",
    "SR205": "A fact has no variables.",
    "SR206": "A rule expands to at most 1,000 rules in normal form, with 20,000 literals.",
    "SR207": "No variable is computed from itself.",
    "SR208": "Atoms, bodies and rules are within the limits of the language.",
    "SR210": "A predicate has one arity; `triple` has three arguments and `quad` four.",
    "SR211": "A predicate named by a directive is used by a rule or declared with its arity.",
    "SR212": "Either every head of a predicate is marked with `!`, or none is.",
    "SR213": "A constraint has rules only: no facts, asserted or stated, no @input and no @output.",
    "SR214": "A @message names a constraint and its arguments; a constraint has one message.",
    "SR215": "A program says once how graphs count: `default`, `union` or `each`.",
    "SR216": "A @columns names each argument of a predicate, once, by a variable of its own.",
    "SR217": "Annotations are in one named graph, which no rule reads as triples.",
    "SR220": "A prefix is declared before it is used.",
    "SR221": "A prefix has one IRI.",
    "SR222": "An imported file exists and contains rules in UTF-8.",
    "SR223": "Shapes use the part of SHACL that is supported, as its specification says.",
    "SR224": "A file of shapes is Turtle.",
    "SR230": "A function is one of the built-ins.",
    "SR231": "A built-in is called with the number of arguments it takes.",
    "SR232": "A test is a literal of a body; it is not a value, and its name is not a predicate.",
    "SR233": "An aggregate is itself an argument of a head; only count takes distinct.",
    "SR234": "Heads with a min or max that can be the same fact aggregate it in the same way.",
    "SR235": "A range is one side of an equality, with at most 10,000 integers between constants.",
    "SR236": "An aggregate over a body is always computed: do not put it into `if` or `coalesce`.",
    "SR237": "lowest and highest stand in heads; further arguments of an aggregate are constants.",
    "SR238": "A new node has a label, and is part of a head without aggregates.",
    "SR240": "Only numbers, strings, booleans, dates and times are ordered.",
    "SR241": "The operands of arithmetic are numbers.",
    "SR242": "The predicate of a triple or triple term is an IRI; a graph, and the subject of a "
    "triple term, may also be a blank node.",
    "SR243": "A regular expression has the syntax of RE2, and compiles into 2 MiB.",
    "SR244": "An argument of a built-in has a type that the built-in accepts.",
    "SR245": "No exact number is divided by the constant zero.",
    "SR250": "The pattern of an @expires has constants and wildcards only.",
    "SR251": "A fact matches at most one @expires.",
    "SR252": "A fact that the program states does not expire.",
    "SR260": "A query is SPARQL 1.2.",
    "SR261": "A query uses the part of SPARQL that rules can keep up to date.",
    "SR262": "Answers of a query have a predicate of their own.",
    "SR270": "A rule set is SPARQL 1.2 RL.",
    "SR271": "Variables of a rule set are defined before they are read, and once.",
    "SR272": "A rule set uses the part of SPARQL 1.2 RL that can be kept up to date.",
    "SR273": "Rules that are converted to SPARQL-RL are about triples, and in its terms.",
    "SR301": "No predicate depends on its own negation.",
    "SR302": "No predicate depends on itself through an aggregate, except a min or max on its own.",
    "SR303": "A continuous query does not read the new terms that it makes.",
    "SR304": "No cycle of the dependency graph of a rule set has a closed dependency.",
    "SR501": "A variable that occurs only once constrains nothing.",
    "SR502": "A predicate that no rule derives and no @input declares resembles another name.",
    "SR503": "Atoms that share no variable make a cartesian product.",
    "SR504": "A rule written twice derives every fact twice; a fact written twice counts once.",
    "SR505": "A derived predicate is used by another one or, if there is an @output, named by it.",
    "SR506": "A rule whose literals contradict each other derives nothing.",
    "SR507": "A decimal that an atom looks up is not an integer, even if it is whole.",
    "SR508": "Answers of a continuous query are a set: only LIMIT and OFFSET need an ORDER BY.",
    "SR509": "A query has an answer for some data.",
    "SR510": "Shapes demand by the constraints of SHACL; other parts of their graph are left out.",
    "SR511": "What makes new terms of those that it made has a bound.",
    "SR512": "A rule of a shape that asks what is absent sees all that other rules derive.",
}
"""Code to the rule behind it; docs/diagnostics.md explains each with an example."""


_MAX_COLUMNS = 120


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake: what was found, where, and what is allowed or how to fix it."""

    code: str
    message: str
    span: Span
    help: str | None = None

    def __post_init__(self) -> None:
        if self.code not in CATALOGUE:
            raise ValueError(f"{self.code} is not in the catalogue of diagnostics.")

    def render(self, text: str) -> str:
        """Render position, code and message, the line of `text` with carets, and the help."""
        span = self.span
        lines = [f"{span.source}:{span.line}:{span.column}: {self.code} {self.message}"]
        before = span.column - 1
        line = text[span.start - before :].partition("\n")[0].rstrip("\r")
        last = span.end_column - 1 if span.end_line == span.line else len(line)
        # Each tab becomes one blank, so that carets align with their columns.
        line = line.replace("\t", " ")
        cut = max(0, before - _MAX_COLUMNS // 2) if len(line) > _MAX_COLUMNS else 0
        line = line[cut : cut + _MAX_COLUMNS]
        width = min(last - cut, len(line)) - (before - cut)
        lines.append(f"  {line}".rstrip())
        lines.append("  " + " " * (before - cut) + "^" * max(1, width))
        if self.help is not None:
            lines.append(f"  = help: {self.help}")
        return "\n".join(lines)


def render(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str]) -> str:
    """Render all diagnostics in the given order; `texts` maps the sources of spans to texts."""
    return "\n".join(item.render(texts[item.span.source]) for item in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Sort by text, in the order of `texts`, then position and code, and drop duplicates."""
    rank = {source: index for index, source in enumerate(texts)}
    return tuple(
        sorted(
            dict.fromkeys(diagnostics),
            key=lambda item: (
                rank[item.span.source],
                item.span.start,
                item.code,
                item.span.end,
                item.message,
            ),
        )
    )


def refuse(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str]) -> ProgramError:
    """Return the error that refuses a program, with all diagnostics sorted by position."""
    ordered = in_order(diagnostics, texts)
    return ProgramError(render(ordered, texts), ordered)


def similar(name: str, known: Iterable[str]) -> str:
    """The beginning of a hint: the known name that an unknown one resembles; empty if none does."""
    close = get_close_matches(name, [*known], 1)
    return f"did you mean '{close[0]}'? If not, " if close else ""


def line_of(span: Span, here: Span) -> str:
    """Describe the line of `span`, for a message that points to `here`."""
    elsewhere = "" if span.source == here.source else f" of {span.source}"
    return f"line {span.line}{elsewhere}"
