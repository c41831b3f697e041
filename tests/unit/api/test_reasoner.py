"""The Python API: rdflib terms and Python values in and out."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import numpy as np
import pytest
from rdflib import RDF, RDFS, BNode, Literal, URIRef, Variable

from streamreasoner import Reasoner, Update
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import (
    DataError,
    EngineError,
    ProgramError,
    RecursionLimitError,
    StreamReasonerError,
)
from streamreasoner.rdf.terms import Term
from streamreasoner.rdf.texts import column
from streamreasoner.system import ahead

EX = "http://example.org/"
PATHS = "path(?x, ?y) :- edge(?x, ?y).\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z).\n"


def edge(x, y, multiplicity=1):
    """An update of `edge`."""
    return Update("edge", (x, y), multiplicity)


def test_a_diff_says_what_became_present_and_absent():
    """An epoch returns its changes, asserted and derived, and the derived ones apart."""
    reasoner = Reasoner.from_rules(PATHS)
    first = reasoner.apply([edge(1, 2), edge(2, 3)])
    second = reasoner.apply([edge(2, 3, -1)])

    assert {update.args for update in first.derived} == {(1, 2), (2, 3), (1, 3)}
    assert set(second.absent) == {
        edge(2, 3, -1),
        Update("path", (2, 3), -1),
        Update("path", (1, 3), -1),
    }
    assert second.present == ()
    assert (first.epoch, second.epoch) == (0, 1)
    assert reasoner.facts("path") == [(1, 2)]


LATE = "!late(?x) :- order(?x), not shipped(?x) .\n"


def test_a_violation_is_only_derived(tmp_path):
    """An update of a constraint is refused, and so is a file of violations."""
    reasoner = Reasoner.from_rules(LATE)
    file = tmp_path / "late.csv"
    file.write_text("a\n")

    with pytest.raises(DataError, match=r"updates\[0\]: 'late' is a constraint"):
        reasoner.apply([Update("late", (1,))])
    with pytest.raises(DataError, match=r"late\.csv: 'late' is a constraint"):
        reasoner.load(file)
    assert reasoner.facts("late") == []


def test_a_predicate_keeps_its_role():
    """A constraint can be removed and added again, but never becomes an ordinary predicate."""
    reasoner = Reasoner.from_rules(LATE)
    reasoner.apply([Update("order", (1,))])
    reasoner.remove_rules(LATE)

    with pytest.raises(EngineError, match="'late' is an ordinary predicate in the new program"):
        reasoner.add_rules("late(?x) :- order(?x) .")
    with pytest.raises(EngineError, match="'order' is a constraint in the new program"):
        reasoner.add_rules("!order(?x) :- shipped(?x) .")
    assert reasoner.add_rules(LATE).present == (Update("late", (1,)),)


def test_facts_are_told_apart_whose_values_are_equal_in_python():
    """1, 1.0 and true are three terms; a set of Python values would hold one of them."""
    reasoner = Reasoner.from_rules("@input p/1 .\nq(?x) :- p(?x) .")
    values = [1, 1.0, True, Decimal("1.0")]
    reasoner.apply(Update("p", (value,)) for value in values)

    facts = [value for (value,) in reasoner.facts("q")]
    traced = [value for (value,), _, _ in reasoner.trace("q")]

    assert Counter(map(type, facts)) == Counter(map(type, traced)) == Counter(map(type, values))


def test_a_trace_tells_iterations_and_multiplicities():
    """A fact that is derived in two ways has an entry for each iteration it is derived at."""
    reasoner = Reasoner.from_rules(PATHS)
    reasoner.apply([edge(1, 2), edge(2, 3), edge(1, 3)])

    assert set(reasoner.trace("path")) == {
        ((1, 2), 1, 1),
        ((2, 3), 1, 1),
        ((1, 3), 1, 1),
        ((1, 3), 2, 1),
    }
    assert set(reasoner.trace("edge")) == {((1, 2), 0, 1), ((2, 3), 0, 1), ((1, 3), 0, 1)}


@pytest.mark.parametrize(
    "term",
    [
        URIRef(EX + "a"),
        BNode("b"),
        Literal("été", lang="fr"),
        Literal("2026-01-01", datatype=URIRef("http://www.w3.org/2001/XMLSchema#date")),
        "plain",
        7,
        Decimal("1.50"),
        2.5,
        True,
    ],
)
def test_terms_come_back_as_they_went_in(term):
    """Every kind of term makes the round trip through a rule."""
    reasoner = Reasoner.from_rules("copy(?x) :- given(?x).")
    reasoner.apply([Update("given", (term,))])
    ((result,),) = reasoner.facts("copy")

    assert result == term
    assert type(result) is type(term)


def test_files_and_rdflib_vocabulary(tmp_path):
    """Facts loaded from a file and facts asserted in Python meet in one state."""
    path = tmp_path / "facts.nt"
    path.write_text(f"<{EX}tom> <{RDF.type}> <{EX}Cat> .\n")
    reasoner = Reasoner.from_rules("rho-df")
    reasoner.load(path)
    diff = reasoner.apply([Update.triple(URIRef(EX + "Cat"), RDFS.subClassOf, URIRef(EX + "Pet"))])

    assert diff.derived == (Update.triple(URIRef(EX + "tom"), RDF.type, URIRef(EX + "Pet")),)


def test_mistakes_are_named():
    """Errors for unknown predicates, wrong arities and invalid rules name what is allowed."""
    reasoner = Reasoner.from_rules(PATHS)
    with pytest.raises(
        DataError, match=r"no predicate 'road'. The predicates are edge/2, path/2, triple/3"
    ):
        reasoner.apply([Update("road", (1, 2))])
    with pytest.raises(DataError, match=r"'edge' has 2 arguments in the program, not 3"):
        reasoner.apply([Update("edge", (1, 2, 3))])
    with pytest.raises(DataError, match="no predicate 'road'"):
        reasoner.facts("road")
    with pytest.raises(ProgramError, match="SR"):
        Reasoner.from_rules("path(?x, ?y) :- edge(?x).")
    with pytest.raises(ProgramError, match="path or the name of a ruleset, not int"):
        Reasoner.from_rules(3)
    with pytest.raises(TypeError, match=r"not str\. Use Reasoner\.from_rules"):
        Reasoner(PATHS)
    assert reasoner.facts("edge") == []


A = URIRef(EX + "a")
QUOTED = Term.parse("<<( <urn:s> <urn:p> _:o )>>")
WRONG_UPDATES = [
    (Update.triple("lit", "notiri", 5, 1.5), 'a triple must be an IRI or a blank node, not "lit"'),
    (Update.triple("lit", A, A), r'not "lit"\. For an IRI, pass an `rdflib\.URIRef`\.'),
    (Update.triple(Literal("lit"), A, A), r'not "lit"\.$'),
    (Update.triple(A, BNode("b"), 5), "predicate of a triple must be an IRI, not _:b"),
    (Update("quad", (A, A, A, "g")), 'graph of a quad must be an IRI or a blank node, not "g"'),
    (Update.triple(QUOTED, A, A), r"must be an IRI or a blank node, not <<\( <urn:s> <urn:p> _:o"),
    (Update.triple(A, QUOTED, A), r"predicate of a triple must be an IRI, not <<\("),
    (Update("quad", (A, A, A, QUOTED)), r"graph of a quad must be .*, not <<\("),
    (Update.triple(A, A, Variable("x")), "rdflib Variable is not an RDF term"),
    (Update.triple(A, A, None), "NoneType is not a term"),
    (Update("edge", (1, 10**5000)), "more digits"),
    (edge(1, 2, 1.5), r"multiplicity must be an integer, not 1\.5"),
    (edge(1, 2, "1"), "multiplicity must be an integer, not '1'"),
    (edge(1, 2, None), "multiplicity must be an integer, not None"),
    (edge(1, 2, 0), "must be a non-zero 64-bit integer, not 0"),
    (edge(1, 2, 2**70), "must be a non-zero 64-bit integer, not 1180591620717411303424"),
    (Update("edge", "ab"), "arguments must be a tuple, got str"),
    (Update(7, (1, 2)), "name of a predicate must be a str, got int"),
    (("edge", (1, 2)), "Expected an `Update`, got tuple"),
]


@pytest.mark.parametrize(("update", "message"), WRONG_UPDATES)
def test_wrong_updates_are_rejected_with_their_position(update, message):
    """The Python API rejects what the codec rejects, and names the update by index."""
    reasoner = Reasoner.from_rules(PATHS + "seen(?g) :- quad(_, _, _, ?g).")
    with pytest.raises(DataError, match=rf"^updates\[1\]: .*{message}"):
        reasoner.apply([edge(1, 2), update])

    assert reasoner.facts("edge") == []


def test_multiplicities_may_have_any_integral_type():
    """Numpy integers are accepted."""
    reasoner = Reasoner.from_rules(PATHS)
    reasoner.apply([edge(1, 2, np.int32(2)), edge(1, 2, np.uint8(1))])

    assert reasoner.trace("edge") == [((1, 2), 0, 3)]


@pytest.mark.parametrize(
    "question",
    [
        lambda reasoner: reasoner.facts(None),
        lambda reasoner: reasoner.trace(["edge"]),
        lambda reasoner: reasoner.explain(None),
        lambda reasoner: reasoner.explain("edge", None, 1),
        lambda reasoner: reasoner.add_rules(None),
        lambda reasoner: reasoner.remove_rules(b"path(1, 2) ."),
    ],
)
def test_wrong_arguments_are_rejected(question):
    """Arguments of a wrong type raise a documented error with a message."""
    with pytest.raises(StreamReasonerError, match=r"got|found|not a term"):
        question(Reasoner.from_rules(PATHS))


def test_helpers_of_rules_are_not_shown():
    """Neither when rules with aggregates over bodies and ranges come nor when they go."""
    rules = "top(?i) :- ?i = range(0, 5), ?i <= sum(?y) { edge(_, ?y) } .\n"
    reasoner = Reasoner.from_rules("@input edge/2 .")
    reasoner.apply([Update("edge", (1, 1))])
    added = reasoner.add_rules(rules)
    (helper, *others) = [name for name in reasoner.session.engine._plan.arities if "#" in name]  # noqa: SLF001

    assert others
    assert {*added.changes} == {Update("top", (0,)), Update("top", (1,))}
    assert {*reasoner.apply([Update("edge", (1, 1), -1)]).changes} == {
        Update("edge", (1, 1), -1),
        Update("top", (1,), -1),
    }
    assert {*reasoner.remove_rules(rules).changes} == {Update("top", (0,), -1)}
    with pytest.raises(DataError, match="no predicate"):
        reasoner.facts(helper)


def test_non_converging_rules_are_named():
    """The error for a program that does not converge names predicates and rules."""
    rules = "n(?x + 1) :- n(?x).\nm(?x) :- n(?x)."
    reasoner = Reasoner.from_rules(rules, recursion_limit=5)
    with pytest.raises(
        RecursionLimitError, match=r"evaluation of 'n' by the rules at <rules>:1 has"
    ):
        reasoner.apply([Update("n", (1,))])


def test_an_epoch_of_the_session_advances_the_epoch():
    """An epoch of encoded updates advances the epoch number."""
    reasoner = Reasoner.from_rules(PATHS)
    reasoner.session.apply([])

    assert reasoner.apply([edge(1, 2)]).epoch == 1


def test_an_epoch_without_a_report_is_the_same():
    """Its changes are not read; the state and the next epoch's changes are as usual."""
    reasoners = [Reasoner.from_rules(PATHS) for _ in range(2)]
    for reasoner, report in zip(reasoners, (True, False), strict=True):
        ids = reasoner.session.dictionary.encode(column(["<urn:1>", "<urn:2>", "<urn:3>"])).tolist()
        updates = Updates("edge", np.array([ids[:2], ids[1:]], np.int32), np.ones(2, np.int64))
        result = reasoner.session.apply([updates], report=report)
        assert [bool([*part]) for part in (result.closure, result.derived, result.trace)] == (
            [report] * 3
        )
        assert (result.updates, result.epoch) == (2, 0)

    first, second = ({name: {*each.trace(name)} for name in ("edge", "path")} for each in reasoners)
    assert first == second
    gone = edge(URIRef("urn:1"), URIRef("urn:2"), -1)
    diffs = [{*reasoner.apply([gone]).changes} for reasoner in reasoners]
    assert diffs[0] == diffs[1]
    assert len(diffs[0]) == 3


