"""A program of several files and its canonical text are the same program."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from strategies import checked, programs

from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.edit import canonical_program
from streamreasoner.program.load import load_program
from streamreasoner.program.text import canonical_text

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("tests/programs", "examples", "streamreasoner/rulesets")
    for path in (ROOT / folder).rglob("*.dl")
)


def assert_same(program):
    """The canonical text is a fixpoint, with the same rules, facts, predicates and declarations."""
    stored = canonical_program(program, "stored")
    assert len(stored.programs) == 1
    assert canonical_text(stored.programs) == canonical_text(program.programs)
    assert stored.hash == program.hash
    assert (stored.rules, stored.facts) == (program.rules, program.facts)
    assert (stored.inputs, stored.published) == (program.inputs, program.published)
    assert lower(stored).arities == lower(program).arities


@pytest.mark.parametrize("file", FILES)
def test_every_program_that_is_shipped_or_tested(file):
    """Golden programs, examples and rulesets survive storing, including their imports."""
    assert_same(load_program(ROOT / file))


@given(programs())
def test_any_program(text):
    """Any generated program survives storing."""
    assert_same(checked(text))


def test_files_that_disagree_on_a_prefix(tmp_path):
    """A prefix with two meanings is expanded; declarations of all files are preserved."""
    (tmp_path / "other.dl").write_text(
        "@prefix e: <http://e/> . @prefix x: <http://other/> . @output p/1, r . "
        "r(?x) :- q(?x), [?x, x:b, e:c] ."
    )
    (tmp_path / "main.dl").write_text(
        '@prefix e: <http://e/> . @prefix x: <http://x/> . @base <http://b/> . @import "other.dl" .'
        '@import "rho-df" . @input q/1 . @output p . p(?x) :- [?x, x:a, <c>], q(?x) .'
    )
    program = load_program(tmp_path / "main.dl")
    assert_same(program)
    lines = canonical_text(program.programs).splitlines()
    assert lines[0] == "@prefix e: <http://e/> ."
    assert not any("x:" in line or "@base" in line or "@import" in line for line in lines)
    assert "r(?x) :- q(?x), [?x, <http://other/b>, e:c] ." in lines
