"""The growth benchmark on made-up triples: every epoch is undone, and sizes are as asked for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from benchmarks import growth, harness
from streamreasoner.rdf.dictionary import Dictionary

SCHEMA = "<http://www.w3.org/2000/01/rdf-schema#{}>"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def data(count=400):
    """A dictionary, and distinct triples: a chain of classes and instances of them."""
    dictionary = Dictionary()
    classes = [dictionary.intern(f"<urn:class:{i}>") for i in range(10)]
    below, kind = (dictionary.intern(term) for term in (SCHEMA.format("subClassOf"), TYPE))
    chain = [(low, below, high) for low, high in pairwise(classes)]
    things = [(dictionary.intern(f"<urn:x:{i}>"), kind, classes[i % 10]) for i in range(count)]
    return dictionary, np.array(chain + things, np.int32)


def test_the_state_is_the_same_after_all_epochs(monkeypatch):
    """What is deleted is added back; epochs go up by tens to half of the data."""
    monkeypatch.setattr(growth, "SINGLES", 20)
    monkeypatch.setattr(growth, "MOST", 5)
    dictionary, triples = data()

    found = growth.grow("rho-df", dictionary, triples, 1_000)

    assert found["same"]
    assert found["triples"] == len(triples)
    assert found["facts"] > len(triples)
    assert [row["updates"] for row in found["epochs"]] == [1, 10, 100]
    tables = growth.tables([{"scale": 1, **found}], found["epochs"])
    assert [len(table["rows"]) for table in tables] == [1, 3]


def test_repetitions_are_left_out():
    """Distinct triples are those there are, in the order in which they first come."""
    random = np.random.default_rng(0)
    triples = random.integers(0, 4, (200, 3)).astype(np.int32)

    found = growth.distinct(triples)

    assert list(map(tuple, found.tolist())) == list(dict.fromkeys(map(tuple, triples.tolist())))


def test_absent_data_is_said_to_be_absent(monkeypatch, tmp_path, capsys):
    """A scale without data is named with the place where it is looked for."""
    monkeypatch.setattr(harness, "DATA", tmp_path)

    assert not growth.available(10)

    message = capsys.readouterr().err
    assert str(tmp_path / "univ-bench.nt") in message
    assert "LUBM(10) is left out." in message


@pytest.mark.parametrize(("count", "rounds"), [(1, 6), (7, 6), (30, 1)])
def test_there_and_back_is_as_often_as_asked(count, rounds):
    """Rounds take other triples each, as far as there are any, and leave the facts as they were."""
    dictionary, triples = data(50)
    kernel = growth.Kernel("rho-df", dictionary)
    kernel.load([growth.updates("triple", triples, 1)])
    before = kernel.digest(["triple"])

    out, back = growth.there_and_back(kernel, triples, count, 6, np.random.default_rng(0))

    assert len(out) == len(back) == rounds
    assert kernel.digest(["triple"]) == before
