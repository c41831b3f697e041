"""The set of facts of a document, compared with a dict."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner import Reasoner
from streamreasoner.io.codec.from_files import Sending, messages_of
from streamreasoner.io.formats.reading.distinct import distinct
from streamreasoner.io.formats.reading.format import Facts

ROW = st.tuples(*[st.sampled_from((0, 1, 2, 2**31 - 2))] * 3)


@given(st.lists(st.lists(ROW, min_size=1), max_size=5), st.lists(ROW, max_size=3000))
def test_each_fact_is_given_once(blocks, large):
    """In the order of the document, of each predicate apart."""
    blocks = [*blocks, [(at, 0, at) for at in range(3000)], *([large] if large else [])]
    facts = [Facts("p" if at % 2 else "q", np.array(b, np.int32)) for at, b in enumerate(blocks)]
    given_ = [(each.predicate, tuple(row)) for each in facts for row in each.args.tolist()]
    found = [(each.predicate, tuple(row)) for each in distinct(facts) for row in each.args.tolist()]
    assert found == list(dict.fromkeys(given_))


def test_updates_all_stay():
    """What has a sign is not a member of a set."""
    rows = np.zeros((2, 3), np.int32)
    facts = Facts("triple", rows, np.array([1, -1]))
    assert [*distinct([facts, facts])] == [facts, facts]


LINE = "<http://e/s> <http://e/p> <http://e/o> .\n"
TWICE = {
    "a.nt": LINE * 2,
    "a.nq": LINE * 2,
    "a.ttl": LINE * 2,
    "a.trig": LINE + "{" + LINE + "}",
    "a.rdf": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
        '<rdf:Description rdf:about="http://e/s"><e:p rdf:resource="http://e/o"/>'
        '<e:p rdf:resource="http://e/o"/></rdf:Description></rdf:RDF>'
    ),
    "a.jsonld": '[{"@id":"http://e/s","http://e/p":{"@id":"http://e/o"}},'
    '{"@id":"http://e/s","http://e/p":{"@id":"http://e/o"}}]',
    "triple.csv": "<http://e/s>,<http://e/p>,<http://e/o>\n" * 2,
    "a.parquet": "",
}


@pytest.mark.parametrize("name", TWICE)
def test_a_file_is_a_set(tmp_path, name):
    """A fact that it has twice is asserted and sent once; two files assert it twice."""
    path = tmp_path / name
    if name.endswith("parquet"):
        columns = {"s": ["<http://e/s>"] * 2, "p": ["<http://e/p>"] * 2, "o": ["<http://e/o>"] * 2}
        pq.write_table(pa.table(columns), path)
    else:
        path.write_text(TWICE[name])
    reasoner = Reasoner.from_rules("[?o, ?p, ?s] :- [?s, ?p, ?o] .")
    for times in (1, 2):
        reasoner.load(path)
        rows = reasoner.session.engine.trace("triple")
        assert rows.multiplicity[rows.iteration == 0].tolist() == [times]
    assert len([*messages_of(path, Sending())]) == 1