GIVEN = """
[?s, <urn:given>, ?o] :- asserted [?s, <urn:p>, ?o] .
[?s, <urn:p>, ?o] :- [?o, <urn:p>, ?s] .
"""


@pytest.mark.parametrize("rules", [GIVEN, f'@expires [_, <urn:seen>, _] after "PT1H" .{GIVEN}'])
def test_reading_ahead_changes_nothing(tmp_path, monkeypatch, rules):
    """Read in another thread, block by block, files give the same ids, facts and diff."""
    random, paths = np.random.default_rng(0), []
    for number in range(8):
        paths.append(tmp_path / f"{number}.nt")
        rows = random.integers(0, 800, (1500, 2)).tolist()
        lines = (f"<urn:{s}> <urn:{('p', 'seen')[s % 2]}> <urn:{o}> .\n" for s, o in rows)
        paths[-1].write_text("".join(lines))
    found = []
    for count in (1, 2):
        monkeypatch.setattr(ahead, "processors", lambda count=count: count)
        reasoner = Reasoner.from_rules(rules)
        diff = reasoner.load(*paths, ts=10)
        terms = reasoner.session.dictionary.terms(0, len(reasoner.session.dictionary)).to_pylist()
        trace = reasoner.session.engine.trace("triple")
        rows = np.column_stack([trace.args, trace.iteration, trace.multiplicity])
        found.append((terms, sorted(map(tuple, rows.tolist())), len(diff.changes)))

    assert found[0] == found[1]
    assert found[0][2] > 0


def test_an_epoch_that_fails_in_the_middle_changes_nothing():
    """An invalid update rolls back the valid ones before it."""
    reasoner = Reasoner.from_rules(PATHS)
    with pytest.raises(DataError):
        reasoner.apply([edge(1, 2), Update("road", (1, 2))])

    assert reasoner.facts("edge") == []
    assert reasoner.apply([]).changes == ()


def test_a_predicate_keeps_its_arity_when_rules_change() -> None:
    """The state may hold facts of the predicate, so a program with another arity is rejected."""
    reasoner = Reasoner.from_rules("p(?x) :- e(?x, ?y) .")
    reasoner.apply([Update("e", ("a", "b"))])
    reasoner.remove_rules("p(?x) :- e(?x, ?y) .")
    with pytest.raises(EngineError, match=r"'e' has 1 argument .* but 2 in the state"):
        reasoner.add_rules("p(?x) :- e(?x) .")
    reasoner.add_rules("q(?y) :- e(?x, ?y) .")
    assert reasoner.facts("q") == [("b",)]
