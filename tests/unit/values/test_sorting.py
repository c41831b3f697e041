"""Sort keys: texts that compare as rows of terms do."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from oracle.aggregates import order
from strategies import DOMAIN
from unit.values.test_sums import TERMS

from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.values.order import sort_key


@dataclass(frozen=True)
class Reversed:
    """An order the other way round."""

    key: tuple

    def __lt__(self, other):
        return other.key < self.key


def expected(letter, term):
    """What decides where a term is: what is unbound is before all terms."""
    key = () if term == UNBOUND else order(term)
    return Reversed(key) if letter == "d" else key


@given(
    st.text("ad", min_size=2, max_size=2),
    st.lists(st.tuples(*[st.sampled_from([*DOMAIN, *TERMS, UNBOUND])] * 2), max_size=8),
)
def test_keys_compare_as_rows(letters, rows):
    """Each term in its direction, the first that differs decides."""
    by_key = sorted(rows, key=lambda row: sort_key(f'"{letters}"', *row))

    assert by_key == sorted(rows, key=lambda row: [*map(expected, letters, row)])


@given(st.lists(st.sampled_from([*DOMAIN, *TERMS]), min_size=2, max_size=2, unique=True))
def test_different_terms_have_different_keys(terms):
    """So what is chosen by keys is chosen exactly."""
    assert len({sort_key('"a"', term) for term in terms}) == len(terms)
