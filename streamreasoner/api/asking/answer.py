"""Answers of queries in Python. Invariant: decoded when they are read, as all results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.api.nodes import from_ntriples
from streamreasoner.api.results import Rows
from streamreasoner.api.typed import typed
from streamreasoner.facts import decode_rows
from streamreasoner.lang.ast import COLUMNS, TRIPLE
from streamreasoner.query.sparql import formats
from streamreasoner.query.sparql.answers import Solutions
from streamreasoner.query.sparql.query_terms import UNBOUND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.api.nodes import PythonTerm
    from streamreasoner.query.sparql.answers import Triples


class Answer(Rows["tuple[PythonTerm | None, ...]"]):
    """The rows of a query: a sequence of tuples of Python terms.

    Those of SELECT are its solutions, with None where a variable has no value; those of CONSTRUCT
    and DESCRIBE are triples.

    Attributes:
        columns: The names of the variables, or `s`, `p` and `o`.
    """

    def __init__(self, answer: Solutions | Triples, prefixes: Mapping[str, str]) -> None:
        self._answer = answer
        self._prefixes = prefixes
        self.columns = answer.variables if isinstance(answer, Solutions) else COLUMNS[TRIPLE]

    def __len__(self) -> int:
        return len(self._answer)

    @property
    def is_of_select(self) -> bool:
        """Whether the rows are solutions, not triples."""
        return isinstance(self._answer, Solutions)

    def to_arrow(self, *, types: bool = False) -> pa.Table:
        """As an Arrow table of texts in N-Triples syntax; null where there is no value.

        It has a row for each solution, even without columns.

        Args:
            types: Whether columns of terms of one kind have values, see `api.typed`.
        """
        ids = self._answer.ids
        if not self.columns:
            return pa.Table.from_struct_array(pa.array([{}] * len(ids), pa.struct([])))
        is_unbound = ids == UNBOUND
        distinct = np.unique(ids[~is_unbound])
        terms = self._answer.terms.decode(distinct)
        places = np.searchsorted(distinct, ids).astype(np.int32)
        table = pa.table(
            {
                name: pa.DictionaryArray.from_arrays(
                    pa.array(places[:, position], mask=is_unbound[:, position]), terms
                )
                for position, name in enumerate(self.columns)
            }
        )
        return typed(table, table.column_names) if types else table

    def serialize(self, format: str | None = None) -> bytes:  # noqa: A002  (as rdflib calls it)
        """As text.

        Args:
            format: `json`, `xml`, `csv` or `tsv` of SELECT, `turtle`, `ntriples`,
                `rdf-xml` or `json-ld` of others; the
                first of these by default.

        Raises:
            QueryError: There is no such format.
        """
        name = format or formats.formats_of(self._answer)[0].name
        return formats.written(self._answer, name, self._prefixes)

    def _first(self, count: int) -> Answer:
        first = replace(self._answer, ids=self._answer.ids[:count])
        return Answer(first, self._prefixes)

    def _decoded(self) -> list[tuple[PythonTerm | None, ...]]:
        return decode_rows(self._answer.ids, self._answer.terms, _value)


def _value(term: str | None) -> PythonTerm | None:
    return None if term is None else from_ntriples(term)
