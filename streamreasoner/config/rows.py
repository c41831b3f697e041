"""How rows of tables become facts: the tables of `[input.map]`.

Invariant: an argument without columns is a canonical term, and one with columns is a term for some
values of them; a mapping names a topic or a table, and no two name the same.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from streamreasoner.config.key_kinds import KeyKind, inline_table, show
from streamreasoner.errors import TermError
from streamreasoner.rdf.term_kind import begins_term, is_blank_node, is_literal, is_triple_term
from streamreasoner.rdf.terms import canonical, to_ntriples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_HOLE = re.compile(r"\{(\+?)([^{}]+)\}")
_BRACE = re.compile(r"[{}]")
_ARGUMENT = 'a column, an <IRI> or a "literal", both with {columns} if need be, or a number'
_SAMPLES = ("x", "1")
"""Values of columns with which a template is checked: it must be a term with one of them."""
_SAMPLE_IRI = "http://e/x"


class Escape(Enum):
    """How the value of a column is written into a template."""

    SIMPLE = "all but unreserved characters are percent-encoded"
    RESERVED = "reserved characters stay too, so that the value may be an IRI"
    LITERAL = "quotation marks and the like are escaped"


@dataclass(frozen=True, slots=True)
class Column:
    """An argument that is the value of a column, as a literal."""

    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Constant:
    """An argument that is the same term for all rows."""

    term: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads: none."""
        return ()


@dataclass(frozen=True, slots=True)
class Template:
    """An argument that is a term in N-Triples syntax with values in it.

    Attributes:
        texts: What stands before, between and after the values.
        columns: The columns of the values, one fewer than texts.
        escapes: How each value is written.
    """

    texts: tuple[str, ...]
    columns: tuple[str, ...]
    escapes: tuple[Escape, ...]


Argument: TypeAlias = Column | Constant | Template


