"""Erasure leaves nothing of retracted facts, whenever it is interrupted, and all others as is."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from stored_epochs import APP, BEGINNING, StoredReasoner
from thorough import THOROUGH

from streamreasoner.errors import StateError
from streamreasoner.facts import FactPattern, decode_facts
from streamreasoner.history.epochs import Past
from streamreasoner.history.past_facts import PastFacts
from streamreasoner.history.replica import Replica
from streamreasoner.rdf.triple_terms import triple_term
from streamreasoner.state.erasure.request import BESIDE, Request, StoredFact, trails, used_ids
from streamreasoner.state.erasure.search import occurrences
from streamreasoner.state.erasure.steps import PLACEHOLDER, erase
from streamreasoner.state.erasure.stopped import StoppedState

ROOT = Path(__file__).parents[3]
EX = "<http://example.org/{}>".format
NUMBER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'.format
RULES = """@prefix ex: <http://example.org/> .
knows(?y, ?x) :- [?x, ex:knows, ?y] .
knows(?x, ?z) :- knows(?x, ?y), knows(?y, ?z) .
dearest(?city, max(?price)) :- [?x, ex:in, ?city], [?x, ex:paid, ?price] .
dearest(ex:Rome, 1) .
knows(?x, ?y) :- [?x, ex:never, ?y] .
"""
MAIL = '"anna@example.org"'
ANNA = [
    ("triple", (EX("anna"), EX("mail"), MAIL), 1),
    ("triple", (EX("anna"), EX("in"), EX("Oslo")), 1),
    ("triple", (EX("anna"), EX("paid"), NUMBER(77)), 1),
    ("triple", (EX("bert"), EX("knows"), EX("anna")), 1),
]
OTHERS = [
    ("triple", (EX("annabel"), EX("in"), EX("Oslo")), 1),
    ("triple", (EX("annabel"), EX("paid"), NUMBER(5)), 1),
    ("triple", (EX("annabel"), EX("knows"), EX("bert")), 1),
]
ERASED = (EX("anna"), EX("mail"), MAIL)
LAST = 2


@pytest.fixture
def stored(tmp_path):
    """Anna comes in epoch 0 and goes in epoch 2, with everything that followed."""
    with closing(StoredReasoner(tmp_path / "state/tables", RULES, closure=True)) as stored:
        stored.run([*ANNA, *OTHERS[:1]])
        stored.run(OTHERS[1:])
        stored.run([(predicate, args, -1) for predicate, args, _ in ANNA])
        yield stored


def open_state(stored):
    """The state of a pipeline that has been stopped after its last epoch."""
    return StoppedState.open(stored.directory, APP, (stored.epoch - 1, stored.epoch - 1))


def purge(stored, request):
    """Run all steps; returns the terms that were erased."""
    state = open_state(stored)
    folder = stored.directory.parent
    used = used_ids(state, request)
    steps = erase(state, request, used, [folder / "spark"])
    return {term for step in steps for term in step.terms}


def found(stored, terms=ERASED):
    """The erased terms that any file of the state holds."""
    return {term for _, term in occurrences([stored.directory.parent], terms)}


def present(tables):
    """The present facts at the last epoch."""
    facts = PastFacts(Past(tables))
    predicates = facts.program(facts.past.last).arities
    return {f for name in predicates for f in facts.facts(FactPattern(name), facts.past.last)}


def test_nothing_of_the_facts_is_left_and_the_others_are(stored):
    """Text is nowhere, other tables have no trace of it, and the present is what it was."""
    assert found(stored) == set(ERASED)
    others = DeltaTable(stored.directory / "programs").file_uris()

    assert purge(stored, Request(terms=(EX("anna"),))) == set(ERASED)
    assert found(stored) == set()
    assert present(stored.directory) == stored.present[-1]
    for name in ("terms", "trace", "changes", "programs"):
        table = DeltaTable(stored.directory / name)
        files = {Path(uri).name for uri in table.file_uris()}
        assert {path.name for path in (stored.directory / name).glob("*.parquet")} == files
    assert DeltaTable(stored.directory / "programs").file_uris() == others
    terms = DeltaTable(stored.directory / "terms").to_pyarrow_table().sort_by("id")
    assert terms["id"].to_pylist() == list(range(len(terms)))
    assert len(set(terms["term"].to_pylist())) == len(terms)
    with pytest.raises(StateError, match="Epoch 1 is too old"):
        Past(stored.directory).check(1)
    assert purge(stored, Request(terms=(EX("anna"),))) == set()


def test_the_pipeline_goes_on(stored, tmp_path):
    """What comes later, an erased term and a placeholder too, has the facts of an evaluation."""
    purge(stored, Request(terms=(EX("anna"),)))
    identifier = stored.reasoner.session.dictionary.find(EX("anna"))
    later = [
        ("triple", (EX("anna"), EX("knows"), EX("annabel")), 1),
        ("triple", (PLACEHOLDER.format(identifier), EX("paid"), NUMBER(99)), 1),
        ("triple", (PLACEHOLDER.format(identifier), EX("in"), EX("Oslo")), 1),
    ]
    with closing(StoredReasoner(tmp_path / "other", RULES)) as scratch:
        scratch.run([*OTHERS, *later])
        with closing(StoredReasoner.resumed(stored.directory, RULES, LAST + 1)) as resumed:
            resumed.run(later)
            assert resumed.present[-1] == scratch.present[-1]
            assert (
                resumed.reasoner.session.dictionary.find(PLACEHOLDER.format(identifier))
                == identifier
            )
    assert present(stored.directory) == scratch.present[-1]


def test_an_interrupted_erasure_is_completed_by_another_one(stored, tmp_path):
    """Killed at any flush, link or deletion, the state is what it was; a rerun erases the rest."""
    (stored.directory.parent / "spark").mkdir()
    (stored.directory.parent / "spark/terms").write_text(EX("anna"))
    copies, step = tmp_path / "copies", 1 if THOROUGH else 7
    script = Path(__file__).with_name("kill_erasure.py")
    killed = subprocess.run(
        [sys.executable, script, stored.directory.parent, copies, str(step), str(LAST)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert len(killed) >= 4
    for number, copy in enumerate(map(Path, killed)):
        assert present(copy / "tables") == stored.present[-1]
        stored.directory = copy / "tables"
        purge(stored, Request(terms=(EX("anna"),)))
        assert found(stored) == set()
        assert present(copy / "tables") == stored.present[-1]
        if number == len(killed) // 2:
            StoredReasoner.resumed(copy / "tables", RULES, LAST + 1).close()


def test_the_report_says_what_there_was(stored):
    """Asserted rows, published rows, and what left in the same epoch without naming the term."""
    rows = trails(open_state(stored), Request(terms=(EX("anna"),)))
    beside = ("dearest", (EX("Oslo"), NUMBER(77)))

    asserted = [each for each in rows if each.kind == "asserted"]
    assert {(*each.fact, each.epoch, each.multiplicity) for each in asserted} == {
        (predicate, args, epoch, sign)
        for predicate, args, _ in ANNA
        for epoch, sign in ((0, 1), (LAST, -1))
    }
    assert all(EX("anna") in each.fact.args for each in rows if each.kind == "published")
    assert (*beside, LAST, BEGINNING + timedelta(hours=LAST), -1) in [
        (*each.fact, *each[2:]) for each in rows if each.kind == BESIDE
    ]
    purge(stored, Request((EX("anna"),), (StoredFact(*beside),)))
    assert found(stored, (*ERASED, NUMBER(77))) == set()


QUOTED = triple_term(EX("anna"), EX("mail"), MAIL)
NESTED = triple_term(EX("carl"), EX("says"), triple_term(EX("bert"), EX("says"), QUOTED))
ABOUT = [
    ("triple", (EX("claim"), EX("reifies"), NESTED), 1),
    ("triple", (EX("claim"), EX("by"), EX("carl")), 1),
]


@pytest.fixture
def quoted(tmp_path):
    """Anna is mentioned by nothing but a triple term, two deep, which comes and goes."""
    with closing(StoredReasoner(tmp_path / "state/tables", RULES, closure=True)) as stored:
        stored.run([*ABOUT, *OTHERS])
        stored.run([(*ABOUT[0][:2], -1)])
        yield stored


@pytest.mark.parametrize("term", [EX("anna"), MAIL, QUOTED, NESTED])
def test_what_triple_terms_mention_is_erased_with_them(quoted, term):
    """A fact mentions all that its triple terms contain; of what only they had nothing is left."""
    gone = {EX("says"), EX("reifies"), EX("anna"), EX("mail"), MAIL, QUOTED, NESTED}
    assert found(quoted, gone) == gone
    rows = trails(open_state(quoted), Request(terms=(term,)))
    assert [(each.kind, each.fact.args[2], each.multiplicity) for each in rows] == [
        (kind, NESTED, sign) for kind in ("asserted", "published") for sign in (1, -1)
    ]

    assert purge(quoted, Request(terms=(term,))) >= {NESTED}
    assert found(quoted, gone) == set()
    assert found(quoted, (EX("carl"), EX("bert"))) == {EX("carl"), EX("bert")}
    assert present(quoted.directory) == quoted.present[-1]


def test_a_term_in_a_triple_term_is_used(tmp_path):
    """While a fact has the triple term, what it contains is refused, and kept by other erasures."""
    with closing(StoredReasoner(tmp_path / "state/tables", RULES, closure=True)) as stored:
        stored.run([*ABOUT, *OTHERS])
        stored.run([(*OTHERS[0][:2], -1)])
        with pytest.raises(
            StateError, match=r"still in the state: triple\(.*<<\( .*anna.*asserted"
        ):
            used_ids(open_state(stored), Request(terms=(EX("anna"),)))
        purge(stored, Request(facts=(StoredFact(*OTHERS[0][:2]),)))
        terms = DeltaTable(stored.directory / "terms").to_pyarrow_table()["term"].to_pylist()
        assert {NESTED, QUOTED, EX("anna"), MAIL} <= {*terms}


def test_a_fact_is_erased_without_the_triple_terms_that_quote_it(stored):
    """A reifier says something else than the triple: its own fact, and the terms, stay."""
    stored.run([ABOUT[0]])
    purge(stored, Request(facts=(StoredFact("triple", (EX("anna"), EX("mail"), MAIL)),)))
    changes = DeltaTable(stored.directory / "changes").to_pyarrow_table()["args"].to_pylist()
    assert [EX("anna"), EX("mail"), MAIL] not in changes
    assert [*ABOUT[0][1]] in changes
    assert present(stored.directory) == stored.present[-1]


def test_one_fact_is_erased(stored):
    """Its rows go, and the terms that nothing else has; other facts of its terms stay."""
    fact = StoredFact("triple", (EX("anna"), EX("mail"), MAIL))
    assert MAIL in purge(stored, Request(facts=(fact,)))
    changes = DeltaTable(stored.directory / "changes").to_pyarrow_table()["args"].to_pylist()
    assert [*fact.args] not in changes
    assert any(EX("anna") in args for args in changes)
    assert found(stored, (MAIL, EX("anna"))) == {EX("anna")}


def test_old_changes_are_erased(stored):
    """With an age, whole epochs go, and with them the terms that only they had."""
    assert purge(stored, Request(before=BEGINNING + timedelta(hours=1))) == set()
    changes = DeltaTable(stored.directory / "changes").to_pyarrow_table()["epoch"].to_pylist()
    assert set(changes) == {1, 2}
    assert Past(stored.directory).changes_from == 1


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(terms=(EX("bert"),)), "still in the state: .*bert.*asserted"),
        (Request(facts=(StoredFact(*OTHERS[0][:2]),)), "annabel.*asserted"),
        (Request(terms=(EX("Rome"),)), "dearest.*Rome.*asserted"),
        (Request(terms=(EX("never"),)), "never> is in the program of epoch 0"),
        (Request(terms=(EX("knows"),)), "still in the state"),
    ],
)
def test_what_is_used_is_refused(stored, request_, message):
    """A term of a fact or of a program is refused, and nothing has changed."""
    before = {path: path.read_bytes() for path in stored.directory.rglob("*.*") if path.is_file()}
    state = open_state(stored)
    with pytest.raises(StateError, match=message):
        used_ids(state, request_)
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.parametrize(("committed", "planned"), [(LAST, LAST + 1), (LAST - 1, LAST), (-1, -1)])
def test_a_state_that_replays_is_refused(stored, committed, planned):
    """The next start needs the rows and ids of the epoch that it replays."""
    with pytest.raises(StateError, match="Start the pipeline, let it finish"):
        StoppedState.open(stored.directory, APP, (committed, planned))


def test_a_placeholder_that_is_a_term_is_not_used_twice(tmp_path):
    """If a producer has used the text of a placeholder, another text is chosen."""
    with closing(StoredReasoner(tmp_path / "state/tables", RULES)) as stored:
        anna = stored.reasoner.session.dictionary.intern(EX("anna"))
        taken = PLACEHOLDER.format(anna)
        stored.run([("triple", (EX("anna"), EX("x"), taken), 1)])
        stored.run([("triple", (EX("anna"), EX("x"), taken), -1), ("triple", (taken,) * 3, 1)])
        purge(stored, Request(terms=(EX("anna"),)))
        terms = DeltaTable(stored.directory / "terms").to_pyarrow_table().sort_by("id")["term"]

    assert terms[anna].as_py() not in {EX("anna"), taken}
    assert present(stored.directory) == stored.present[-1]


def test_the_search_reads_what_is_compressed_and_escaped(tmp_path):
    """Bytes count, nested columns of Parquet, and escapes of JSON; longer IRIs are others."""
    anna, name = EX("anna"), '"A \\"x\\""'
    nested = pa.array([[{"a": f"see {anna}"}] * 1000], pa.list_(pa.struct({"a": pa.string()})))
    pq.write_table(pa.table({"c": nested}), tmp_path / "nested.parquet", compression="zstd")
    (tmp_path / "bare.txt").write_text("http://example.org/anna")
    (tmp_path / "longer.txt").write_text("<http://example.org/annabel> http://example.org/anna/1")
    (tmp_path / "json.txt").write_text(r'{"o": "\"A \\\"x\\\"\""}')
    (tmp_path / "cut.parquet").write_bytes(b"PAR1<http://example.org/anna>")

    assert {(path.name, term) for path, term in occurrences([tmp_path], [anna, name])} == {
        ("nested.parquet", anna),
        ("bare.txt", anna),
        ("cut.parquet", anna),
        ("json.txt", name),
    }


def test_the_times_of_a_fact_that_expires_are_erased_with_it(tmp_path):
    """Until it would have expired the state needs the time of its retraction, and says so."""
    rules = '@expires seen/2 after "PT10S" . here(?room) :- seen(_, ?room) .'
    seen = StoredFact("seen", (EX("anna"), EX("hall")))
    with closing(StoredReasoner(tmp_path / "state/tables", rules, closure=True)) as stored:
        stored.run([(*seen, 1, 1_000)], frontier=1_000)
        stored.run([(*seen, -1, 2_000)], frontier=2_000)
        for request in (Request(facts=(seen,)), Request(terms=(EX("anna"),))):
            with pytest.raises(
                StateError, match=r"seen\(.* time is kept until .*let event time pass"
            ):
                used_ids(open_state(stored), request)
        stored.run(frontier=12_000)
        rows = trails(open_state(stored), Request(facts=(seen,)))
        assert {(each.kind, each.fact) for each in rows} >= {("asserted", seen)}
        assert {abs(each.multiplicity) for each in rows} == {1}
        assert purge(stored, Request(terms=(EX("anna"),))) == {EX("anna")}
        assert found(stored, (EX("anna"),)) == set()


def test_a_constant_of_what_expires_is_refused(tmp_path):
    """It is in the program, which the state keeps."""
    rules = f'@expires seen({EX("anna")}, _) after "PT10S" . here(?room) :- seen(_, ?room) .'
    with closing(StoredReasoner(tmp_path / "state/tables", rules)) as stored:
        stored.run([("seen", (EX("bert"), EX("hall")), 1)])
        with pytest.raises(StateError, match=r"anna> is in the program of epoch 0"):
            used_ids(open_state(stored), Request(terms=(EX("anna"),)))


def test_a_replica_forgets_what_is_erased(stored):
    """One that follows the state has what is left; one at an epoch that is gone is lost."""
    replicas = [Replica.open(stored.directory), Replica.open(stored.directory, 0)]
    with replicas[0].snapshot() as snapshot:
        assert snapshot.terms.find(EX("anna")) is not None
    purge(stored, Request(terms=(EX("anna"),)))

    assert replicas[0].follow()
    with replicas[0].snapshot() as snapshot:
        assert snapshot.terms.find(EX("anna")) is None
        left = {
            fact
            for name in snapshot.program.checked.arities
            for fact in decode_facts(name, snapshot.facts(FactPattern(name)), snapshot.terms)
        }
        assert left == stored.present[-1]
    with pytest.raises(StateError, match="Epoch 0 is too old"):
        replicas[1].follow()
    assert replicas[1].lost


@pytest.mark.parametrize(
    ("term", "texts", "others"),
    [
        (
            "_:b1",
            ("_:b1", "_:b1 .", "<<( _:b1 <a:p> _:b2 )>>"),
            ("_:b10", "_:b1.x", "_:b1é", "_:b1-"),
        ),
        ('"9"', ('"9"', 'x "9" .'), ('"9"^^<a:b>', '"9"@en')),
        ('"x"@en', ('"x"@en', '<<( _:b1 <a:p> "x"@en )>>'), ('"x"@en-us', '"x"@en--ltr')),
        ('"a.b("^^<a:d>', ('"a.b("^^<a:d>',), ('"aab("^^<a:d>',)),
    ],
)
def test_the_beginning_of_another_term_is_not_found(tmp_path, term, texts, others):
    """In text and in columns, where the search would report what is still wanted."""
    for text in (*texts, *others):
        (tmp_path / "a.txt").write_text(text)
        pq.write_table(pa.table({"term": [text]}), tmp_path / "b.parquet")
        found = [path.name for path, _ in occurrences([tmp_path], [term])]
        assert found == (["a.txt", "b.parquet"] if text in texts else [])


def test_a_blank_node_is_erased(tmp_path):
    """Also where a triple term alone mentions it; another node whose label begins alike stays."""
    about = ("triple", (EX("claim"), EX("reifies"), triple_term("_:b1", EX("mail"), MAIL)))
    other = ("triple", (EX("carl"), EX("knows"), "_:b10"))
    with closing(StoredReasoner(tmp_path / "state/tables", RULES, closure=True)) as stored:
        stored.run([(*about, 1), (*other, 1)])
        stored.run([(*about, -1)])
        purge(stored, Request(terms=("_:b1",)))
        assert found(stored, ("_:b1", "_:b10")) == {"_:b10"}
        assert present(stored.directory) == stored.present[-1]
