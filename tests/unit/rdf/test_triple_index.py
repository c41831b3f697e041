"""The table of triple terms has the parts of each, by the ids that its reader has for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.term_kind import is_triple_term
from streamreasoner.rdf.triple_index import TripleIndex
from streamreasoner.rdf.triple_terms import components, triple_term

NODES = st.sampled_from(["<urn:a>", "<urn:b>", "_:c"])
TERMS = st.recursive(
    st.one_of(NODES, st.sampled_from(['"x"', '"x"@en--ltr'])),
    lambda terms: st.builds(triple_term, NODES, st.just("<urn:p>"), terms),
    max_leaves=3,
)


class FirstTerms:
    """The first terms of a dictionary, as of an epoch."""

    def __init__(self, dictionary, count):
        self._dictionary = dictionary
        self._count = count

    def __len__(self):
        return self._count

    def find(self, term):
        """The id, if it is one of them."""
        found = self._dictionary.find(term)
        return None if found is None or found >= self._count else found

    def decode(self, ids):
        """The terms."""
        return self._dictionary.decode(ids)


def with_inner(terms):
    """Triple terms, and those inside them."""
    found = {term for term in terms if is_triple_term(term)}
    return found | (with_inner({components(term)[2] for term in found}) if found else set())


@given(
    st.lists(st.tuples(st.lists(TERMS, max_size=4), st.booleans()), max_size=4),
    st.sampled_from([0, 400]),
)
def test_rows_are_the_triple_terms_of_the_dictionary(steps, others):
    """Whatever comes later, for each number of terms that a reader knows."""
    dictionary, index = Dictionary(), TripleIndex()
    for number in range(others):  # among many terms, parts are found one by one
        dictionary.intern(f'"{number}"')
    known = {len(dictionary): set()}
    for terms, is_read in steps:
        for term in terms:
            dictionary.intern(term)
        known[len(dictionary)] = set(dictionary.terms(0, len(dictionary)).to_pylist())
        if is_read:
            index.of(dictionary)
    for count, terms in known.items():
        first = FirstTerms(dictionary, count)
        found = index.of(first)

        def text(identifier, first=first, found=found):
            if identifier >= 0:
                assert identifier < len(first)
                return first.decode([identifier])[0].as_py()
            (term,) = found.decode(found.rows.dtype.type([identifier])).to_pylist()
            assert first.find(term) is None
            assert found.find(term) == identifier
            return term

        rows = {tuple(map(text, row)) for row in found.rows.tolist()}
        assert {row[0] for row in rows} >= with_inner(terms)
        assert all(components(term) == tuple(parts) for term, *parts in rows)
        assert len(rows) == len(found.rows)
