"""Questions of the shell: the answers of a body are what a rule with this body derives."""

from __future__ import annotations

from driver import Driver
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import checked, scenarios
from thorough import THOROUGH

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.lang.printer import print_literal
from streamreasoner.query.question import Question, read_question
from streamreasoner.query.syntax import Scope
from streamreasoner.shell.answering import answers
from streamreasoner.values.order import order_key


def question(body, reasoner):
    """A question that was typed."""
    return read_question(f"list {body}", 4, Scope((), reasoner.program.arities))


@settings(max_examples=1_000 if THOROUGH else 15)
@given(scenarios(most_rules=4, most_epochs=2), st.integers(0, 2**16))
def test_answers_are_what_a_rule_derives(scenario, number):
    """Of any body, in the order of terms; the reasoner stays as it was, to the last term."""
    rules = [rule for rule in scenario.checked.program.rules if rule.body]
    assume(rules)
    rule = rules[number % len(rules)]
    body = ", ".join(map(print_literal, rule.body))
    asking = Driver(scenario.checked)
    asking.run(scenario.epochs)
    reasoner = Reasoner.of_session(asking.session)
    asked = question(body, reasoner)
    assume(isinstance(asked, Question))
    before = asking.trace(asking.predicates), len(asking.session.dictionary)
    found = answers(asked, reasoner).first(None)

    listed = ", ".join(f"?{name}" for name in asked.variables)
    deriving = Driver(checked(f"{scenario.program}\nasked({listed}) :- {body} ."))
    deriving.run(scenario.epochs)
    assert {("asked", row) for row in found} == deriving.closure(["asked"])
    assert found == sorted(found, key=lambda row: [order_key(term) for term in row])
    assert (asking.trace(asking.predicates), len(asking.session.dictionary)) == before
