"""The runner of conformance suites judges rightly, so its table can be trusted."""

from __future__ import annotations

import random

import pyoxigraph
import pytest
from conformance import queries
from conformance.datasets import change
from conformance.earl import published, reports
from conformance.outcome import (
    OURS,
    REPLAYED,
    Case,
    Outcome,
    Verdict,
    WrongError,
    outcome,
    refuses,
)
from conformance.replay import replay
from conformance.report import document, table
from conformance.results import Expected, binding_row, normal
from conformance.rows import difference
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner import Reasoner
from streamreasoner.errors import DataError
from streamreasoner.program import check_text

TERMS = st.sampled_from(["<a>", "<b>", '"x"', "_:1", "_:2", "_:3", "_:4"])
ROWS = st.lists(st.tuples(TERMS, TERMS), max_size=7)
MANIFEST = """
@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> .
@prefix qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#> .
<> a mf:Manifest ; mf:entries ( <#right> <#wrong> <#broken> ) .
<#right> a mf:QueryEvaluationTest ; mf:result <right.tsv> ;
    mf:action [ qt:query <q.rq> ; qt:data <d.ttl> ] .
<#wrong> a mf:QueryEvaluationTest ; mf:result <wrong.tsv> ;
    mf:action [ qt:query <q.rq> ; qt:data <d.ttl> ] .
<#broken> a mf:NegativeSyntaxTest11 ; mf:action <bad.rq> .
"""


def renamed(rows, names):
    """The rows with other labels, in another order."""
    changed = [tuple(names.get(term, term) for term in row) for row in rows]
    random.Random(0).shuffle(changed)
    return changed


@given(ROWS, st.permutations(["_:1", "_:2", "_:3", "_:4"]))
def test_labels_of_blank_nodes_do_not_count(rows, labels):
    """Rows are the same under each bijection of labels, and in each order."""
    names = dict(zip(["_:1", "_:2", "_:3", "_:4"], labels, strict=True))

    assert difference(rows, renamed(rows, names)) is None


def test_blank_nodes_of_triple_terms_are_renamed_too():
    """A node inside of a triple term is the one outside; a text that looks like one is none."""
    row = ("_:1", "<p>", '<<( _:1 <p> <<( _:2 <p> "\\" _:1 )>>"@en--ltr )>> )>>')
    other = ("_:2", "<p>", '<<( _:2 <p> <<( _:1 <p> "\\" _:1 )>>"@en--ltr )>> )>>')

    assert difference([row], [other]) is None
    assert difference([row], [("_:1", *other[1:])]) is not None


@given(ROWS, ROWS)
def test_rows_differ_unless_some_bijection_makes_them_equal(left, right):
    """The search finds what trying all bijections finds."""
    nodes = ["_:1", "_:2", "_:3", "_:4"]
    tried = (dict(zip(nodes, labels, strict=True)) for labels in permutations(nodes))
    same = any(sorted(renamed(left, names)) == sorted(right) for names in tried)

    assert (difference(left, right) is None) == same


def permutations(nodes):
    """All orders of the labels."""
    if not nodes:
        return [[]]
    return [
        [node, *rest] for node in nodes for rest in permutations([n for n in nodes if n != node])
    ]


def test_a_row_counts_as_often_as_it_is_there():
    """A solution that comes twice is not the same as one that comes once."""
    assert difference([("<a>",)], [("<a>",), ("<a>",)]) is not None


def test_solutions_in_another_order_are_wrong_only_where_the_order_counts():
    """ORDER BY decides whether two orders are two answers."""
    rows = (binding_row([("x", "<a>")]), binding_row([("x", "<b>")]))
    Expected(rows=rows).check(Expected(rows=rows[::-1]))

    with pytest.raises(WrongError, match="another order"):
        Expected(rows=rows, is_ordered=True).check(Expected(rows=rows[::-1]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"1"^^<http://www.w3.org/2001/XMLSchema#double>', '"1.0E0"^^<{}double>'),
        ('"01"^^<http://www.w3.org/2001/XMLSchema#integer>', '"+1"^^<{}integer>'),
        ('"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>', '"1.5"^^<{}decimal>'),
    ],
)
def test_a_number_is_the_same_in_each_form(one, other):
    """Forms of one number are equal by value, and those of two datatypes are not."""
    assert normal(one) == normal(other.format("http://www.w3.org/2001/XMLSchema#"))
    assert normal(one) != normal('"1"^^<http://www.w3.org/2001/XMLSchema#float>')


