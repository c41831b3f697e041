"""Programs of several files."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.errors import ProgramError
from streamreasoner.lang.parser import parse, read
from streamreasoner.lang.printer import print_rule
from streamreasoner.program import check, load_program
from streamreasoner.program.imports import with_imports


@pytest.fixture
def files(tmp_path):
    """Write rule files by name, and return the path of the first."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / f"{name.replace('__', '/')}.dl"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path / f"{next(iter(texts))}.dl"

    return write


def refused(path):
    """The diagnostics of a program, and its message."""
    with pytest.raises(ProgramError) as caught:
        load_program(path)
    return caught.value.diagnostics, str(caught.value)


def test_a_program_is_the_rules_of_all_its_files(files):
    """Imports are transitive, and each path is relative to the importing file."""
    path = files(
        main='@import "lib/one.dl" .\np(?x) :- q(?x) .',
        lib__one='@import "two.dl" .\nq(?x) :- r(?x) .\ns(1) .',
        lib__two="r(?x) :- t(?x) .\nu(2) .",
    )
    checked = load_program(path)

    assert [print_rule(rule) for rule in checked.rules] == [
        "p(?x) :- q(?x) .",
        "q(?x) :- r(?x) .",
        "r(?x) :- t(?x) .",
    ]
    assert [fact.predicate for fact in checked.facts] == ["s", "u"]
    assert [program.source for program in checked.programs] == [
        str(path),
        str(path.parent / "lib/one.dl"),
        str(path.parent / "lib/two.dl"),
    ]
    assert checked.strata == ((2,), (1,), (0,))


def test_each_file_is_read_once(files):
    """The rules of a file count once, even if it is imported twice, by two paths or in a cycle."""
    path = files(
        main='@import "other.dl" .\n@import "./other.dl" .\n@import "main.dl" .\np(?x) :- q(?x) .',
        other='@import "main.dl" .\n@import "rho-df" .\n@import "rho-df" .\nq(?x) :- p(?x) .',
    )
    checked = load_program(path)

    assert len(checked.programs) == 3
    assert len(checked.rules) == 8
    assert checked.warnings == ()


def test_rulesets_are_imported_by_their_name(files):
    """A name imports the ruleset; a file with the same name must be written as a path."""
    ruleset = files(main='@import "rho-df" .')
    file = files(other='@import "./rho-df" .')
    (file.parent / "rho-df").write_text("p(?x) :- q(?x) .", encoding="utf-8")

    assert set(load_program(ruleset).rules) == set(load_program("rho-df").rules)
    assert [print_rule(rule) for rule in load_program(file).rules] == ["p(?x) :- q(?x) ."]


def test_prefixes_and_bases_end_with_their_file(files):
    """Each file has only its own prefixes, and may redefine those of others."""
    one, other = "@prefix ex: <http://one.org/> .", "@prefix ex: <http://other.org/> ."
    path = files(main=f'{one}\n@import "other.dl" .\np(ex:a) .', other=f"{other}\nq(ex:a) .")

    assert [fact.arguments[0].term for fact in load_program(path).facts] == [
        "<http://one.org/a>",
        "<http://other.org/a>",
    ]
    assert [item.code for item in refused(files(main='@import "x.dl" .', x="p(ex:a) ."))[0]] == [
        "SR220"
    ]


def test_declarations_count_wherever_they_stand(files):
    """@input and @output of an imported file apply to the program."""
    path = files(
        main='@import "other.dl" .\n@output p .\np(?x) :- q(?x) .',
        other="@input q/1 .\n@output r .\nr(?x) :- q(?x) .",
    )
    checked = load_program(path)

    assert (checked.inputs, checked.outputs) == (("q",), ("p", "r"))


