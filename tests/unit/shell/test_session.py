"""Commands of the shell: their output, and that a failing one changes nothing."""

from __future__ import annotations

import pytest
from transcripts import run

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.errors import ProgramError, StreamReasonerError
from streamreasoner.program import check_text
from streamreasoner.shell.execute import Session
from streamreasoner.shell.output import Line, Tone

PATHS = """@prefix ex: <http://example.org/> .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""


def said(rules, *commands):
    """The output of the last command."""
    session = Session(Reasoner(check_text(rules)))
    session.start(())
    for command in commands[:-1]:
        session.execute(command)
    return [line.text for line in session.execute(commands[-1])]


def test_a_commit_prints_the_changes_in_order():
    """Changes are sorted by predicate and value; input is marked; totals come last."""
    assert said(PATHS, "insert edge(10, 9), edge(ex:a, 2), edge(9, 10).", "commit") == [
        "+ edge(ex:a, 2)  # asserted",
        "+ edge(9, 10)  # asserted",
        "+ edge(10, 9)  # asserted",
        "+ path(ex:a, 2)",
        "+ path(9, 9)",
        "+ path(9, 10)",
        "+ path(10, 9)",
        "+ path(10, 10)",
        "8 changes, 5 derived; 5 iterations",
    ]


def test_a_deletion_is_printed_with_its_consequences():
    """Facts that became absent have a minus; those with another derivation stay."""
    assert said(
        PATHS,
        "insert edge(1, 2), edge(2, 3), edge(1, 3).",
        "commit",
        "remove edge(2, 3).",
        "commit",
    ) == [
        "- edge(2, 3)  # retracted",
        "- path(2, 3)",
        "2 changes, 1 derived; 4 iterations",
    ]


def test_facts_that_change_only_their_support_stay():
    """Asserting a derived fact, or retracting that assertion, does not change its presence."""
    assert said(PATHS, "insert edge(1, 2).", "commit", "insert path(1, 2).", "commit")[0] == (
        "= path(1, 2)  # asserted, was derived"
    )
    assert said(PATHS, "insert edge(1, 2), path(1, 2).", "commit", "remove path(1, 2).", "commit")[
        0
    ] == ("= path(1, 2)  # retracted, still derived")


def test_updates_are_pending_until_they_are_applied_or_discarded():
    """Nothing changes before `commit`; `rollback` leaves nothing to commit."""
    assert run(
        PATHS,
        "insert edge(1, 2) * 3.\nremove edge(2, 3).\npending\nlist edge\ndiscard\npending\ncommit",
    ) == (
        "> insert edge(1, 2) * 3.\n"
        "> remove edge(2, 3).\n"
        "> pending\n"
        "+ edge(1, 2) * 3\n"
        "- edge(2, 3)\n"
        "2 updates\n"
        "> list edge\n"
        "0 facts\n"
        "> discard\n"
        "2 updates discarded.\n"
        "> pending\n"
        "0 updates\n"
        "> commit\n"
        "No pending updates. Add some with `insert` or `remove`.\n"
    )


def test_a_failing_epoch_leaves_all_as_it_was():
    """The state is unchanged, and the updates are still pending."""
    session = Session(
        Reasoner(check_text("next(?x + 1) :- next(?x), ?x != 9 ."), recursion_limit=20)
    )
    session.execute("insert next(8).")
    session.execute("commit")
    session.execute("insert next(1000).")
    with pytest.raises(StreamReasonerError) as caught:
        session.execute("commit")

    assert "Nothing has changed; 1 update still pending" in str(caught.value)
    assert [line.text for line in session.execute("list next")] == ["next(8)", "next(9)", "2 facts"]
    assert len(session.pending) == 1


QUESTIONS = f"{PATHS}[?x, a, ex:Node] :- edge(?x, _) .\nedge(1, 2), edge(2, 2), edge(2, 10) ."


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("list edge", ["edge(1, 2)", "edge(2, 2)", "edge(2, 10)", "3 facts"]),
        ("list path(?x, ?x)", ["path(2, 2)", "1 fact"]),
        ("list path(1, _).", ["path(1, 2)", "path(1, 10)", "2 facts"]),
        ("list path(unknown:x, _)", None),
        ("list path(ex:nowhere, _)", ["0 facts"]),
        ("list [?x, a, ?c]", ["[1, a, ex:Node]", "[2, a, ex:Node]", "2 facts"]),
        ("list triple", ["[1, a, ex:Node]", "[2, a, ex:Node]", "2 facts"]),
        ("count path", ["4 facts"]),
        ("count path(?x, 10)", ["2 facts"]),
        (
            "trace path(1, ?y)",
            ["path(1, 2): 1 at 1, 1 at 2", "path(1, 10): 1 at 2", "2 facts"],
        ),
        (
            "predicates",
            ["edge/2: 3 facts", "path/2: 4 facts, 2 rules", "triple/3: 2 facts, 1 rule"],
        ),
        (
            "rules",
            [
                "1  path(?x, ?y) :- edge(?x, ?y) .",
                "2  path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .",
                "3  [?x, a, ex:Node] :- edge(?x, _) .",
            ],
        ),
        (
            "stats",
            [
                "facts present: 9",
                "facts asserted: 3",
                "facts held, present or not: 9",
                "facts below zero: 0",
                "multiplicities, by fact and iteration: 12",
                "terms: 5",
            ],
        ),
        (
            "help why",
            ["explain f(1)", "  Why a fact is present, or why it is absent. Also: why-not, why."],
        ),
        ("# nothing", []),
        ("", []),
        ("quit", []),
    ],
)
def test_a_question_is_answered_in_order(command, expected):
    """Answers are sorted by value, and shortened with the program's prefixes."""
    if expected is None:
        with pytest.raises(StreamReasonerError, match="unknown prefix"):
            said(QUESTIONS, command)
    else:
        assert said(QUESTIONS, command) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "edge(?x, ?y), path(?y, ?z)",
            [
                "?x = 1, ?y = 2, ?z = 2",
                "?x = 1, ?y = 2, ?z = 10",
                "?x = 2, ?y = 2, ?z = 2",
                "?x = 2, ?y = 2, ?z = 10",
                "4 answers",
            ],
        ),
        ("path(?x, ?y), not edge(?x, ?y).", ["?x = 1, ?y = 10", "1 answer"]),
        ("edge(?x, ?y), ?z = ?y / 4, ?z > 2", ["?x = 2, ?y = 10, ?z = 2.5", "1 answer"]),
        ("(edge(?x, 10) | edge(_, ?x), ?x > 2)", ["?x = 2", "?x = 10", "2 answers"]),
        (
            "[?x, a, ?c], ?n = count(?y) { path(?x, ?y), ?y != 2 }",
            ["?x = 1, ?c = ex:Node, ?n = 1", "?x = 2, ?c = ex:Node, ?n = 1", "2 answers"],
        ),
        ("?n = sum(?y) { edge(_, ?y) }", ["?n = 14", "1 answer"]),
        ("?i = range(2, 4), not edge(?i, _)", ["?i = 3", "1 answer"]),
        ("edge(1, ?x + 1), ?x = 1", ["?x = 1", "1 answer"]),
        ("asserted edge(?x, ?x)", ["?x = 2", "1 answer"]),
        ("path(?x, ?y), not asserted path(?x, ?y), edge(?y, 2), ?x < ?y", ["?x = 1, ?y = 2"]),
        ("(edge(?x, ?y), ?y > 2 | edge(?z, ?x), ?z > 1)", ["?x = 2", "?x = 10", "2 answers"]),
        ("edge(1, 2), not edge(2, 1)", ["true", "1 answer"]),
        ("edge(1, 2), edge(2, 1)", ["0 answers"]),
    ],
)
def test_a_body_is_answered(body, expected):
    """With its named variables in the order of the text; `true` if it has none and holds."""
    assert said(QUESTIONS, f"list {body}")[: len(expected)] == expected
    (counted,) = said(QUESTIONS, f"count {body}")
    assert expected[-1] in (counted, expected[0])