def test_an_outcome_names_its_cause():
    """Refusals are the package's own errors; everything else is a failure."""

    def refused():
        raise DataError("It is refused.")

    def failing():
        raise KeyError("x")

    assert outcome(lambda: None) == Outcome(Verdict.PASSED)
    assert outcome(refused) == Outcome(Verdict.REFUSED, "It is refused.")
    assert outcome(failing) == Outcome(Verdict.FAILED, "KeyError: 'x'")
    with pytest.raises(WrongError, match="accepted"):
        refuses(lambda: None, DataError)
    with pytest.raises(KeyError):
        refuses(failing, DataError)


@pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")
def test_a_suite_is_run_as_its_manifest_says(tmp_path):
    """A right answer passes, a wrong one does not, and what is not a query is refused."""
    files = {
        "manifest.ttl": MANIFEST,
        "d.ttl": "<http://e/s> <http://e/p> 1 .",
        "q.rq": "SELECT ?o { ?s <http://e/p> ?o }",
        "right.tsv": "?o\n1\n",
        "wrong.tsv": "?o\n2\n",
        "bad.rq": "SELECT",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    cases = [*queries.cases("Suite", tmp_path / "manifest.ttl")]

    verdicts = {
        case.name.rpartition("/")[2]: {
            system: outcome(check) for system, check in case.checks.items()
        }
        for case in cases
    }

    passed = Outcome(Verdict.PASSED)
    assert {*verdicts["right"].values(), *verdicts["broken"].values()} == {passed}
    assert {each.verdict for each in verdicts["wrong"].values()} == {Verdict.WRONG}


def test_reports_have_each_outcome_once(tmp_path):
    """With the IRI that a test is published by, and the reason why it does not pass."""
    manifest = tmp_path / "rdf" / "m.ttl"
    cases = [
        Case(suite, name, {}, published(f"{manifest.as_uri()}#{name}", "rdf/m.ttl", manifest))
        for suite, name in (("RDF 1: x", "a"), ("RDF 1: x", "b"), ("RDF 2: x", "a"))
    ]
    outcomes = {"a": Outcome(Verdict.PASSED), "b": Outcome(Verdict.WRONG, str(tmp_path))}
    results = {case.suite: {OURS: outcomes, REPLAYED: outcomes} for case in cases}

    ((name, text),) = reports(cases, results, {"b": 'the "reason"'})
    graph = pyoxigraph.Dataset(pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.TURTLE))

    def values(local):
        predicate = pyoxigraph.NamedNode(f"http://www.w3.org/ns/earl#{local}")
        return sorted(quad.object.value for quad in graph if quad.predicate == predicate)

    assert name == "RDF 1"
    assert values("test") == [
        f"https://w3c.github.io/rdf-tests/rdf/m.ttl#{each}" for each in ("a", "a", "b", "b")
    ]
    assert [each.rpartition("#")[2] for each in values("outcome")] == [
        *("failed", "failed", "passed", "passed"),
    ]
    assert values("info") == ['the "reason"'] * 2
    assert str(tmp_path) not in text


def test_a_replay_finds_what_is_left_behind(monkeypatch):
    """It passes where each state is that of its data, and names the step where it is not."""
    rules = "[?x, <urn:q>, ?z] :- [?x, <urn:p>, ?y], [?y, <urn:p>, ?z] ."
    program = check_text(rules)
    rows = [(f"<urn:{each}>", "<urn:p>", f"<urn:{each + 1}>") for each in range(4)]
    replay(lambda store: Reasoner(program, store=store), rows, "seed")

    def forgetful(of, rows, sign):
        if sign > 0:
            change(of, rows, sign)

    monkeypatch.setattr("conformance.replay.change", forgetful)
    with pytest.raises(WrongError, match=r"after step 1 of -: triple .* found"):
        replay(lambda store: Reasoner(program, store=store), rows, "seed")


def test_the_page_has_each_difference_with_its_reason():
    """Cells count outcomes; what does not pass is listed."""
    outcomes = {"a": Outcome(Verdict.PASSED), "b": Outcome(Verdict.WRONG, "2 rows")}
    results = {"Suite": {OURS: outcomes, "peer": {"a": Outcome(Verdict.FAILED)}}}

    assert "| Suite | 1 of 2 | 0 of 1 |" in table(results)
    assert "| because | 1 wrong | b |" in document(results, {"b": "because"}, {})
