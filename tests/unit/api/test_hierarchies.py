"""A reasoner whose hierarchies are encoded answers like one that has all copies."""

from __future__ import annotations

import pytest
from hierarchies import every_epoch_decides
from typer.testing import CliRunner

from streamreasoner import Reasoner
from streamreasoner.cli import app
from streamreasoner.errors import DataError

DOGS = """\
@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Poodle rdfs:subClassOf ex:Dog, ex:Pet .
ex:Dog rdfs:subClassOf ex:Animal .
ex:hasOwner rdfs:subPropertyOf ex:knows .
ex:fido a ex:Poodle ; ex:hasOwner ex:ann .
ex:rex a ex:Dog .
"""
FIDO = "[<http://example.org/fido>, a, <http://example.org/Animal>]"
REMOVED = "PREFIX ex: <http://example.org/> DELETE DATA { ex:fido a ex:Poodle }"
COUNT = "SELECT ?c (COUNT(?x) AS ?n) { ?x a ?c } GROUP BY ?c ORDER BY ?c"


@pytest.fixture
def file(tmp_path):
    """A file of some dogs."""
    path = tmp_path / "dogs.ttl"
    path.write_text(DOGS)
    return path


def test_answers_are_the_same(file):
    """Facts, sizes, explanations, answers of SPARQL, and what an update changes."""
    told = []
    for how in ("stored", "encoded"):
        reasoner = Reasoner.from_rules("rho-df", hierarchies=how)
        loaded = reasoner.load(file)
        said = reasoner.explain(FIDO).text(), list(reasoner.query(COUNT))
        changes = [
            (set(diff.changes), set(diff.derived)) for diff in (loaded, reasoner.update(REMOVED))
        ]
        told.append((said, changes, set(reasoner.facts()), reasoner.size()))

    assert told[0] == told[1]


def what(diff):
    """The changes of an epoch, of all facts and of derived ones."""
    return set(diff.changes), set(diff.derived)


def test_copies_are_not_stored(file):
    """The engine has those facts alone that nothing else tells."""
    sizes = []
    for how in ("stored", "encoded"):
        reasoner = Reasoner.from_rules("rho-df", hierarchies=how)
        reasoner.load(file)
        sizes.append(reasoner.session.engine.statistics().facts)

    assert sizes == [13, 8]


def test_a_state_in_a_directory_has_all(tmp_path, file):
    """Its tables are read without knowing what is in memory, which may be otherwise later."""
    sizes = []
    with Reasoner.open(tmp_path / "state", "rho-df", hierarchies="encoded") as reasoner:
        reasoner.load(file)
        facts = set(reasoner.facts())
    for how in ("stored", "encoded"):
        with Reasoner.open(tmp_path / "state", hierarchies=how) as reasoner:
            sizes.append(reasoner.session.engine.statistics().facts)
            assert set(reasoner.facts()) == facts

    assert sizes == [13, 8]


def test_a_state_goes_on_as_an_epoch_decides(tmp_path, file):
    """By itself, until another word is given; a change makes that last."""
    place, sizes = tmp_path / "state", []
    with every_epoch_decides(0.2), Reasoner.open(place, "rho-df") as reasoner:
        reasoner.load(file)
        sizes.append(reasoner.session.engine.statistics().facts)
    for how in ("auto", "stored", "auto"):
        with Reasoner.open(place, hierarchies=how) as reasoner:
            sizes.append(reasoner.session.engine.statistics().facts)
            if how == "stored":
                reasoner.update(
                    "INSERT DATA { <http://example.org/tom> a <http://example.org/Cat> }"
                )

    assert sizes == [8, 8, 13, 14]


def test_the_command_explains_what_a_load_decides(file):
    """In numbers, below the rules that copy."""
    words = ["explain-plan", "rho-df", "--data", str(file), "--stage", "hierarchies"]
    with every_epoch_decides(0.2):
        result = CliRunner().invoke(app, words)

    assert result.exit_code == 0, result.output
    first, last = result.stdout.splitlines()[-2:]
    assert first.startswith("auto: encoded by an epoch of at least 1 updates")
    assert last == "of 12 facts 5 would not be stored: encoded"


def test_another_word_is_refused(tmp_path):
    """By name, with those that there are."""
    with pytest.raises(DataError, match='"stored" or "encoded", not \'all\''):
        Reasoner.from_rules("rho-df", hierarchies="all")
    with pytest.raises(DataError, match='"stored" or "encoded", not \'all\''):
        Reasoner.open(tmp_path / "state", "rho-df", hierarchies="all")
    assert not (tmp_path / "state").exists()


def test_the_command_prints_the_same(file):
    """`materialize --hierarchies encoded` prints what it prints without."""
    printed = []
    for how in ("stored", "encoded"):
        words = ["materialize", "rho-df", str(file), "--print", "--hierarchies", how]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        printed.append(result.stdout)

    assert printed[0] == printed[1]
    assert "[ex:fido, a, ex:Animal] ." in printed[0]
