"""The closure in files: what is written and read again is the same."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DOMAIN
from thorough import THOROUGH

from streamreasoner.api.nodes import from_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update
from streamreasoner.cli.offline import closure
from streamreasoner.cli.offline.closure import GENERALIZED, write_closure
from streamreasoner.facts import decode_facts

RULES = "@input p/1, on/0 .\n[?x, ?y, ?z] :- t(?x, ?y, ?z) .\n"
TERMS = st.sampled_from((*DOMAIN, '"a,b"', '"say \\"x\\"\\n"', '""', '" "'))
ROWS = st.lists(st.tuples(TERMS, TERMS, TERMS), max_size=6)


@settings(max_examples=500 if THOROUGH else 20)
@given(ROWS, st.booleans())
def test_files_have_the_facts_of_the_reasoner(rows, header):
    """Each predicate has a file; RDF and what is none are apart, and counted."""
    reasoner = Reasoner.from_rules(RULES)
    facts = [tuple(map(from_ntriples, row)) for row in rows]
    reasoner.apply([Update("t", row) for row in facts] + [Update("p", row[:1]) for row in facts])
    reasoner.apply([Update("on", ()) for _ in rows[:1]])
    with TemporaryDirectory() as directory:
        folder = Path(directory) / "new"
        generalized = write_closure(
            reasoner.session,
            folder,
            reasoner.program.visible,
            inferred=False,
            trace=False,
            header=header,
        )
        again = Reasoner.from_rules(RULES)
        again.load(folder / "t.csv", folder / "p.csv", folder / "on.csv", header=header)
        texts = {path.name: path.read_text("utf-8").splitlines() for path in folder.iterdir()}
    apart = f"triple{GENERALIZED}.nt"
    invalid = {" ".join(row) + " ." for row in rows if row[0][0] == '"' or row[1][0] != "<"}

    assert texts.keys() - {apart} == {"triple.nt", "t.csv", "p.csv", "on.csv"}
    assert {*texts["triple.nt"]} == {" ".join(row) + " ." for row in rows} - invalid
    assert {*texts.get(apart, ())} == invalid
    assert generalized == len(invalid)
    for predicate in reasoner.program.arities:
        first, second = (
            decode_facts(predicate, each.engine.facts(predicate), each.dictionary)
            for each in (reasoner.session, again.session)
        )
        assert {*first} == {*second}


def test_an_interrupted_command_leaves_no_incomplete_file(tmp_path, monkeypatch):
    """What was there before stays."""
    reasoner = Reasoner.from_rules(RULES)
    (tmp_path / "triple.nt").write_text("before")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(closure, "is_rdf", interrupt)
    reasoner.apply([Update("t", tuple(map(from_ntriples, ("<a:s>", "<a:p>", "<a:o>"))))])
    with pytest.raises(KeyboardInterrupt):
        write_closure(
            reasoner.session, tmp_path, ["triple"], inferred=False, trace=False, header=False
        )
    assert [path.name for path in tmp_path.iterdir()] == ["triple.nt"]
    assert (tmp_path / "triple.nt").read_text() == "before"
