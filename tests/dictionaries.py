"""Dictionaries that compress texts from the first term on. Invariant: they have no terms yet."""

from __future__ import annotations

from functools import cache

from streamreasoner.rdf.compression.training import train
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.kernels import symbols, term_header

SAMPLE = (
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"-2.5"^^<http://www.w3.org/2001/XMLSchema#decimal>',
    '"abc"@en',
    '"a\\n"@en-gb',
    "<http://example.org/a>",
    "<urn:é>",
    "<<( <urn:a> <urn:b> _:c )>>",
    '"anu0\\uFFFE\U0001f600"',
)


def compressing(*sample):
    """A dictionary with the symbols of a sample of texts, else of terms of each kind."""
    dictionary = Dictionary()
    learn(dictionary.header, dictionary, tuple(text.encode() for text in sample or SAMPLE))
    return dictionary


def learn(header, dictionary, sample):
    """Compress later texts, from the next block on, with the symbols of a sample."""
    header[term_header.TABLE] += 1
    first = int(header[term_header.TABLE]) * symbols.TABLE_WORDS
    own, found = dictionary._symbols, _trained(sample)  # noqa: SLF001 - it learns from many terms
    found.write_table(own._tables.array[first : first + symbols.TABLE_WORDS])  # noqa: SLF001
    found.write_index(own._index.array)  # noqa: SLF001


@cache
def _trained(sample):
    return train(sample * 4)[0]
