"""Rules and their conversion to another notation derive the same, or the conversion is refused."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Literal, URIRef
from thorough import THOROUGH

from streamreasoner import Reasoner, Update
from streamreasoner.errors import ProgramError
from streamreasoner.facts import decode_facts
from streamreasoner.program.checked import check_source, check_text
from streamreasoner.program.text import canonical_text, common_prefixes
from streamreasoner.srl.writing.rules import rule_set_text

EX = "http://example.org/"
PREFIX = f"@prefix : <{EX}> .\n"
NODES = [":a", ":b"]
TERMS = [*NODES, "1", "2.0", '"x"', '"x"^^:t', '"y"^^:t', '"x"@en']
VARIABLES = st.sampled_from(("?x", "?y", "?z"))
TRIPLE_TERMS = st.builds(
    "<<( {} {} {} )>>".format, VARIABLES, st.sampled_from((":p", "?w")), VARIABLES
)
ARGUMENTS = st.one_of(VARIABLES, VARIABLES, st.just("_"), st.sampled_from(TERMS), TRIPLE_TERMS)
VERBS = st.sampled_from((":p", ":q", ":r"))
ATOMS = st.builds(
    "[{}, {}, {}]".format, st.one_of(VARIABLES, st.sampled_from(NODES)), VERBS, ARGUMENTS
)
OPERATORS = st.sampled_from(("=", "!=", "<", ">="))
TESTS = st.sampled_from(
    ("is_iri(?x)", "not is_number(?y)", "same_term(?x, ?y)", 'contains(?y, "x")')
)
RDF_TERMS = [
    URIRef(EX + "a"), URIRef(EX + "b"), Literal(1), Literal(Decimal("2.0")),
    Literal("x"), Literal("x", datatype=URIRef(EX + "t")), Literal("y", datatype=URIRef(EX + "t")),
    Literal("x", lang="en"),
]  # fmt: skip
DATA = st.sets(
    st.tuples(
        st.sampled_from(RDF_TERMS[:2]),
        st.sampled_from([URIRef(EX + name) for name in "pqr"]),
        st.sampled_from(RDF_TERMS),
    ),
    max_size=10,
)


@st.composite
def conditions(draw):
    """A literal that is not an atom."""
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(TESTS)
    if kind == 1:
        other = draw(st.one_of(VARIABLES, st.sampled_from(TERMS[2:5])))
        return f"{draw(VARIABLES)} {draw(OPERATORS)} {other}"
    if kind == 2:
        return f"not {draw(ATOMS)}"
    return f"not {{ {draw(ATOMS)}, {draw(st.one_of(ATOMS, TESTS))} }}"


@st.composite
def rules(draw):
    """A rule about triples; it may be unsafe, and is left out then."""
    body = draw(st.lists(ATOMS, min_size=1, max_size=2))
    body += draw(st.lists(conditions(), max_size=2))
    if draw(st.integers(0, 4)) == 0:
        body.append(f"({draw(ATOMS)} | {draw(ATOMS)})")
    value = draw(st.one_of(VARIABLES, st.sampled_from(TERMS)))
    if draw(st.integers(0, 4)) == 0:
        body.append("?n = ?x + 1")
        value = "?n"
    if draw(st.integers(0, 4)) == 0:
        value = draw(st.sampled_from(("?x * 2", "<<( ?x :p ?y )>>", "str(?x)")))
    return f"[{draw(VARIABLES)}, {draw(VERBS)}, {value}] :- {', '.join(body)} ."


def checked(text):
    """The program of a text; None if the rule language refuses it."""
    try:
        return check_text(PREFIX + text)
    except ProgramError:
        return None


def facts(program, data):
    """All triples that are present."""
    reasoner = Reasoner(program)
    reasoner.apply([Update("triple", triple) for triple in data])
    found = reasoner.session.engine.facts("triple")
    return {fact.arguments for fact in decode_facts("triple", found, reasoner.session.dictionary)}


@settings(max_examples=3000 if THOROUGH else 80, deadline=None)
@given(st.lists(rules(), min_size=1, max_size=3), DATA)
def test_rules_and_their_rule_set_derive_the_same(texts, data):
    """A rule set that rules are converted to has their facts, on any data."""
    program = checked("\n".join(each for each in texts if checked(each) is not None))
    if program is None:
        return
    try:
        text = rule_set_text(program.programs, common_prefixes(program.programs))
    except ProgramError as error:
        assert {each.code for each in error.diagnostics} == {"SR273"}  # noqa: PT017
        return
    try:
        converted = check_source(text, "rules.srl")
    except ProgramError as error:
        assert {each.code for each in error.diagnostics} <= {"SR301"}, text  # noqa: PT017
        return
    assert facts(converted, data) == facts(program, data), text
    again = check_text(canonical_text(converted.programs))
    assert facts(again, data) == facts(program, data), text