@dataclass(frozen=True, slots=True)
class MappedFact:
    """A fact of each row.

    Attributes:
        predicate: Its predicate.
        args: Its arguments.
    """

    predicate: str
    args: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class RowMapping:
    """The facts of the rows of one topic or table.

    Attributes:
        name: Its name in the configuration.
        topic: The topic of the rows; None if a table is named.
        table: The table of the rows, with or without schema and database; None if a topic is named.
        key: Columns whose values tell a row from all others of the table.
        facts: The facts, at least one.
    """

    name: str
    topic: str | None
    table: str | None
    key: tuple[str, ...]
    facts: tuple[MappedFact, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that facts read, each once."""
        arguments = (each for fact in self.facts for each in fact.args)
        return tuple(dict.fromkeys(name for each in arguments for name in each.columns))


class MappingProblemsError(ValueError):
    """All that is wrong with the mappings; each problem begins with its key."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def argument(text: object) -> Argument:
    """Read an argument, as the configuration has it.

    Raises:
        ValueError: It is none; says why.
    """
    if isinstance(text, bool | int | float):
        return Constant(to_ntriples(text))
    if not isinstance(text, str):
        raise ValueError("it is neither text nor a number")  # noqa: TRY004 - as in config.key_kinds
    if not begins_term(text):
        if not text.strip():
            raise ValueError("a column has a name")
        if _BRACE.search(text):
            raise ValueError("an IRI begins with <, a literal with a quotation mark")
        return Column(text)
    return _written(text)


def _written(text: str) -> Constant | Template:
    """An argument in N-Triples syntax, with columns."""
    holes = [*_HOLE.finditer(text)]
    texts = _HOLE.split(text)[::3]
    if any(map(_BRACE.search, texts)):
        raise ValueError("a brace that does not belong to a {column} is written \\u007B or \\u007D")
    if holes and is_triple_term(text):
        raise ValueError("a triple term is the same in all rows; its facts can be made by rules")
    if holes and is_blank_node(text):
        raise ValueError("a blank node is the same in all rows; write an IRI")
    if is_literal(text) and _BRACE.search(text[text.rfind('"') :]):
        raise ValueError("a datatype and a language are the same in all rows")
    if is_literal(text) and any(hole[1] for hole in holes):
        raise ValueError("{+column} is for IRIs, where it lets reserved characters stay")
    term = _term(text)
    if not holes:
        return Constant(term)
    escapes = (
        Escape.LITERAL if is_literal(text) else Escape.RESERVED if hole[1] else Escape.SIMPLE
        for hole in holes
    )
    return Template(tuple(texts), tuple(hole[2] for hole in holes), tuple(escapes))


def _term(text: str) -> str:
    """The canonical term that an argument is with sample values of its columns."""
    mistakes: list[TermError] = []
    for sample in _SAMPLES:
        # At the beginning of an IRI, {+column} is an IRI itself.
        begun = re.sub(r"^<\{\+[^{}]+\}", f"<{_SAMPLE_IRI}", text)
        try:
            return canonical(_HOLE.sub(sample, begun))
        except TermError as error:
            mistakes.append(error)
    raise ValueError(str(mistakes[0]))


def _mappings(value: Any, _: Path) -> dict[str, RowMapping]:
    reader = _Reader()
    mappings = {
        name: reader.mapping(name, written) for name, written in inline_table(value).items()
    }
    for what in ("topic", "table"):
        named = Counter(getattr(each, what) for each in mappings.values())
        reader.problems += [
            f'{name}.{what}: found "{found}", which another mapping names too,'
            f" allowed: a {what} that no other mapping names"
            for name, each in mappings.items()
            if (found := getattr(each, what)) is not None and named[found] > 1
        ]
    if reader.problems:
        raise MappingProblemsError(reader.problems)
    return mappings


class _Reader:
    """Reads tables of TOML, and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def mapping(self, name: str, value: object) -> RowMapping:
        """A mapping; what is wrong with it is replaced by something empty."""
        table = self._table(name, value, ("topic", "table", "key", "facts"))
        one = ("topic" in table) != ("table" in table)
        self._check(name, [*table], "exactly one of the keys topic and table", good=one)
        topic, source = table.get("topic"), table.get("table")
        key, facts = table.get("key", []), table.get("facts")
        good = "topic" not in table or _named(topic)
        topic = self._check(f"{name}.topic", topic, "an input topic", good=good)
        good = "table" not in table or _named(source)
        source = self._check(f"{name}.table", source, "a table, such as public.rooms", good=good)
        good = isinstance(key, list) and all(map(_named, key)) and len({*key}) == len(key)
        key = self._check(f"{name}.key", key, "a list of columns, each once", good=good)
        good = isinstance(facts, list) and bool(facts)
        facts = self._check(f"{name}.facts", facts, "a list of facts, at least one", good=good)
        read = (self._fact(f"{name}.facts[{at}]", each) for at, each in enumerate(facts or ()))
        return RowMapping(name, topic, source, tuple(key or ()), tuple(read))

    def _fact(self, where: str, value: object) -> MappedFact:
        table = self._table(where, value, ("predicate", "args"))
        predicate, args = table.get("predicate"), table.get("args")
        good = _named(predicate)
        self._check(f"{where}.predicate", predicate, "the name of a predicate", good=good)
        good = isinstance(args, list)
        args = self._check(f"{where}.args", args, "a list of arguments", good=good) or []
        return MappedFact(str(predicate), tuple(self._arguments(where, args)))

    def _arguments(self, where: str, args: Iterable[object]) -> Iterator[Argument]:
        for position, each in enumerate(args):
            try:
                yield argument(each)
            except ValueError as error:
                allowed = f"{_ARGUMENT} ({error})"
                self._check(f"{where}.args[{position}]", each, allowed, good=False)

    def _table(self, where: str, value: object, keys: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._check(where, value, f"a table with the keys {', '.join(keys)}", good=False)
            return {}
        for name in value:
            if name not in keys:
                self.problems.append(f"{where}.{name}: unknown key. Known: {', '.join(keys)}")
        return value

    def _check(self, where: str, found: Any, allowed: str, *, good: bool) -> Any:
        """A value that is good; for another one None, and a problem."""
        if good:
            return found
        shown = "nothing" if found is None else show(found)
        self.problems.append(f"{where}: found {shown}, allowed: {allowed}")
        return None


def _named(value: object) -> bool:
    """Whether a value is the name of something."""
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


MAPPINGS = KeyKind("a table of mappings, each with a name", _mappings)
