"""A rule set to a program of rules. Invariant: the triples it derives are the inference graph.

Triples of DATA are derived from nothing, so that they are not of the base graph. What the rules of
one rule need beyond triples has names by its content: equal rules of two documents are one rule.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, cast

from streamreasoner.analysis.strata.told_apart import STATIC
from streamreasoner.errors import ProgramError
from streamreasoner.lang.ast import (
    DATA_UNIT,
    NOWHERE,
    RULE_SET,
    TRIPLE,
    Atom,
    Constant,
    Hidden,
    PredicateIndicator,
    Prefix,
    Program,
    Span,
    Variable,
)
from streamreasoner.lang.ast import Rule as PlainRule
from streamreasoner.lang.constants import RDF_TYPE, triple_term
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.parser import ParsedText
from streamreasoner.lang.places import Places, placed
from streamreasoner.lang.printer import PREFIX_NAME
from streamreasoner.sparql.lasting import with_lasting_names, with_numbered_nodes
from streamreasoner.sparql.reading import grammar
from streamreasoner.sparql.reading.rule_sets import RuleSetReader
from streamreasoner.sparql.reading.source import Source
from streamreasoner.sparql.rule_set import Assignment, RuleSet, Triple
from streamreasoner.sparql.rules.rulebook import Rulebook, UnsupportedError
from streamreasoner.srl.bodies import Bodies, is_possible
from streamreasoner.srl.dependencies import dependencies
from streamreasoner.srl.strata import not_stratified, too_deep
from streamreasoner.srl.well_formed import ill_formed, variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from streamreasoner.lang.ast import Directive, Expression
    from streamreasoner.sparql.algebra import Node
    from streamreasoner.sparql.rule_set import Rule

_SUFFIX = ".srl"
_NUMBERED = re.compile(r" \(\d+\)$")
_DIGITS = 12


def compile_rule_set(text: str, source: str) -> ParsedText:
    """Read a rule set of SPARQL 1.2 RL as rules.

    Args:
        text: The rule set.
        source: Name of the text in diagnostics, such as the path of its file.
    """
    try:
        rule_set = read_rule_set(text, source)
    except ProgramError as error:
        return _refused(text, source, cast("tuple[Diagnostic, ...]", error.diagnostics))
    if problems := tuple(ill_formed(rule_set)) or _problems(rule_set):
        return _refused(text, source, problems)
    beginning = Places(source, text).span(0, 1)
    try:
        rules = [*_static(rule_set), *_data(rule_set, source), *_rules(rule_set)]
    except UnsupportedError as error:
        span = beginning if error.span == NOWHERE else error.span
        return _refused(text, source, (Diagnostic("SR272", str(error), span, error.hint),))
    directives: list[Directive] = [*rule_set.imports]
    directives += (
        Prefix(name, iri, beginning)
        for name, iri in rule_set.prefixes
        if PREFIX_NAME.fullmatch(name)
    )
    helpers = {
        atom.predicate: PredicateIndicator(atom.predicate, atom.arity, beginning)
        for rule in rules
        for atom in (*rule.heads, *rule.body)
        if isinstance(atom, Atom) and atom.predicate != TRIPLE
    }
    if helpers:
        directives.append(Hidden(tuple(helpers.values()), beginning))
    program = Program(source, text, tuple(directives), tuple(rules))
    return ParsedText(program, (), complete=True, is_rule_set=True)


def problems_of(texts: Sequence[tuple[str, str]]) -> tuple[Diagnostic, ...]:
    """What is wrong with rule sets as one: a cycle, or nodes of too many levels.

    Args:
        texts: Names and texts of well-formed rule sets, each right by itself.
    """
    parts = [read_rule_set(text, source) for source, text in texts]
    # Blank nodes of two of them may have one name; unification keeps its two sides apart.
    return _problems(
        RuleSet(
            rules=tuple(rule for part in parts for rule in part.rules),
            data=(),
            imports=(),
            blank_nodes=frozenset(name for part in parts for name in part.blank_nodes),
            prefixes=tuple(prefix for part in parts for prefix in part.prefixes),
        )
    )


def _problems(rule_set: RuleSet) -> tuple[Diagnostic, ...]:
    graph = dependencies(rule_set)
    return tuple(not_stratified(rule_set, graph)) or tuple(too_deep(rule_set, graph))


def read_rule_set(text: str, source: str) -> RuleSet:
    """Read a rule set, well-formed or not.

    Raises:
        ProgramError: It is not SPARQL-RL; with its place.
    """
    given = Source(text, source, "SPARQL-RL", "SR270")
    found: RuleSet = grammar.read(given, RuleSetReader(given, ""), "rule_set")
    return found


def _refused(text: str, source: str, problems: tuple[Diagnostic, ...]) -> ParsedText:
    return ParsedText(Program(source, text, (), ()), problems, complete=False)


def _digest(*parts: object) -> str:
    return sha256("\0".join(map(repr, parts)).encode()).hexdigest()[:_DIGITS]


def _static(rule_set: RuleSet) -> Iterator[PlainRule]:
    """A fact that asks for the strata of the specification, where any triple may be derived."""
    derive_any = [rule for rule in rule_set.rules if any(_is_open(triple) for triple in rule.head)]
    if derive_any:
        fact = Atom(f"{RULE_SET}{_digest(*derive_any)}{STATIC}", (), NOWHERE)
        yield PlainRule((fact,), (), derive_any[0].span)


def _is_open(triple: Triple) -> bool:
    """Whether a triple may be of any predicate, or of any class."""
    _, verb, other = triple.terms
    return not isinstance(verb, Constant) or (verb.term == RDF_TYPE and isinstance(other, Variable))


def _data(rule_set: RuleSet, source: str) -> Iterator[PlainRule]:
    """The triples of DATA, whose blank nodes are those of the document."""
    digest = _digest(_document(source), rule_set.data)
    # A unit of its own, so that another document may be removed from the program.
    unit = Atom(f"{RULE_SET}{digest}{DATA_UNIT}", (), NOWHERE)
    if rule_set.data:
        yield PlainRule((unit,), (), rule_set.data[0].span)
    for triple in filter(is_possible, dict.fromkeys(rule_set.data)):
        terms = tuple(_of_document(term, digest) for term in triple.terms)
        yield PlainRule((Atom(TRIPLE, terms, triple.span),), (unit,), triple.span)


def _of_document(term: Node, digest: str) -> Expression:
    """A term of DATA, whose blank nodes are those of the document."""
    match term:
        case Variable(name, span):
            return Constant(f"_:srl{digest}.{name.rpartition('.')[2]}", span)
        case Constant():
            return term
        case _:
            parts = (_of_document(each, digest) for each in term.parts)
            return triple_term(parts, term.span)


def _document(source: str) -> str:
    """What tells a document from others: the name of its file, however often it was added."""
    path = PurePath(_NUMBERED.sub("", source))
    return path.stem if path.suffix == _SUFFIX else ""


def _variables(rule: Rule) -> list[str]:
    """The variables that a rule names outside of expressions, in alphabetical order."""
    parts: list[Triple | Variable] = [
        *rule.head,
        *(each for each in rule.body if isinstance(each, Triple)),
        *(each.variable for each in rule.body if isinstance(each, Assignment)),
    ]
    return sorted({variable.name for part in parts for variable in variables(part)})


def _rules(rule_set: RuleSet) -> Iterator[PlainRule]:
    seen: Counter[str] = Counter()
    for rule in rule_set.rules:
        # Two equal rules of a document make different nodes.
        text = _digest(rule)
        seen[text] += 1
        book = Rulebook(f"{RULE_SET}{_digest(text, seen[text])}", _variables(rule))
        lasting = with_numbered_nodes(with_lasting_names(rule))
        Bodies(lasting, book, rule_set.blank_nodes).write()

        def place(span: Span, whole: Span = rule.span) -> Span:
            return whole if span == NOWHERE else span

        for each in book.rules:
            yield replace(placed(each, place), span=rule.span, name=rule.name)
