"""Texts of programs by their names. Invariant: the end of a name tells what its text is.

A name that ends in `.ttl` is one of shapes, one that ends in `.rq` that of a query, one that ends
in `.srl` that of a rule set of SPARQL-RL, any other one of rules.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from streamreasoner.errors import ProgramError
from streamreasoner.lang.parser import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streamreasoner.lang.diagnostic import Diagnostic
    from streamreasoner.lang.parser import ParsedText

SHAPES = ".ttl"
"""Suffix of files of shapes."""

QUERY = ".rq"
"""Suffix of files of queries."""

RULE_SET = ".srl"
"""Suffix of files of SPARQL-RL."""

_SEVERAL = 2

SUFFIXES = (".dl", RULE_SET, SHAPES, QUERY)
"""What names of files of a program end in."""


RULES = "text/plain"
"""Media type of the rule language, whatever the name of a text ends in."""

MEDIA_TYPES = {RULES: ".dl", "application/sparql-rl": RULE_SET, "text/turtle": SHAPES}
"""Media types of texts of rules, and what names of their files end in."""


def read_source(text: str, source: str, suffix: str | None = None) -> ParsedText:
    """Read a text of rules, or one of another language as the rules that it stands for.

    Args:
        text: The text.
        source: Its name in diagnostics.
        suffix: What tells its language; by default the name does.
    """
    name = source if suffix is None else suffix
    if name.endswith(SHAPES):
        (reading,) = read_shapes({source: text})
        return reading
    if name.endswith(RULE_SET):
        return read_rule_set(text, source)
    return read_query(text, source) if name.endswith(QUERY) else read(text, source)


def suffix_of(media_type: str) -> str:
    """What names of files of a media type end in; its parameters do not matter.

    Raises:
        ProgramError: There are no rules of this type.
    """
    name = media_type.partition(";")[0].strip().lower()
    if name not in MEDIA_TYPES:
        known = ", ".join(f"{each} ({suffix})" for each, suffix in MEDIA_TYPES.items())
        raise ProgramError(f"Rules are not of the media type {media_type!r}, but {known}.")
    return MEDIA_TYPES[name]


def read_shapes(texts: Mapping[str, str]) -> tuple[ParsedText, ...]:
    """Read texts of shapes, by their names, as rules; shapes of one may be of another."""
    # Most programs have neither shapes nor queries, so they do not import how these are read.
    from streamreasoner.shapes.compile import compile_shapes  # noqa: PLC0415

    return compile_shapes(texts).readings


def read_query(text: str, source: str, name: str | None = None) -> ParsedText:
    """Read a query as rules whose answers are facts of a predicate, by default that of the file."""
    from streamreasoner.sparql.compile import compile_query  # noqa: PLC0415

    return compile_query(text, source, name_of_query(source) if name is None else name)


def read_rule_set(text: str, source: str) -> ParsedText:
    """Read a rule set of SPARQL-RL as rules."""
    from streamreasoner.srl.compile import compile_rule_set  # noqa: PLC0415

    return compile_rule_set(text, source)


def not_stratified_together(readings: Iterable[ParsedText]) -> tuple[Diagnostic, ...]:
    """What is wrong with the rule sets of a program as one, of which each is right by itself."""
    texts = {
        each.program.source: each.program.text
        for each in readings
        if each.is_rule_set and not each.diagnostics
    }
    if len(texts) < _SEVERAL:
        return ()
    from streamreasoner.srl.compile import problems_of  # noqa: PLC0415

    return problems_of([*texts.items()])


def is_of_rules(path: str) -> bool:
    """Whether a file has rules and not facts, by its name: shapes are facts too."""
    return path.endswith(SUFFIXES) and not path.endswith(SHAPES)


def is_query(source: str) -> bool:
    """Whether a text of this name is a query: a file, or one that was added by a name."""
    return source.endswith(QUERY) or source.startswith("<query ")


def name_of_query(source: str) -> str:
    """The predicate of a query in a file: the name of the file, `_` for what no name has."""
    return re.sub(r"[^A-Za-z0-9_]", "_", PurePath(source).stem)
