"""Rules that may make terms without end, as diagnostics. Invariant: of a query it is a mistake.

The rules of a program may rely on data without cycles; a query is to answer whatever there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.analysis.new_terms import endless
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.program.sources import is_query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from streamreasoner.lang.ast import Rule

_OF_RULES = (
    "bound what is made, for example by `?n < 100`; without a bound an epoch may fail, as it makes "
    "more terms than it may"
)
_OF_QUERY = (
    "name the properties and classes that the pattern reads, other ones than those of the template"
)


def endless_rules(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> Iterator[Diagnostic]:
    """A warning for each rule in normal form that may; of the rules of a query, a mistake."""
    for each in endless(rules, prefixes):
        if is_query(each.rule.span.source):
            message = "the query reads the new terms that it makes, so they may never end"
            yield Diagnostic("SR303", message, each.rule.span, _OF_QUERY)
        elif not each.walks:
            yield Diagnostic("SR511", each.text, each.rule.span, _OF_RULES)