def test_asserted_facts_are_asked_of_the_state():
    """To what evaluates a question all facts are input; candidates that lose are asserted too."""
    rules = "least(?x, min(?y)) :- edge(?x, ?y) .\n"
    commands = ("insert edge(1, 5), least(1, 7), least(2, 9).", "commit")

    assert said(rules, *commands, "list least") == ["least(1, 5)", "least(2, 9)", "2 facts"]
    assert said(rules, *commands, "list least(?x, ?y), not asserted least(?x, ?y)") == [
        "?x = 1, ?y = 5",
        "1 answer",
    ]
    assert said(rules, *commands, "list asserted least(?x, ?y), ?x = 1") == [
        "?x = 1, ?y = 7",
        "1 answer",
    ]


def test_a_question_leaves_nothing():
    """Neither terms that it computes nor a predicate of its own."""
    session = Session(Reasoner(check_text(QUESTIONS)))
    session.start(())
    before = [session.execute(each) for each in ("stats", "predicates", "rules", "trace path")]
    session.execute("list edge(?x, ?y), ?z = ?x + 1000, not path(?z, _)")

    assert before == [
        session.execute(each) for each in ("stats", "predicates", "rules", "trace path")
    ]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "list path(?x, ?y),\n  pth(?y, ?z)",
            (
                "<input>:2:3: SR211 the program has no predicate 'pth'\n"
                "    pth(?y, ?z)\n"
                "    ^^^^^^^^^^^\n"
                "  = help: did you mean 'path'?"
            ),
        ),
        ("list path(?x, ?y), edge(?y)", "<input>:1:20: SR210 'edge' has 2 arguments in the"),
        (
            "list path(?x, ?y), not edge(?y, ?z)",
            (
                "<input>:1:33: SR202 variable '?z' is not bound by a positive atom or an"
                " assignment\n"
                "  list path(?x, ?y), not edge(?y, ?z)\n"
                "                                  ^^\n"
                "  = help: add an atom with ?z to the body, or write `_` if any value will do"
            ),
        ),
        ('list edge(?x, ?y), matches(?x, "(")', "<input>:1:33: SR243 "),
        ("list edge(?x, ?y), ?n = count() { nod(?x) }", "<input>:1:35: SR211 the program has no"),
        ("list edge(?x, ?y) :- path(?x, ?y)", "<input>:1:19: SR101 found `:-`, expected"),
        (
            "list edge(?x, ?y). path(?y, ?z).",
            (
                "<input>:1:20: SR101 more than one question\n"
                "  list edge(?x, ?y). path(?y, ?z).\n"
                "                     ^^^^^^^^^^^^^\n"
                "  = help: join atoms by commas"
            ),
        ),
        (
            "list edge(?x, ?y). @prefix e: <http://e/> .",
            "<input>:1:20: SR101 a directive, where a question is expected\n",
        ),
        ("list edge(?x", "<input>:1:12: SR102 the text ends here, expected `,` or `)`"),
        (f"list {', '.join(f'edge({i}, _)' for i in range(101))}", "<input>:1:1296: SR208 a body"),
    ],
)
def test_a_wrong_question_has_a_caret(command, expected):
    """The diagnostics are those of rules, in the command as typed."""
    with pytest.raises(StreamReasonerError) as caught:
        said(QUESTIONS, command)

    assert str(caught.value).startswith(expected)


