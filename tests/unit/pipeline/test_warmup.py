"""Kernels that run once before the first batch: with any program, and without a trace."""

from __future__ import annotations

import sys

import pytest

from streamreasoner.api.reasoner import Reasoner
from streamreasoner.backends.columnar.parallel import Threads
from streamreasoner.pipeline.warming.warmup import prepare
from streamreasoner.program import check_text
from streamreasoner.values.functions import strings

PROGRAMS = {
    "one without rules": "",
    "one that calls functions": "name(strbefore(?n, ?n)) :- [_, _, ?n] .",
    "one that does not converge": (
        "n(strbefore(?n, ?n), 0) :- [_, _, ?n] .\nn(?n, ?i + 1) :- n(?n, ?i) ."
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_run_and_nothing_stays(name, tmp_path, monkeypatch):
    """Its rules are evaluated, in two threads too; no file, fact or error is left."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Threads, "allowed", lambda: True)
    program, called = check_text(PROGRAMS[name]), set()
    reasoner = Reasoner(program)
    terms, before = len(reasoner.session.dictionary), sys.getprofile()
    sys.setprofile(lambda frame, *_: called.add(frame.f_code))
    try:
        prepare(program)
    finally:
        sys.setprofile(before)

    assert (strings.before.__code__ in called) == ("strbefore" in program.program.text)
    assert {Threads.add.__code__, Threads.derive.__code__} <= called
    assert [*tmp_path.iterdir()] == []
    assert reasoner.session.engine.statistics().facts == 0
    assert len(reasoner.session.dictionary) == terms
