"""Completion of commands. Invariant: every candidate extends the text before the cursor.

Candidates are commands, predicates, prefixes, and IRIs of the dictionary that have a short form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import filterfalse, islice
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, Constant
from streamreasoner.lang.printer import print_expression
from streamreasoner.rdf.term_kind import is_iri
from streamreasoner.shell.command import ALIASES, CATALOGUE, ArgumentKind
from streamreasoner.shell.inputs import first_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.shell.execute import Session

MAX_TERMS = 10_000
"""Number of terms offered, the oldest in the dictionary; more would cause a noticeable delay."""

MAX_CANDIDATES = 50
"""Maximum number of candidates."""

_TYPED = re.compile(r"@?[^\s()\[\],@\"'|!]*$")


@dataclass(frozen=True, slots=True)
class Candidates:
    """Completions of the word before the cursor.

    Attributes:
        typed: The word; each text begins with it.
        texts: The completions.
    """

    typed: str
    texts: tuple[str, ...]


class Completions:
    """Finds candidates; caches the short forms of terms."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._prefixes: Mapping[str, str] = {}
        self._seen = 0
        self._names: list[str] = []

    def at(self, before: str) -> Candidates:
        """Candidates for the text before the cursor, at most `MAX_CANDIDATES`."""
        match = _TYPED.search(before)
        typed = match[0] if match is not None else ""
        matching = (text for text in self._all(before, typed) if text.startswith(typed))
        return Candidates(typed, tuple(islice(dict.fromkeys(matching), MAX_CANDIDATES)))

    def _all(self, before: str, typed: str) -> Iterator[str]:
        word, end = first_word(before)
        if end >= len(before):
            yield from CATALOGUE
            if typed:
                yield from ALIASES
            return
        if word not in CATALOGUE:
            return
        if word == "help":
            yield from CATALOGUE
            return
        if CATALOGUE[word].argument_kind not in (
            ArgumentKind.FACTS,
            ArgumentKind.PATTERN,
            ArgumentKind.QUESTION,
            ArgumentKind.RULES,
        ):
            return
        arities = self._session.reasoner.program.visible
        # A predicate alone is a pattern, but not a fact.
        alone = CATALOGUE[word].argument_kind in (ArgumentKind.PATTERN, ArgumentKind.QUESTION)
        suffix = "" if alone else "("
        yield from (f"{name}{suffix}" for name in sorted(arities))
        yield from (f"{name}:" for name in sorted(self._session.prefixes))
        if typed:
            yield from self._short_iris()

    def _short_iris(self) -> Iterable[str]:
        """Short forms of those IRIs that the prefixes in scope abbreviate."""
        prefixes, dictionary = self._session.prefixes, self._session.reasoner.session.dictionary
        if prefixes != self._prefixes:
            self._prefixes, self._seen, self._names = prefixes, 0, []
        stop = min(len(dictionary), MAX_TERMS)
        if stop > self._seen:
            terms = dictionary.terms(self._seen, stop).to_pylist()
            short = (
                print_expression(Constant(term, NOWHERE), prefixes)
                for term in filter(is_iri, terms)
            )
            self._names = sorted({*self._names, *filterfalse(is_iri, short)})
            self._seen = stop
        return self._names
