"""Annotations of derived triples. Invariant: an annotation is present as long as its derivation.

With `@annotate ex:provenance .` the rule `[?x, a, ex:B] :- [?x, a, ex:A] .` gets two more heads:

    [triple_iri(?x, rdf:type, ex:B), rdf:reifies, <<( ?x rdf:type ex:B )>>, ex:provenance]
    [triple_iri(?x, rdf:type, ex:B), sh:sourceRule, <IRI of the rule>, ex:provenance]

`triple_iri` is the IRI of a triple in provenance. Annotations are quads of a named graph, so rules
about triples do not read them. An aggregate is read from the fact that holds; a rule that chooses,
such as with `min`, annotates only what it has chosen itself.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from streamreasoner.errors import TermError
from streamreasoner.lang import ast, traversal
from streamreasoner.lang.ast import QUAD, TRIPLE
from streamreasoner.lang.constants import triple_term
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.directives import directives
from streamreasoner.lang.normal_form import aggregates
from streamreasoner.lang.printer import print_rule
from streamreasoner.rdf.graph_mode import GraphMode
from streamreasoner.rdf.minted import minted
from streamreasoner.rdf.terms import canonical
from streamreasoner.rdf.vocabulary import RDF_REIFIES, SH_SOURCE_RULE
from streamreasoner.values.builtins import MONOTONE_AGGREGATES
from streamreasoner.values.sums import CHOOSING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def rule_iri(rule: ast.Rule) -> str:
    """The IRI of a rule in provenance: its name if that is one, or else a hash of its text."""
    if rule.name is not None and ":" in rule.name:
        try:
            return canonical(f"<{rule.name}>")
        except TermError:  # a name in words
            pass
    return minted("rule", print_rule(rule))


def annotated(programs: Sequence[ast.Program]) -> tuple[ast.Annotate | None, list[Diagnostic]]:
    """Where annotations go, None if nowhere, and what is wrong with what a program says of it."""
    said = [*directives(programs, ast.Annotate)]
    wrong = [
        Diagnostic(
            "SR217", "annotations go to another graph elsewhere", each.span, "keep one of them"
        )
        for each in said
        if each.graph != said[0].graph
    ]
    wrong += [
        Diagnostic(
            "SR217",
            f"with `@graphs {each.mode} .`, rules about triples read the graph of annotations",
            each.span,
            "omit the @annotate, or count graphs as `default`",
        )
        for each in directives(programs, ast.Graphs)
        if said and each.mode is not GraphMode.DEFAULT
    ]
    return (said[0] if said else None), wrong


def with_annotations(said: ast.Annotate, rules: Sequence[ast.Rule]) -> Iterator[ast.Rule]:
    """The rules that annotate.

    Args:
        said: Where annotations go.
        rules: The rules and facts in normal form.
    """
    for rule in rules:
        if rule.body and rule.head.predicate == TRIPLE and not rule.head.violation:
            yield from _of_rule(rule, said)


def _of_rule(rule: ast.Rule, said: ast.Annotate) -> Iterator[ast.Rule]:
    span = rule.span
    names = traversal.unused_names(map("annotated{}".format, count()), rule)
    arguments: list[ast.Expression] = []
    chosen: list[ast.Literal] = []
    for argument in rule.head.arguments:
        if isinstance(argument, ast.Aggregate):
            value = ast.Variable(next(names), span)
            arguments.append(value)
            if argument.function in MONOTONE_AGGREGATES | CHOOSING:
                chosen.append(ast.Comparison(value, "=", argument.arguments[0], span))
        else:
            arguments.append(argument)
    if aggregates(rule.head):
        chosen.append(replace(rule.head, arguments=tuple(arguments)))
    # Which has no value, so that nothing is annotated, if the head is not a triple of RDF.
    triple = ast.Variable(next(names), span)
    body = (*rule.body, *chosen, ast.Comparison(triple, "=", triple_term(arguments, span), span))
    fact = ast.Call("triple_iri", tuple(arguments), span)
    source = ast.Constant(rule_iri(rule), span)
    for predicate, about in ((RDF_REIFIES, triple), (SH_SOURCE_RULE, source)):
        quad = (fact, ast.Constant(f"<{predicate}>", span), about, said.graph)
        yield replace(rule, heads=(ast.Atom(QUAD, quad, span),), body=body)