def test_a_question_with_a_warning_is_answered():
    """The warning comes first."""
    assert said(QUESTIONS, "count edge(?x, 10), edge(?y, 10)") == [
        "<input>:1:21: SR503 this atom and edge(?x, 10) share no variable: a cartesian product",
        "  count edge(?x, 10), edge(?y, 10)",
        "                      ^^^^^^^^^^^^",
        "  = help: join them on a variable, or move one into a separate rule",
        "1 answer",
    ]


def test_help_lists_every_command():
    """Each command has a line with its description."""
    lines = said(PATHS, "help")

    assert [line.split()[0] for line in lines][:4] == ["insert", "remove", "pending", "commit"]
    assert "why a fact is present" in next(line for line in lines if line.startswith("explain"))


def test_a_predicate_of_no_arguments_is_printed():
    """Facts without arguments are facts too."""
    assert said("alarm() :- hot(?x), ?x > 9 .", "insert hot(10).", "commit") == [
        "+ alarm()",
        "+ hot(10)  # asserted",
        "2 changes, 1 derived; 3 iterations",
    ]


def test_a_present_and_an_absent_fact_are_explained():
    """A present fact has a proof, an absent one has what each rule lacks."""
    commands = ("insert edge(1, 2), edge(2, 3).", "commit")

    assert said(PATHS, *commands, "explain path(1, 3)")[0] == "path(1, 3)"
    assert "is absent" in said(PATHS, *commands, "why-not path(3, 1)")[0]


