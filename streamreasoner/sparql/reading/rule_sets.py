"""Rule sets (SPARQL 1.2 RL, Grammar). Invariant: what only queries have is refused at its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit
from urllib.request import url2pathname

from streamreasoner.lang.ast import Constant, Import, Variable
from streamreasoner.rdf import terms
from streamreasoner.rdf.iris import is_absolute
from streamreasoner.sparql.algebra import Inverse, Sequence, variables_of
from streamreasoner.sparql.reading.groups import Condition, GroupReader
from streamreasoner.sparql.reading.triples import Triples
from streamreasoner.sparql.rule_set import Absence, Assignment, Filter, Rule, RuleSet, Triple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.lang.ast import Span
    from streamreasoner.sparql.algebra import Expression, Node, Path, TriplePattern
    from streamreasoner.sparql.reading.term_reader import Place
    from streamreasoner.sparql.rule_set import Element

_NO_PATH = "write a rule for each alternative, and recursion for paths of any length"
_NO_EXISTS = "write the pattern in the body, or `NOT { … }` as an element of it"
ABSENT = frozenset({"BOUND", "COALESCE", "MD5", "RAND", "SHA1", "SHA256", "SHA384", "SHA512"})
"""Functions of SPARQL that rule sets do not have."""


@dataclass(frozen=True, slots=True)
class Data:
    """`DATA { … }`."""

    triples: tuple[Triple, ...]


class RuleSetReader(GroupReader):
    """Reads one rule set."""

    versions = ("1.2",)

    def rule_set(self, _: Place, values: list[Any]) -> RuleSet:
        """The document."""
        return RuleSet(
            rules=tuple(each for each in values if isinstance(each, Rule)),
            data=tuple(
                triple for each in values if isinstance(each, Data) for triple in each.triples
            ),
            imports=tuple(each for each in values if isinstance(each, Import)),
            blank_nodes=frozenset(self._blank.values()),
            prefixes=tuple(self._prefixes.items()),
        )

    def imports(self, place: Place, values: list[Any]) -> Import:
        """`IMPORTS iri`: a file, by its path from this one or by its IRI, or a ruleset."""
        (token,) = values
        span = self._span(place)
        if token.type == "IRI":
            reference = terms.iri_text(token[1:-1])
            if not is_absolute(reference) and not self._base:
                return Import(reference, span)
            iri = self._resolved(token, place)
        else:
            iri = self.prefixed(place, values).term[1:-1]
        if urlsplit(iri).scheme != "file":
            message = f"the rule set <{iri}> is not in a file, and nothing is loaded from elsewhere"
            raise self._refusal(
                message, place, "save it, and import its path: `IMPORTS <file.srl>`"
            )
        return Import(url2pathname(urlsplit(iri).path), span)

    def rule(self, place: Place, values: list[Any]) -> Rule:
        """`RULE iri { … } WHERE { … }`."""
        return self._rule(place, values, of_data=False)

    def rule_of_data(self, place: Place, values: list[Any]) -> Rule:
        """`RULE iri { … } WHERE DATA { … }`."""
        return self._rule(place, values, of_data=True)

    def _rule(self, place: Place, values: list[Any], *, of_data: bool) -> Rule:
        *names, head, body = values
        name = names[0].term[1:-1] if names else None
        return Rule(head, body, of_data, name, self._base, self._span(place))

    def data(self, _: Place, values: list[Triples]) -> Data:
        """`DATA { … }`."""
        found = tuple(self._templates(values, "DATA"))
        hidden = set(self._blank.values())
        for triple in found:
            for variable in (each for term in triple.terms for each in variables_of(term)):
                if variable.name not in hidden:
                    hint = "write a rule: `RULE { … } WHERE { … }`"
                    raise self._refusal("a variable in DATA", variable.span, hint)
        return Data(found)

    def head(self, _: Place, values: list[Triples]) -> tuple[Triple, ...]:
        """The templates of a rule."""
        return tuple(self._templates(values, "the head of a rule"))

    def _templates(self, blocks: list[Triples], what: str) -> Iterator[Triple]:
        for block in blocks:
            for each in self._plain(block, what):
                assert isinstance(each.predicate, Constant | Variable)  # noqa: S101 - it is plain
                span = self._span(block.place)
                yield Triple(each.subject, each.predicate, each.object, span)

    def body(self, place: Place, values: list[Any]) -> tuple[Element, ...]:
        """The elements of a rule in order."""
        self._no_aggregates(place[0])
        found: list[Element] = []
        for value in values:
            match value:
                case Triples():
                    for each in value.triples:
                        found += self._steps(each, self._span(value.place))
                case Condition(expression):
                    found.append(Filter(expression, expression.span))
                case _:
                    found.append(value)
        return tuple(found)

    inner_body = body

    def absence(self, place: Place, values: list[Any]) -> Absence:
        """`NOT { … }`."""
        return Absence(values[-1], of_data=False, span=self._keyword(place, "NOT"))

    def absence_of_data(self, place: Place, values: list[Any]) -> Absence:
        """`NOT DATA { … }`."""
        return Absence(values[-1], of_data=True, span=self._keyword(place, "NOT"))

    def assignment(self, place: Place, values: list[Any]) -> Assignment:
        """`SET ( ?variable := expression )`."""
        return Assignment(values[0], values[1], self._span(place))

    def _steps(self, pattern: TriplePattern, span: Span) -> Iterator[Triple]:
        """The triple patterns of a path, with a variable between any two steps."""
        yield from self._path(pattern.subject, pattern.predicate, pattern.object, span)

    def _path(self, start: Node, path: Path | Variable, end: Node, span: Span) -> Iterator[Triple]:
        match path:
            case Inverse(inner):
                yield from self._path(end, inner, start, span)
            case Sequence(steps):
                nodes = [start, *(self._new("path", span) for _ in steps[1:]), end]
                for step, first, second in zip(steps, nodes, nodes[1:], strict=False):
                    yield from self._path(first, step, second, span)
            case Constant() | Variable():
                yield Triple(start, path, end, span)
            case _:
                raise AssertionError(path)

    def alternative(self, place: Place, values: list[Path]) -> NoReturn:  # noqa: ARG002 - as others
        """`path | path`, of queries."""
        raise self._refusal("a path of a rule has no `|`", place, _NO_PATH)

    def repeated(self, place: Place, values: list[Any]) -> NoReturn:
        """`path*`, `path+` or `path?`, of queries."""
        raise self._refusal(f"a path of a rule has no `{values[-1]}`", place, _NO_PATH)

    def negated(self, place: Place, values: list[Any]) -> NoReturn:  # noqa: ARG002 - as others
        """`!predicate`, of queries."""
        raise self._refusal("a path of a rule has no `!`", place, "write a variable and a FILTER")

    def group(self, place: Place, values: list[Any]) -> NoReturn:  # noqa: ARG002 - as others
        """`{ … }`, which in expressions is the pattern of EXISTS."""
        raise self._refusal("a condition of a rule has no EXISTS", place, _NO_EXISTS)

    def function_call(self, place: Place, values: list[Any]) -> Expression:
        """`name(a, b)`."""
        token = values[0]
        if token.upper() in ABSENT:
            raise self._refusal(f"SPARQL-RL does not have the function `{token}`", place)
        return super().function_call(place, values)
