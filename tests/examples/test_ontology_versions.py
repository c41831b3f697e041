"""Versions of an ontology, one after the other: what is derived is what the package has."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pyarrow as pa
import pyoxigraph
import pytest
from examples.cases import FOLDER
from examples.test_examples import check
from rdflib import RDF, RDFS, URIRef

from streamreasoner.api.nodes import from_ntriples
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.api.updates import Update

EXAMPLE = FOLDER / "ontology-versions"
VERSIONS = EXAMPLE / "versions"
OLD, NEW = "v2025-02-13", "v2026-03-26"
OBO = "http://purl.obolibrary.org/obo/"
WATCHES = URIRef("http://example.org/cells#watches")
both = pytest.mark.parametrize("hierarchies", ["stored", "encoded"])


def known(version):
    """Each class with each of its ancestors, as the package has them."""
    lines = (VERSIONS / f"{version}.ancestors.txt").read_text("utf-8").splitlines()
    rows = [[URIRef(f"{OBO}{term.replace(':', '_')}") for term in line.split()] for line in lines]
    return {(row[0], above) for row in rows for above in row[1:]}


def triples(version):
    """The triples of a version."""
    quads = pyoxigraph.parse(path=VERSIONS / f"{version}.ttl")
    return {tuple(from_ntriples(str(term)) for term in quad.triple) for quad in quads}


def of(reasoner, name):
    """The pairs of a property."""
    return {(subject, value) for subject, each, value in reasoner.facts() if each == name}


def of_classes(reasoner):
    """The types of the cells by the class that each was given."""
    return {(URIRef(str(cell)[5:]), each) for cell, each in of(reasoner, RDF.type)}


def with_cells(terms, hierarchies):
    """A reasoner with a cell of each class, which no version tells about yet."""
    reasoner = Reasoner.from_rules(EXAMPLE / "rules.dl", hierarchies=hierarchies)
    cells = [(URIRef(f"cell:{term}"), RDF.type, term) for term in terms]
    reasoner.apply([Update("triple", cell) for cell in cells])
    return reasoner


@both
def test_types_are_the_ancestors_of_each_version_and_back(hierarchies, tmp_path):
    """One epoch leads from version to version, the opposite one leads back, and nothing is left."""
    patch = (VERSIONS / f"{NEW}.rdfp").read_text("utf-8")
    back = tmp_path / "back.rdfp"
    swapped = {"A": "D", "D": "A"}
    lines = [line.split(" ", 1) for line in patch.splitlines()]
    back.write_text("".join(f"{swapped.get(row, row)} {rest}\n" for row, rest in lines))
    first, second = known(OLD), known(NEW)
    reasoner = with_cells({term for pair in first | second for term in pair}, hierarchies)
    own = of_classes(reasoner)

    reasoner.load(VERSIONS / f"{OLD}.ttl")
    before = set(reasoner.facts()), set(reasoner.trace())
    assert of_classes(reasoner) == first | own
    assert of(reasoner, RDFS.subClassOf) == first

    reasoner.load(VERSIONS / f"{NEW}.rdfp")
    assert of_classes(reasoner) == second | own
    assert of(reasoner, RDFS.subClassOf) == second
    assert len(first - second) == 23
    assert len(second - first) == 1007

    reasoner.load(back)
    assert (set(reasoner.facts()), set(reasoner.trace())) == before


@both
def test_the_readme_says_what_changes_for_the_lab(hierarchies):
    """Types that go and come, counts that are others, and what to annotate anew."""
    reasoner = Reasoner.from_rules(EXAMPLE / "rules.dl", hierarchies=hierarchies)
    reasoner.load(EXAMPLE / "facts" / "triple.nt", VERSIONS / f"{OLD}.ttl")
    changes = {
        (update.predicate, update.args, update.multiplicity)
        for update in reasoner.load(VERSIONS / f"{NEW}.rdfp").derived
    }
    types = [sign for _, args, sign in changes if RDF.type in args]
    counts = {(str(args[0])[-7:], args[1], sign) for name, args, sign in changes if name == "cells"}

    assert (types.count(-1), types.count(1)) == (23, 21)
    assert {("0008031", 40, -1), ("0008031", 39, 1), ("0012001", 48, -1)} < counts
    assert ("0012001", 44, 1) in counts
    assert [name for name, *_ in changes].count("obsolete") == 1


def test_the_patch_is_the_difference():
    """The older version with the patch is the newer one."""
    reasoner = Reasoner.from_rules("a(?x) :- [?x, a, ?x] .")
    reasoner.load(VERSIONS / f"{OLD}.ttl")
    reasoner.load(VERSIONS / f"{NEW}.rdfp")

    assert {*reasoner.facts()} == triples(NEW) != triples(OLD)


@both
@pytest.mark.parametrize("seed", [1, 2])
def test_random_edges_come_and_go(hierarchies, seed):
    """Watched and obsolete classes included, the result is that of a search."""
    chosen = random.Random(seed)
    some = sorted({above for _, above in known(NEW)})
    watched = {(URIRef("lab:1"), WATCHES, term) for term in chosen.sample(some, 9)}
    cells = {(URIRef(f"cell:{n}"), RDF.type, chosen.choice(some)) for n in range(40)}
    facts = sorted(triples(OLD) | triples(NEW) | watched | cells, key=str)
    reasoner = Reasoner.from_rules(EXAMPLE / "rules.dl", hierarchies=hierarchies)
    present = set()
    for _ in range(4):
        part = {*chosen.sample(facts, len(facts) // 2)}
        reasoner.apply([Update("triple", fact, -1 if fact in present else 1) for fact in part])
        present ^= part
        check("ontology-versions", reasoner, [("triple", fact) for fact in present])


def run(script, *arguments):
    """A script of the example."""
    command = [sys.executable, EXAMPLE / script, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def package(folder, version, **ancestors):
    """Write a version of the ontology X, whose class `a` is deprecated if it has no ancestors."""
    classes = {
        f"X:{term}": {
            "label": f'the "{term}"',
            "ancestors": {f"X:{above}": distance for above, distance in distances.items()},
            "deprecated": term == "a" and not distances,
        }
        for term, distances in ancestors.items()
    }
    with pa.output_stream(str(folder / f"X-ontology-{version}.json.zst"), "zstd") as file:
        file.write(json.dumps(classes).encode())


def test_versions_are_extracted(tmp_path):
    """A class that is deprecated later is in both versions, and one next to the root in none."""
    package(tmp_path, "1", a={"b": 1, "c": 2}, b={"c": 1}, c={}, d={"c": 1})
    package(tmp_path, "2", a={}, b={"c": 1}, c={}, d={"c": 1})
    options = ("--ontology", "X", "--root", "X:b", "--output", tmp_path)

    assert run("extract.py", tmp_path, "1", "2", *options).stderr == ""
    assert (tmp_path / "1.ancestors.txt").read_text() == "X:a X:b X:c\nX:b X:c\n"
    reasoner = Reasoner.from_rules(EXAMPLE / "rules.dl")
    reasoner.load(tmp_path / "1.ttl")
    reasoner.load(tmp_path / "2.rdfp")
    a, b, c = (URIRef(f"{OBO}X_{term}") for term in "abc")
    deprecated = URIRef("http://www.w3.org/2002/07/owl#deprecated")
    labels = {(term, RDFS.label, f'the "{str(term)[-1]}"') for term in (a, b, c)}
    assert {*reasoner.facts()} == labels | {(b, RDFS.subClassOf, c), (a, deprecated, True)}


@both
def test_versions_are_checked(hierarchies, tmp_path):
    """Types that lead through other ontologies are counted; those that contradict are an error."""
    package(tmp_path, "1", a={"b": 1, "c": 2}, b={"c": 1}, c={}, d={"c": 3})
    package(tmp_path, "2", a={}, b={"c": 1}, c={}, d={"c": 1})
    done = run("check.py", tmp_path, "X", "--hierarchies", hierarchies)

    assert done.returncode == 0
    assert "1 by way of other ontologies, 0 wrong\n" in done.stdout
    assert done.stdout.endswith("X: 0 facts are left after all is retracted\n")

    package(tmp_path, "3", a={"b": 1}, b={"c": 1}, c={})
    wrong = run("check.py", tmp_path, "X", "--hierarchies", hierarchies)
    assert wrong.returncode == 1
    assert "0 by way of other ontologies, 1 wrong\n" in wrong.stdout


def test_what_is_not_there_is_told(tmp_path):
    """In a message that says what to give."""
    assert "Give it the folder" in run("check.py", tmp_path).stderr

    package(tmp_path, "1", a={})
    told = run("extract.py", tmp_path, "2", "--ontology", "X").stderr
    assert told == f"X has no version 2 in {tmp_path}, but 1.\n"
