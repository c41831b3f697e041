"""Parsing rules: the syntax tree of each construct."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from streamreasoner.errors import ProgramError
from streamreasoner.lang import ast
from streamreasoner.lang.ast import (
    Aggregate,
    BinaryOperation,
    Call,
    Comparison,
    Disjunction,
    UnaryMinus,
)
from streamreasoner.lang.parser import parse, read
from streamreasoner.lang.printer import print_expression, print_program, print_rule
from streamreasoner.lang.traversal import walk
from streamreasoner.program import check
from streamreasoner.values.builtins import NAMES

EX = "@prefix ex: <http://example.org/> .\n"
XSD = "http://www.w3.org/2001/XMLSchema#"


def constant(text):
    """The term of the only argument of a fact."""
    return (
        parse(f"{EX}@base <http://example.org/base/> . p({text}) .").rules[0].head.arguments[0].term
    )


def expression(text):
    """The only argument of a fact."""
    return parse(f"p({text}) .").rules[0].head.arguments[0]


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("<http://example.org/a>", "<http://example.org/a>"),
        (r"<http://example.org/\u00e9>", "<http://example.org/é>"),
        ("<b>", "<http://example.org/base/b>"),
        ("<#b>", "<http://example.org/base/#b>"),
        (r"<\u0023b>", "<http://example.org/base/#b>"),
        ("ex:a", "<http://example.org/a>"),
        ("ex:", "<http://example.org/>"),
        ("ex:a.b-c", "<http://example.org/a.b-c>"),
        (r"ex:a\,b", "<http://example.org/a,b>"),
        ("ex:%41", "<http://example.org/%41>"),
        ("_:b1", "_:b1"),
        ('"x"', '"x"'),
        ("'it is \"x\"'", r'"it is \"x\""'),
        ('"""two\nlines"""', r'"two\nlines"'),
        ("'''it's'''", '"it\'s"'),
        ('"x"@EN-gb', '"x"@en-gb'),
        (f'"x"^^<{XSD}string>', '"x"'),
        ('"x"^^ex:type', '"x"^^<http://example.org/type>'),
        (r'"\u00E9"', '"é"'),
        ("42", f'"42"^^<{XSD}integer>'),
        ("-42", f'"-42"^^<{XSD}integer>'),
        ("+42", f'"+42"^^<{XSD}integer>'),
        ("+.5e1", f'"+.5e1"^^<{XSD}double>'),
        ("042", f'"042"^^<{XSD}integer>'),
        ("4.2", f'"4.2"^^<{XSD}decimal>'),
        (".5", f'".5"^^<{XSD}decimal>'),
        ("4e2", f'"4e2"^^<{XSD}double>'),
        ("4.E-2", f'"4.E-2"^^<{XSD}double>'),
        ("true", f'"true"^^<{XSD}boolean>'),
    ],
)
def test_constants_become_canonical_terms(text, term):
    """Every spelling of a term becomes its canonical N-Triples text."""
    assert constant(text) == term


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("?a + ?b * ?c", "(?a + (?b * ?c))"),
        ("?a - ?b - ?c", "((?a - ?b) - ?c)"),
        ("?a ** ?b ** ?c", "(?a ** (?b ** ?c))"),
        ("-?a ** ?b", "(-(?a ** ?b))"),
        ("?a ** -?b", "(?a ** (-?b))"),
        ("-?a * ?b", "((-?a) * ?b)"),
        ("?a % ?b / ?c", "((?a % ?b) / ?c)"),
        ("(?a + ?b) * ?c", "((?a + ?b) * ?c)"),
        ("?a - -5", "(?a - -5)"),
    ],
)
def test_operators_bind_as_in_mathematics(text, grouped):
    """`**` binds strongest, right-associatively, then the sign, then `* / %`, then `+ -`."""

    def show(node):
        match node:
            case BinaryOperation(operator, left, right):
                return f"({show(left)} {operator} {show(right)})"
            case UnaryMinus(operand):
                return f"(-{show(operand)})"
            case _:
                return print_expression(node)

    assert show(expression(text)) == grouped


def test_min_of_one_is_an_aggregate_and_of_two_a_function():
    """The number of arguments distinguishes `min(?d)` from `min(?a, ?b)`."""
    assert isinstance(expression("min(?d)"), Aggregate)
    assert isinstance(expression("min(?a, ?b)"), Call)
    assert expression("count(distinct ?x)").distinct


def test_a_triple_is_an_atom_of_predicate_triple():
    """`a` in predicate position is rdf:type; a predicate may still be named `a`."""
    rule = parse(EX + "[?x, a, ex:C] :- a(?x) .").rules[0]

    assert rule.head.predicate == "triple"
    assert rule.head.arguments[1].term.endswith("#type>")
    assert rule.body[0].predicate == "a"


def test_four_terms_in_brackets_are_a_quad():
    """`[?s, ?p, ?o, ?g]` is `quad(?s, ?p, ?o, ?g)`, where `a` is rdf:type too."""
    assert parse("p(?g) :- [?s, ?p, ?o, ?g] .") == parse("p(?g) :- quad(?s, ?p, ?o, ?g) .")
    assert parse("p(?g) :- [?s, a, ?o, ?g] .").rules[0].body[0].arguments[1].term.endswith("#type>")
    assert print_rule(parse("p(?g) :- quad(?s, ?p, ?o, ?g) .").rules[0]) == (
        "p(?g) :- [?s, ?p, ?o, ?g] ."
    )


def test_brackets_are_for_triples_and_quads_alone():
    """`triple` with four terms and `quad` with three are errors, and are printed as written."""
    rule = parse("triple(?a, ?b, ?c, ?d) :- quad(?a, ?b, ?c), [?a, ?b, ?c, ?d, ?a] .").rules[0]

    assert [atom.predicate for atom in (rule.head, *rule.body)] == ["triple", "quad", "triple"]
    assert print_rule(rule) == (
        "triple(?a, ?b, ?c, ?d) :- quad(?a, ?b, ?c), [?a, ?b, ?c, ?d, ?a] ."
    )


def test_every_construct_reads_back_as_itself():
    """The file with every construct is accepted, and survives printing and parsing."""
    path = Path(__file__).with_name("everything.dl")
    program = parse(path.read_text(encoding="utf-8"), str(path))

    assert parse(print_program(program)) == program
    assert check(program).warnings == ()


def test_the_file_with_everything_has_every_construct():
    """It has each class of node, each operator and each built-in."""
    program = parse(Path(__file__).with_name("everything.dl").read_text(encoding="utf-8"))
    nodes = [
        node
        for rule in program.rules
        for literal in (*rule.heads, *rule.body)
        for node in walk(literal)
    ]
    seen = {type(node) for node in (*nodes, *program.directives)}
    operators = {node.operator for node in nodes if isinstance(node, BinaryOperation | Comparison)}

    assert set(get_args(ast.Expression)) | set(get_args(ast.Literal)) <= seen
    assert set(get_args(ast.Directive)) <= seen
    assert operators == {*"+-*/%", "**", "=", "!=", "<", "<=", ">", ">="}
    assert {node.function for node in nodes if isinstance(node, Call | Aggregate)} >= NAMES


def test_a_rule_whose_literals_are_all_refused_is_no_fact():
    """The errors are reported once, and not again as a fact with variables."""
    reading = read("p(?x) :- true .", "x.dl")

    assert [item.code for item in reading.diagnostics] == ["SR107"]
    assert reading.program.rules == ()


def test_groups_are_disjunctions_only_if_they_have_alternatives():
    """Parentheses around a conjunction have no effect; `|` and `or` mean the same."""
    rule = parse("p(?x) :- (a(?x), b(?x)), (c(?x) | d(?x), e(?x) or f(?x)) .").rules[0]

    assert [literal.predicate for literal in rule.body[:2]] == ["a", "b"]
    assert isinstance(rule.body[2], Disjunction)
    assert [len(each) for each in rule.body[2].alternatives] == [1, 2, 1]


def test_comments_end_with_the_line():
    """`#` and `//` begin comments everywhere, `%` only where no operator is possible."""
    text = "% first\np(?x) :- q(?x), # second\n ?x % 2 = 0 . // third . \n% fourth . p( \n"

    assert [print_rule(rule) for rule in parse(text).rules] == ["p(?x) :- q(?x), ?x % 2 = 0 ."]


def test_comparisons_need_no_blanks():
    """`<` after an operand is an operator, not the start of an IRI."""
    text = "p(?x):-q(?x,?y),?x<3,?y>2,?x<=?y ."

    assert print_rule(parse(text).rules[0]) == "p(?x) :- q(?x, ?y), ?x < 3, ?y > 2, ?x <= ?y ."


def test_an_iri_may_hold_comment_marks_and_dots():
    """`//`, `#` and `.` inside an IRI or a string neither begin a comment nor end a rule."""
    text = 'p(<http://example.org/a.b#c>, "# // . %") .\nq(1) .'

    assert len(parse(text).rules) == 2


def test_an_empty_text_is_an_empty_program():
    """A file without statements is a program that derives nothing."""
    assert parse("  # nothing\n").rules == ()
    assert parse("").directives == ()


def test_a_byte_order_mark_may_begin_a_text():
    """Editors of Windows write it; elsewhere it is a mistake."""
    assert parse("\ufeffp(1) .").rules == parse("p(1) .").rules
    with pytest.raises(ProgramError, match="1:6"):
        parse("p(1)\x20\ufeff.")


def test_spans_give_line_column_and_offset():
    """Lines and columns count from 1, offsets from 0; the end is exclusive."""
    text = "p(?x) :-\n  edge(?x, ?yy) ."
    span = parse(text, "x.dl").rules[0].body[0].arguments[1].span

    assert (span.source, span.line, span.column, span.end_line, span.end_column) == (
        "x.dl", 2, 12, 2, 15,
    )  # fmt: skip
    assert text[span.start : span.end] == "?yy"


def test_a_broken_statement_does_not_hide_the_others():
    """Parsing continues after an error; dots in strings and IRIs do not end a statement."""
    text = 'p(?x :- q(?x, "a. b", <http://e.org/.>) .\nr(?x) :- s(?x) .\nt(?x) :- , .\nu(1) .'
    reading = read(text, "x.dl")

    assert [print_rule(rule) for rule in reading.program.rules] == ["r(?x) :- s(?x) .", "u(1) ."]
    assert [item.span.line for item in reading.diagnostics] == [1, 3]
    assert not reading.complete


def test_nesting_has_a_limit_and_it_is_a_diagnostic():
    """A text with thousands of nested parentheses gets a diagnostic and does not crash."""
    with pytest.raises(
        ProgramError, match="SR108 expressions and groups are nested more than 100 deep"
    ):
        parse("p(?x) :- " + "(" * 5000 + "q(?x)" + ")" * 5000 + " .")


def test_mistakes_are_limited():
    """A file that is not a program gives a bounded number of diagnostics."""
    assert len(read("} . " * 1000, "x.dl").diagnostics) == 20


def test_lines_may_end_in_any_way():
    """Windows line endings and form feeds are white space."""
    assert len(parse("p(1) .\r\n\fq(2) .\r\n").rules) == 2
