"""Control messages: a value is one change of the program, or has one rejection reason."""

from __future__ import annotations

import json
import sys

import pytest
from control_builders import CONTROL_REASONS, control, messages

from streamreasoner.errors import StateError
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.lang.printer import print_rule
from streamreasoner.pipeline.control import ControlMessage, Operation, read_control, write_control
from streamreasoner.pipeline.rule_changes import after, decide
from streamreasoner.program import check_text
from streamreasoner.state.in_effect import ProgramInEffect, same_program, stored_text

BASE = """
@prefix ex: <http://example.org/> .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
start(ex:a) .
"""


def in_effect(rules=BASE, width=8):
    """The program of a new state."""
    return ProgramInEffect.restored([(-1, stored_text(check_text(rules)))], width)


def reason(value, current=None, limit=10_000):
    """The reason for rejecting one message."""
    current = in_effect() if current is None else current
    decision = decide(current, messages(control=[value]), limit, 0)
    assert decision.program is current
    assert decision.applied == ()
    (refused,) = decision.rejected
    return refused


def wide(count):
    """An atom with *count* arguments."""
    return ", ".join(f"?v{number}" for number in range(count))


REFUSED = {
    "no value": (None, Reason.EMPTY_VALUE, "no value"),
    "too long": (control("add", "p(1) .", source="x" * 10_000), Reason.OVERSIZED, "the maximum is"),
    "not JSON": (b"{add:1}", Reason.NOT_JSON, "not JSON"),
    "not UTF-8": (b'{"operation":"\xff"}', Reason.NOT_UTF8, "not UTF-8"),
    "an array": (b"[]", Reason.NOT_AN_OBJECT, "array"),
    "an update": (b'{"s":"<a>"}', Reason.UNKNOWN_FIELD, "operation, rules, source"),
    "no rules": (b'{"operation":"add"}', Reason.MISSING_FIELD, "rules is missing"),
    "no operation": (b'{"rules":""}', Reason.MISSING_FIELD, "operation is missing"),
    "rules as array": (control("add", ["p(1) ."]), Reason.WRONG_TYPE, "rules is"),
    "source as number": (control("add", "", source=7), Reason.WRONG_TYPE, "source is 7"),
    "source as ruleset": (control("add", "", source="<rdfs>"), Reason.WRONG_TYPE, "without <"),
    "operation": (control("ad", "p(1) ."), Reason.UNKNOWN_OPERATION, "Did you mean add?"),
    "syntax": (control("add", "p(?x) : q(?x) .", source="my.dl"), Reason.RULES_REFUSED, "my.dl:1:"),
    "safety": (control("replace", "p(?y) :- q(?x) ."), Reason.RULES_REFUSED, "SR"),
    "with the program": (control("add", "p(?x) :- edge(?x) ."), Reason.RULES_REFUSED, "SR210"),
    "negative circle": (
        control("add", "edge(?x, ?y) :- edge(?y, ?x), not path(?x, ?y) ."),
        Reason.RULES_REFUSED,
        "SR",
    ),
    "an output that no rule has": (
        control("replace", "@output path ."),
        Reason.RULES_REFUSED,
        "SR211",
    ),
    "unknown rule": (
        control("remove", "path(?a, ?b) :- edge(?a, ?b) ."),
        Reason.UNKNOWN_RULE,
        "path(?a, ?b) :- edge(?a, ?b) .",
    ),
    "file": (control("add", '@import "/etc/passwd" .'), Reason.IMPORT_OF_A_FILE, "/etc/passwd"),
    "file of a replacement": (
        control("replace", '@import "rdfs" . @import "other.dl" .'),
        Reason.IMPORT_OF_A_FILE,
        "other.dl",
    ),
    "file of a removal": (
        control("remove", '@import "other.dl" .'),
        Reason.IMPORT_OF_A_FILE,
        "other.dl",
    ),
    "file of a query": (
        control("add", '@query late "late.rq" .'),
        Reason.IMPORT_OF_A_FILE,
        "rules add FILE.rq --name late",
    ),
    "a query of a known name": (
        control("add", "path(?x, ?y) :- edge(?x, ?y) .", query="path"),
        Reason.RULES_REFUSED,
        "has the predicate 'path' already",
    ),
    "no name of a query": (control("add", "p(1) .", query="a b"), Reason.WRONG_TYPE, "query is"),
    "other expiries": (
        control("add", '@expires edge/2 after "PT1H" .'),
        Reason.OTHER_EXPIRIES,
        "What expires is fixed when a state begins",
    ),
    "other arity": (control("replace", "edge(1) ."), Reason.OTHER_ARITY, "but 2 in"),
    "a constraint of an ordinary predicate": (
        control("replace", "!edge(?x, ?y) :- link(?x, ?y) ."),
        Reason.OTHER_ROLE,
        "'edge' is a constraint in the new program, but was an ordinary predicate before",
    ),
    "too many arguments": (
        control("add", f"p({wide(9)}) :- q({wide(9)}) ."),
        Reason.TOO_MANY_ARGUMENTS,
        "has 9 arguments; the tables of this state have columns for 8",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_rejected_message_changes_nothing_and_has_a_reason(name):
    """Each error has one reason, which quotes it; the program is unchanged."""
    value, expected, words = REFUSED[name]
    refused = reason(value)
    assert refused.reason is expected, refused.detail
    assert words in refused.detail


def test_every_reason_of_control_messages_is_covered():
    """Errors that depend on engine or output are covered by the tests of epochs."""
    covered = {expected for _, expected, _ in REFUSED.values()}
    assert covered >= CONTROL_REASONS - {Reason.EPOCH_FAILED, Reason.UNPUBLISHABLE}


def test_hidden_predicates_need_columns_too():
    """An aggregate's matches are facts of the trace, so their arguments count too."""
    groups = "p(?a, ?b, count(?c)) :- q(?a, ?b, ?c) ."
    current = in_effect("p(?a, ?b, ?c) :- q(?a, ?b, ?c) .", width=3)
    assert after(current, ControlMessage(Operation.REPLACE, groups)) is not current
    values = f"r({wide(3)}) :- q({wide(3)}), not s({wide(3)}, 1, _) . "
    refused = reason(control("add", values), current)
    assert refused.reason is Reason.TOO_MANY_ARGUMENTS


def test_a_query_is_added_once_and_removed():
    """The same message twice would count every match twice."""
    rules = (
        "@hidden far__n1/2 . far__n1(?x, count(?y)) :- path(?x, ?y) . far(?x) :- far__n1(?x, _) ."
    )
    add, remove = (control(each, rules, query="far") for each in ("add", "remove"))
    before = in_effect()
    decision = decide(before, messages(control=[add, add, remove, add, remove]), 10_000, 0)

    assert decision.applied == (0, 2, 3, 4)
    assert [each.reason for each in decision.rejected] == [Reason.RULES_REFUSED]
    assert decision.program.text == before.text


def test_messages_are_applied_in_order():
    """Each message applies to the result of those before it; rejected ones have no effect."""
    decision = decide(
        in_effect(),
        messages(
            control=[
                control("add", "far(?x) :- path(?x, _) ."),
                control("remove", "no(?x) :- such(?x) ."),
                control("add", "twice(?x) :- far(?x), start(?x) ."),
                control("remove", "far(?x) :- path(?x, _) ."),
            ]
        ),
        10_000,
        0,
    )
    assert decision.applied == (0, 2, 3)
    assert [(one.row, one.reason) for one in decision.rejected] == [(1, Reason.UNKNOWN_RULE)]
    expected = check_text(BASE + "twice(?x) :- far(?x), start(?x) .")
    assert decision.program.checked.hash == expected.hash
    assert decision.program.known == {
        "triple": 3,
        "edge": 2,
        "path": 2,
        "start": 1,
        "far": 1,
        "twice": 1,
    }


def test_an_equivalent_program_is_no_change():
    """A reworded program, or a change that is reverted, is the same program."""
    current = in_effect()
    assert after(current, ControlMessage(Operation.REPLACE, f"% again\n{BASE}")) is current
    taken_back = decide(
        current,
        messages(control=[control("add", "p(1) ."), control("remove", "p(1) .")]),
        10_000,
        0,
    )
    assert taken_back.applied == (0, 1)
    assert taken_back.program.text == current.text


def test_a_change_is_the_same_after_a_restart():
    """The outcome of a message does not depend on how the program came about."""
    message = ControlMessage(Operation.ADD, '@import "rdfs" . near(?x) :- start(?x) .')
    first = in_effect(f'@import "rdfs" .\n{BASE}')
    again = ProgramInEffect.restored([(-1, first.text)], 8)
    assert after(first, message).text == after(again, message).text


def test_a_predicate_keeps_its_arity_for_the_life_of_the_state():
    """The tables may hold its facts even if no rule mentions it any more."""
    current = after(in_effect(), ControlMessage(Operation.REPLACE, "p(?x) :- q(?x) ."))
    assert "edge" not in current.checked.arities
    refused = reason(control("add", "p(?x) :- edge(?x) ."), current)
    assert refused.reason is Reason.OTHER_ARITY
    history = [(-1, in_effect().text), (3, current.text)]
    assert ProgramInEffect.restored(history, 8).known == current.known


def test_a_constraint_stays_one_for_the_life_of_the_state():
    """It can be removed and added again, but not become an ordinary predicate."""
    late = '@message late(?x) "{?x}" .\n!late(?x) :- start(?x), not path(?x, _) .\n'
    constrained = after(in_effect(), ControlMessage(Operation.ADD, late))
    without = after(constrained, ControlMessage(Operation.REMOVE, late))
    again = after(without, ControlMessage(Operation.ADD, late))
    history = [(-1, in_effect().text), (3, constrained.text), (4, without.text)]
    restored = ProgramInEffect.restored(history, 8)

    assert list(constrained.checked.constraints) == ["late"]
    assert (without.checked.constraints, without.checked.hash) == ({}, in_effect().checked.hash)
    assert again.text == constrained.text
    for current in (constrained, without, restored):
        refused = reason(control("replace", "late(?x) :- start(?x) ."), current)
        assert refused.reason is Reason.OTHER_ROLE
        assert "'late' is an ordinary predicate in the new program" in refused.detail


def test_another_printer_does_not_change_the_program(monkeypatch):
    """Programs are compared as this version reads them, not by their stored hash."""
    before = in_effect()
    module = sys.modules["streamreasoner.program.checked"]
    monkeypatch.setattr(module, "print_rule", lambda rule: f"{print_rule(rule)} ")
    again = ProgramInEffect.restored([(-1, before.text)], 8)

    assert again.checked.hash != before.text.hash
    assert again.text == before.text
    assert same_program(before.text, again.checked)
    assert not same_program(before.text, check_text("p(?x) :- q(?x) ."))
    assert after(again, ControlMessage(Operation.REPLACE, before.text.text)) is again


def test_a_program_that_this_version_reads_differently_is_refused():
    """This version must parse the stored text and lower it to the stored predicates."""
    text = in_effect().text
    for broken in (
        type(text)(text.hash, f"{text.text}p(", text.predicates),
        type(text)(text.hash, text.text, (*text.predicates, "x/1")),
    ):
        with pytest.raises(StateError, match="cannot be restored"):
            ProgramInEffect.restored([(-1, broken)], 8)


@pytest.mark.parametrize(
    ("source", "kept"), [("a b.dl", "a b.dl"), ("<x>", "control message"), ("", "control message")]
)
def test_what_is_written_is_read(source, kept):
    """The pipeline reads what the command line writes; invalid source names are left out."""
    value = write_control(Operation.REMOVE, 'p("é\n") .', source)
    assert read_control(value) == ControlMessage(Operation.REMOVE, 'p("é\n") .', kept)
    assert set(json.loads(value)) == {"operation", "rules", "source"}


def test_a_long_reason_is_truncated():
    """A thousand errors still fit into a message."""
    rules = "\n".join(f"p{number}(?x) :- q(?y) ." for number in range(2000))
    refused = reason(control("replace", rules), limit=1_000_000)
    assert refused.reason is Reason.RULES_REFUSED
    assert len(refused.detail) < 40_000


def test_a_message_is_read_or_rejected():
    """The reader raises nothing but RejectedError, however deep the nesting."""
    for value in (b"[" * 100_000, b'{"operation":' + b"[" * 100_000, b'{"rules":1e999}'):
        with pytest.raises(RejectedError):
            read_control(value)
    nested = f"p({'(' * 3000}1{')' * 3000}) ."
    assert reason(control("add", nested)).reason is Reason.RULES_REFUSED