def test_the_hash_does_not_depend_on_the_files(files):
    """Moving rules and facts to another file does not change the hash."""
    rules, facts = "p(?x) :- q(?x) .\n", "q(1) .\n"
    whole = files(whole=rules + facts)
    parts = files(parts='@import "facts.dl" .\n' + rules, facts=facts)

    assert load_program(whole).hash == load_program(parts).hash
    assert load_program(whole).hash != load_program(files(rules=rules)).hash


def test_mistakes_name_their_file_and_show_its_text(files):
    """All errors in all files are reported at once, file by file, with their lines."""
    path = files(
        main='@import "other.dl" .\np(?x, ?y) :- q(?x) .\nr(?x) :- s(?x) .',
        other="\nq(?x) :- r(?x, ?y), ?z < 1 .\n",
    )
    diagnostics, message = refused(path)

    assert [item.code for item in diagnostics] == ["SR201", "SR210", "SR202"]
    assert f"{path.parent}/other.dl:2:21: SR202" in message
    assert "  q(?x) :- r(?x, ?y), ?z < 1 .\n" in message
    assert f"'r' has 2 arguments here and 1 in line 3 of {path}" in message


def test_a_cycle_through_files_names_both(files):
    """The whole program is stratified, and the report of a cycle names the file of each rule."""
    path = files(
        main='@import "other.dl" .\np(?x) :- n(?x), not q(?x) .',
        other="\nq(?x) :- p(?x) .",
    )

    assert f"q(?x) (line 2 of {path.parent}/other.dl) needs p(?x)" in refused(path)[1]


def test_a_file_that_cannot_be_read_is_a_mistake_of_the_import(files):
    """Messages differ for a missing file, a folder, invalid UTF-8 and a name with a NUL."""
    path = files(main='@import "no.dl" .\n@import "." .\n@import "b.dl" .\n@import "a\\u0000" .')
    path.with_name("b.dl").write_bytes(b"p(1) . \xff")
    diagnostics, message = refused(path)

    assert [item.code for item in diagnostics] == ["SR222"] * 4
    assert f"there is no file '{path.parent}/no.dl'" in message
    assert "cannot be read: Is a directory" in message
    assert "is not UTF-8 text (byte 7)" in message
    assert "null byte" in message


def test_what_a_missing_file_may_have_declared_is_not_asked_for(files):
    """If an import fails, a predicate that only @output names is not reported too."""
    path = files(main='@import "no.dl" .\n@output path .')

    assert [item.code for item in refused(path)[0]] == ["SR222"]


def test_a_parsed_program_is_checked_with_its_imports(files):
    """`check` resolves imports relative to the program's source."""
    path = files(main='@import "other.dl" .\np(?x) :- q(?x) .', other="q(1) .")
    program = parse(path.read_text(encoding="utf-8"), str(path))

    assert check(program) == load_program(path)


_IMPORTS = st.lists(st.tuples(st.sampled_from(("", "./", "up/../")), st.integers(0, 4)), max_size=3)


@given(st.lists(_IMPORTS, min_size=4, max_size=4))
def test_files_are_read_in_order_of_their_distance(graph):
    """Each that is reached, once; an import of the one that is missing is reported each time."""
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "up").mkdir()
        for number, imports in enumerate(graph):
            lines = [f'@import "{path}{other}.dl" .\n' for path, other in imports]
            (folder / f"{number}.dl").write_text("".join(lines), encoding="utf-8")
        main = folder / "0.dl"
        readings = with_imports(read(main.read_text("utf-8"), str(main)))
        found = [int(Path(reading.program.source).stem) for reading in readings]
    expected = [0]
    for number in expected:
        expected += [
            other for other in dict.fromkeys(each for _, each in graph[number])
            if other < len(graph) and other not in expected
        ]  # fmt: skip

    assert found == expected
    for number, reading in zip(found, readings, strict=True):
        missing = [each for _, each in graph[number] if each == len(graph)]
        assert [item.code for item in reading.diagnostics] == ["SR222"] * len(missing)
        assert reading.complete is not bool(missing)
