"""A session that follows files has what a session that reads them now would have."""

from __future__ import annotations

import logging
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner import Reasoner
from streamreasoner.api.following import FollowedFiles
from streamreasoner.errors import DataError
from streamreasoner.program.load import load_program

RULES = """@prefix ex: <http://example.org/> .
@input edge/2 .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
path(?x, ?y) :- [?x, ex:to, ?y] .
"""
TTL = "@prefix ex: <http://example.org/> . {}\n"


class Folder:
    """A folder of rules and files, and a session that follows it."""

    def __init__(self, path):
        self.rules, self.data, self.ticks = path / "rules.dl", path / "data", 0
        self.data.mkdir()
        self.rules.write_text(RULES)

    def write(self, name, text):
        """Write a file, whose time differs from all before."""
        path = self.rules if name == "rules.dl" else self.data / name
        path.write_text(text)
        self.ticks += 1
        os.utime(path, ns=(self.ticks * 10**9, self.ticks * 10**9))

    def follow(self):
        """Begin to follow."""
        program = load_program(self.rules)
        self.reasoner = Reasoner(program)
        session = self.reasoner.session
        self.followed = FollowedFiles(session, str(self.rules), program, [self.data])

    def settle(self):
        """What two looks a moment apart find."""
        return [self.followed.refresh(), self.followed.refresh()][1]

    def paths(self):
        """What is derived."""
        return sorted(map(str, self.reasoner.facts("path")))

    def fresh(self):
        """What is derived by one who reads the files now."""
        reasoner = Reasoner.from_rules(self.rules)
        if any(self.data.iterdir()):
            reasoner.load(self.data)
        return sorted(map(str, reasoner.facts("path")))


@pytest.fixture
def folder(tmp_path):
    """A folder with two files."""
    new = Folder(tmp_path)
    new.write("edge.csv", "<a:1>,<a:2>\n<a:2>,<a:3>\n")
    new.write("more.ttl", TTL.format("ex:a ex:to ex:b ."))
    new.follow()
    return new


def test_a_file_that_changes(folder):
    """What it has no longer is retracted with its consequences, once it has settled."""
    assert folder.paths() == folder.fresh()
    folder.write("edge.csv", "<a:2>,<a:3>\n<a:3>,<a:4>\n")
    assert not folder.followed.refresh()
    assert folder.followed.refresh()
    assert folder.paths() == folder.fresh()
    assert not folder.settle()


def test_files_that_come_and_go(folder):
    """A new file of the folder is read, and the facts of one that is deleted go."""
    folder.write("new.ttl", TTL.format("ex:b ex:to ex:c ."))
    assert folder.settle()
    (folder.data / "more.ttl").unlink()
    assert folder.settle()
    assert folder.paths() == folder.fresh()


def test_a_fact_of_two_files_stays_until_both_lack_it(folder):
    """Each file asserts it."""
    folder.write("same.ttl", TTL.format("ex:a ex:to ex:b ."))
    folder.settle()
    folder.write("more.ttl", TTL.format(""))
    folder.settle()
    assert any("example.org/a" in each for each in folder.paths())
    folder.write("same.ttl", TTL.format(""))
    folder.settle()
    assert folder.paths() == folder.fresh()
    assert not any("example.org/a" in each for each in folder.paths())


def test_a_file_that_cannot_be_read_keeps_its_facts(folder, caplog):
    """It is told once, and read again once it has changed."""
    before = folder.paths()
    with caplog.at_level(logging.WARNING):
        folder.write("more.ttl", "@prefix ex: <http://example.org/")
        assert not folder.settle()
        assert not folder.settle()
    assert folder.paths() == before
    assert [record.message.count("more.ttl is not read") for record in caplog.records] == [1]
    folder.write("more.ttl", TTL.format("ex:a ex:to ex:d ."))
    assert folder.settle()
    assert folder.paths() == folder.fresh()


def test_rules_that_change(folder, caplog):
    """Valid ones are in effect at once, and invalid ones change nothing."""
    folder.write("rules.dl", RULES + "path(?y, ?x) :- path(?x, ?y) .\n")
    assert folder.settle()
    assert folder.paths() == folder.fresh()
    with caplog.at_level(logging.WARNING):
        folder.write("rules.dl", "path(?x) :- nothing .")
        assert not folder.settle()
    assert "The rules stay as they are" in caplog.text
    folder.write("rules.dl", RULES)
    assert folder.settle()
    assert folder.paths() == folder.fresh()


def test_a_patch_is_no_file_to_follow(folder):
    """It says what to change, not what there is."""
    folder.write("a.rdfp", "A <a:x> <a:y> <a:z> .\nD <a:x> <a:y> <a:w> .\n")
    with pytest.raises(DataError, match=r"a\.rdfp: is a patch"):
        folder.follow()


edges = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), edges), min_size=1, max_size=4))
def test_it_is_always_what_the_files_say(tmp_path_factory, versions):
    """Whatever files come, change and go."""
    folder = Folder(tmp_path_factory.mktemp("followed"))
    folder.follow()
    for version in versions:
        for name in {*"abc"} - version.keys():
            (folder.data / f"{name}.ttl").unlink(missing_ok=True)
        for name, pairs in version.items():
            lines = (f"ex:n{x} ex:to ex:n{y} ." for x, y in pairs)
            folder.write(f"{name}.ttl", TTL.format(" ".join(lines)))
        folder.settle()
        assert folder.paths() == folder.fresh()
