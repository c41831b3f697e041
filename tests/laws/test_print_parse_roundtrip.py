"""Printing and parsing round-trips every program of the language."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from strategies import programs

from streamreasoner.lang.ast import (
    QUAD,
    TRIPLE,
    Aggregate,
    Atom,
    Base,
    BinaryOperation,
    Call,
    Comparison,
    Constant,
    Disjunction,
    Hidden,
    Import,
    Input,
    Message,
    NegatedBody,
    Negation,
    Output,
    PredicateIndicator,
    Prefix,
    Program,
    Rule,
    Span,
    UnaryMinus,
    Variable,
    Wildcard,
)
from streamreasoner.lang.constants import bare, triple_term
from streamreasoner.lang.parser import parse
from streamreasoner.lang.printer import print_program
from streamreasoner.rdf.terms import to_ntriples

SPAN = Span("generated", 1, 1, 1, 2, 0, 1)
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = (
    Prefix("ex", "http://example.org/", SPAN),
    Prefix("", "http://example.org/deep#", SPAN),
    Prefix("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#", SPAN),
)
TERMS = st.one_of(
    st.sampled_from(
        (
            "<http://example.org/a>",
            "<http://example.org/a.b>",
            "<http://example.org/-a>",
            "<http://example.org/>",
            "<http://example.org/deep#x>",
            "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
            "<urn:x:y>",
            "_:b0",
            '"x"@en-gb',
            '"a\\"b\\\\c\\n"',
            f'"-007"^^<{XSD}integer>',
            f'"+7"^^<{XSD}integer>',
            f'"-.5"^^<{XSD}decimal>',
            f'"5."^^<{XSD}decimal>',
            f'"1.5E-3"^^<{XSD}double>',
            f'"INF"^^<{XSD}double>',
            f'"true"^^<{XSD}boolean>',
            f'"1"^^<{XSD}boolean>',
            '"x"^^<http://example.org/type>',
        )
    ),
    st.text(max_size=4).map(to_ntriples),
    st.integers().map(to_ntriples),
)
NAMES = st.sampled_from(
    ("edge", "p", "a", "notable", "order", "length", "trueish", "min", "count", TRIPLE, QUAD)
)
VARIABLES = st.sampled_from("xyz").map(lambda name: Variable(name, SPAN))
ATOMIC = st.one_of(VARIABLES, TERMS.map(lambda term: Constant(term, SPAN)), st.just(Wildcard(SPAN)))


def minus(operand):
    """The negation of an operand; for an unsigned number literal a negative constant."""
    form = bare(operand.term) if isinstance(operand, Constant) else None
    if form is not None and form[0] in "0123456789.":
        return Constant(operand.term.replace('"', '"-', 1), SPAN)
    return UnaryMinus(operand, SPAN)


def called(inner):
    """Calls of functions, known or not."""
    arguments = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.builds(
        Call, st.sampled_from(("concat", "max", "skolem", "frobnicate")), arguments, st.just(SPAN)
    )


def triple_terms(parts):
    """Triple terms, constant ones among them."""
    return st.tuples(parts, parts, parts).map(lambda three: triple_term(three, SPAN))


def compound(inner):
    """Expressions built from smaller expressions."""
    return st.one_of(
        st.builds(
            BinaryOperation,
            st.sampled_from(("+", "-", "*", "/", "%", "**")),
            inner,
            inner,
            st.just(SPAN),
        ),
        inner.map(minus),
        called(inner),
        triple_terms(st.one_of(ATOMIC, called(inner), triple_terms(ATOMIC))),
        st.builds(
            Aggregate,
            st.sampled_from(("count", "sum", "min", "max", "avg")),
            inner.map(lambda each: (each,)),
            st.just(SPAN),
            st.booleans(),
        ),
    )


EXPRESSIONS = st.recursive(ATOMIC, compound, max_leaves=5)
ATOMS = st.one_of(
    st.builds(Atom, NAMES, st.lists(EXPRESSIONS, max_size=3).map(tuple), st.just(SPAN)),
    st.builds(
        Atom,
        st.sampled_from((TRIPLE, QUAD)),
        st.lists(EXPRESSIONS, max_size=5).map(tuple),
        st.just(SPAN),
    ),
)
READ = st.one_of(ATOMS, ATOMS.map(lambda atom: replace(atom, asserted=True)))
TESTS = st.builds(
    Call,
    st.sampled_from(("contains", "matches", "is_iri")),
    st.lists(EXPRESSIONS, max_size=2).map(tuple),
    st.just(SPAN),
)
LITERALS = st.recursive(
    st.one_of(
        READ,
        TESTS,
        st.builds(Negation, st.one_of(READ, TESTS), st.just(SPAN)),
        st.builds(
            Comparison,
            EXPRESSIONS,
            st.sampled_from(("=", "!=", "<", "<=", ">", ">=")),
            EXPRESSIONS,
            st.just(SPAN),
        ),
    ),
    lambda inner: st.one_of(
        st.builds(
            Disjunction,
            st.lists(
                st.lists(inner, min_size=1, max_size=2).map(tuple), min_size=2, max_size=3
            ).map(tuple),
            st.just(SPAN),
        ),
        st.builds(NegatedBody, st.lists(inner, min_size=1, max_size=2).map(tuple), st.just(SPAN)),
    ),
    max_leaves=4,
)
VIOLATIONS = ATOMS.map(lambda atom: replace(atom, violation=True))
RULES = st.builds(
    Rule,
    st.lists(st.one_of(ATOMS, VIOLATIONS), min_size=1, max_size=2).map(tuple),
    st.lists(LITERALS, max_size=3).map(tuple),
    st.just(SPAN),
)
SIGNATURES = st.lists(
    st.builds(PredicateIndicator, NAMES, st.none() | st.integers(0, 9), st.just(SPAN)),
    min_size=1,
    max_size=2,
).map(tuple)
DIRECTIVES = st.one_of(
    st.sampled_from((Base("http://example.org/base/", SPAN), *PREFIXES)),
    st.builds(Input, SIGNATURES, st.just(SPAN)),
    st.builds(Output, SIGNATURES, st.just(SPAN)),
    st.builds(Hidden, SIGNATURES, st.just(SPAN)),
    st.builds(Import, st.text(max_size=5), st.just(SPAN)),
    st.builds(Message, ATOMS, st.text(max_size=5), st.just(SPAN)),
)
PROGRAMS = st.builds(
    Program,
    st.just("generated"),
    st.just(""),
    st.lists(DIRECTIVES, max_size=4).map(tuple),
    st.lists(RULES, max_size=3).map(tuple),
)


@given(PROGRAMS)
def test_any_program_reads_back_as_itself(program):
    """Printing preserves the syntax tree, for any nesting and terms."""
    assert parse(print_program(program)) == program


@given(programs())
def test_printing_is_canonical(text):
    """Printing is idempotent: parsing and printing printed text returns the same text."""
    printed = print_program(parse(text))

    assert print_program(parse(printed)) == printed
    assert parse(printed) == parse(text)