def test_the_plan_is_printed():
    """`plan` prints how the rules are evaluated, and the numbers of the state."""
    assert any("path" in line for line in said(PATHS, "plan"))
    assert "asserted 1, derivations 1" in said(PATHS, "insert edge(1, 2).", "commit", "plan")


def test_a_prefix_is_for_what_comes_after_it():
    """A declared prefix is accepted in input and used in output."""
    assert said(PATHS, "@prefix e: <http://e/> .", "insert edge(e:x, e:y).", "commit")[:2] == [
        "+ edge(e:x, e:y)  # asserted",
        "+ path(e:x, e:y)",
    ]


def test_a_file_is_an_epoch_of_its_own(tmp_path):
    """Its changes are counted by predicate; pending updates stay pending."""
    file = tmp_path / "edge.csv"
    file.write_text("1,2\n2,3\n", encoding="utf-8")
    commands = ("insert edge(3, 4).", f"load '{file}'")

    assert said(PATHS, *commands) == ["edge: +2", "path: +3", "5 changes; 4 iterations"]
    assert said(PATHS, *commands, "pending")[-1] == "1 update"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.dl", "@prefix e: <http://e/> . from(?x) :- edge(?x, _) .", ["+ from(1)"]),
        (
            "a.srl",
            "PREFIX e: <http://e/> DATA { e:a e:b 1 } RULE { ?y e:c ?x } WHERE { ?x e:b ?y }",
            ["+ [e:a, e:b, 1]", "+ [1, e:c, e:a]"],
        ),
        ("asked.rq", "SELECT ?x { ?x ?p 1 }", ["+ asked(ex:a)"]),
    ],
)
def test_rules_are_loaded_from_files(tmp_path, name, text, expected):
    """Those of rules, rule sets and queries; what is wrong is named with the file."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    facts = ("insert edge(1, 2), [ex:a, ex:p, 1].", "commit")
    assert sorted(said(PATHS, *facts, f"load '{file}'")[:-1]) == sorted(expected)
    if "e:" in text:
        assert said(PATHS, f"load '{file}'", "list [e:a, e:none, ?x]") == ["0 facts"]
    file.write_text(f"{text} }}", encoding="utf-8")
    with pytest.raises(ProgramError, match=f"{name}:1:"):
        said(PATHS, f"load '{file}'")
    with pytest.raises(ProgramError, match=f"There is no rule file 'none-{name}'"):
        said(PATHS, f"load none-{name}")


def test_a_bad_file_changes_nothing(tmp_path):
    """A file of an unknown predicate is refused."""
    file = tmp_path / "road.csv"
    file.write_text("1,2\n", encoding="utf-8")
    with pytest.raises(StreamReasonerError, match="no predicate 'road'"):
        said(PATHS, f"load '{file}'")


def test_rules_come_and_go():
    """Facts that a new rule derives appear, and disappear with the rule."""
    commands = (
        "insert edge(1, 2).",
        "commit",
        "rule path(?y, ?x) :- path(?x, ?y) .",
    )

    assert said(PATHS, *commands)[:-1] == ["+ path(2, 1)", "+ path(2, 2)"]
    assert said(PATHS, *commands, "rules")[-1] == "3  path(?y, ?x) :- path(?x, ?y) ."
    assert said(PATHS, *commands, "drop 3")[:-1] == ["- path(2, 1)", "- path(2, 2)"]
    assert said(PATHS, *commands, "drop 3", "rules")[-1].startswith("2  ")


def test_a_rule_with_a_warning_is_added_and_the_warning_shown():
    """Warnings are printed before the changes."""
    assert said(PATHS, "rule far(?x) :- path(?x, ?y) .")[:3] == [
        "<input>:1:26: SR501 variable '?y' occurs once in its rule",
        "  rule far(?x) :- path(?x, ?y) .",
        "                           ^^",
    ]


def test_a_wrong_rule_has_a_caret_in_the_command():
    """Errors of the rule, by itself or with the program, have a caret in the typed text."""
    with pytest.raises(StreamReasonerError) as caught:
        said(PATHS, "rule far(?x) :-\n  path(?y, _) .")

    assert str(caught.value).startswith(
        "<input>:1:10: SR201 variable '?x' of the head is not bound in the body\n"
        "  rule far(?x) :-\n"
        "           ^^\n"
    )
    with pytest.raises(StreamReasonerError, match="SR301"):
        said(PATHS, "rule edge(?x, ?y) :- path(?x, ?y), not path(?y, ?x).")


def test_there_are_only_so_many_rules():
    """A rule is dropped by its number in `rules`; other numbers are refused."""
    with pytest.raises(StreamReasonerError, match="There is no rule 3;"):
        said(PATHS, "drop 3")


def test_a_limit_cuts_long_answers():
    """The totals are those of the whole answer."""
    session = Session(Reasoner(check_text(PATHS)), limit=2)
    session.execute("insert edge(1, 1), edge(2, 2), edge(3, 3).")
    session.execute("commit")

    assert session.execute("list edge") == [
        Line("edge(1, 1)"),
        Line("edge(2, 2)"),
        Line("… and 1 more", Tone.NOTE),
        Line("3 facts", Tone.NOTE),
    ]
    assert session.execute("list edge(?x, ?y), ?x > 0") == [
        Line("?x = 1, ?y = 1"),
        Line("?x = 2, ?y = 2"),
        Line("… and 1 more", Tone.NOTE),
        Line("3 answers", Tone.NOTE),
    ]


def test_a_clock_tells_how_long_an_epoch_took():
    """Durations and memory are reported only if a clock is set."""
    session = Session(Reasoner(check_text(PATHS)), clock=iter([2.0, 2.25]).__next__)
    session.execute("insert edge(1, 1).")

    assert session.execute("commit")[-1].text.endswith("; 250.0 ms")
    assert session.execute("stats")[-1].text.endswith(" MiB")


def test_the_first_epoch_takes_facts_of_program_and_files(tmp_path):
    """Both are present from the start; a program without facts begins without an epoch."""
    file = tmp_path / "edge.csv"
    file.write_text("2,3\n", encoding="utf-8")
    session = Session(Reasoner(check_text(f"{PATHS}edge(1, 2) .")))

    assert session.start([str(file)])[0] == Line("edge: +2")
    assert Session(Reasoner(check_text(PATHS))).start(()) == []


def test_what_is_left_is_told_at_the_end():
    """`quit`, or the end of a script, reports the number of uncommitted updates."""
    assert said(PATHS, "insert edge(1, 2).", "quit") == ["1 update not committed."]
    assert run(PATHS, "insert edge(1, 2).").endswith(
        "> insert edge(1, 2).\n1 update not committed.\n"
    )


TRIPLES = """@prefix ex: <http://example.org/> .
[?x, ex:reaches, ?y] :- [?x, ex:to, ?y] .
"""


def test_an_update_is_an_epoch_of_its_own():
    """It has the prefixes in scope, prints its changes, and leaves pending updates pending."""
    insert = "update INSERT DATA { ex:a ex:to ex:b }"
    assert said(TRIPLES, insert) == [
        "+ [ex:a, ex:reaches, ex:b]",
        "+ [ex:a, ex:to, ex:b]  # asserted",
        "2 changes, 1 derived; 3 iterations",
    ]
    delete = "update DELETE { ?x ex:to ?y }\nINSERT { ?y ex:to ?x } WHERE { ?x ex:reaches ?y }"
    assert said(TRIPLES, insert, delete)[-1].startswith("4 changes, 2 derived;")
    pending = said(TRIPLES, "insert [ex:x, ex:to, ex:y].", insert, "pending")
    assert pending == ["+ [ex:x, ex:to, ex:y]", "1 update"]


def test_a_mistake_in_an_update_has_its_place():
    """In the command as it was typed."""
    with pytest.raises(StreamReasonerError) as found:
        said(TRIPLES, "update INSERT DATA { ex:a ex:to }")
    line, shown, caret, *_ = str(found.value).splitlines()
    assert line.startswith("<input>:1:33: SR260")
    assert shown.strip() == "update INSERT DATA { ex:a ex:to }"
    assert caret.index("^") - len(shown) == -1
    with pytest.raises(StreamReasonerError, match="cannot delete <http://example"):
        said(
            TRIPLES,
            "update INSERT DATA { ex:a ex:to ex:b }",
            "update DELETE DATA { ex:a ex:reaches ex:b }",
        )
