"""One shape to rules. Invariant: its constraints are reported for focus nodes, and only for them.

The predicates are those of `writer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from streamreasoner.lang.ast import NOWHERE, Constant, Rule, Variable
from streamreasoner.rdf.terms import to_ntriples
from streamreasoner.shapes.paths import path_text
from streamreasoner.shapes.rules.bodies import Bodies, is_counted
from streamreasoner.shapes.rules.shapes_graph import known
from streamreasoner.shapes.rules.values import value_rules
from streamreasoner.shapes.shape import QUALIFIED
from streamreasoner.sparql.prebound import derive_answers, derive_prebound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from streamreasoner.shapes.rules.texts import Texts
    from streamreasoner.shapes.shape import Component, Shape
    from streamreasoner.sparql.algebra import Path, Term

Statement: TypeAlias = str | Rule
"""A statement in the rule language, or a rule."""

WITHOUT_VALUE = frozenset({"minCount", "maxCount", "hasValue", "uniqueLang", *QUALIFIED})
"""Components whose violations are of no value."""

FOCUS, PATH, VALUE, MESSAGE, SEVERITY = "this", "path", "value", "message", "severity"
"""Roles of the arguments of a violation; others have the names of variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """What a shape is checked for.

    Attributes:
        reported: Its violations are reported.
        tested: Other shapes ask which nodes do not conform.
        nested: Other shapes have it as a property shape, and report its violations.
    """

    reported: bool
    tested: bool
    nested: bool


@dataclass(frozen=True, slots=True)
class Violated:
    """A constraint whose violations are facts of a predicate.

    Attributes:
        name: The predicate.
        shape: The shape that has it.
        component: The constraint.
        columns: The role of each argument, and what it is in rules.
    """

    name: str
    shape: Shape
    component: Component
    columns: tuple[tuple[str, str], ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """The arguments that are not constants, in the rule language."""
        return tuple(each for _, each in self.columns if each.startswith("?"))


class ShapeWriter:
    """Writes the rules of one shape.

    Args:
        shape: The shape.
        shapes: All shapes, by their nodes.
        texts: The texts of its violations.
        mode: What it is checked for.
        violated: Takes its constraints, by the predicates of their violations.
    """

    def __init__(
        self,
        shape: Shape,
        shapes: Mapping[str, Shape],
        texts: Texts,
        mode: Mode,
        violated: dict[str, Violated],
    ) -> None:
        self._shape = shape
        self._texts = texts
        self._mode = mode
        self._violated = violated
        self._name = shape.name
        self._both = mode.reported and mode.tested
        kind = "checked" if self._both else "focus" if mode.reported else "tested"
        self._checked = f"{shape.name}__{kind}"
        self._bodies = Bodies(shape, shapes, self._checked)

    def nodes(self) -> Iterator[Statement]:
        """The rules of the nodes that are checked, and of their value nodes."""
        name = self._name
        if self._mode.reported:
            # A node that other shapes lead to has a result for each way to it.
            head = target_predicate(self._shape, nested=self._mode.nested)
            yield from target_rules(self._shape, head)
            if self._mode.nested and self._shape.is_target:
                yield f"{name}__focus(?this) :- {head}(?this) ."
        if self._both:
            yield f"{name}__checked(?this) :- {name}__focus(?this) ."
            yield f"{name}__checked(?this) :- {name}__tested(?this) ."
        if self._shape.path is not None:
            yield from value_rules(name, self._checked, self._shape.path)
        if any(map(is_counted, self._shape.components)):
            yield f"{name}__count(?this, count(?value)) :- {name}__value(?this, ?value) ."

    def nested(self, child: Shape) -> Iterator[Statement]:
        """Value nodes are checked with a property shape, in both ways in which this one is."""
        value = "?this" if self._shape.path is None else "?value"
        for mode, used in (("focus", self._mode.reported), ("tested", self._mode.tested)):
            if used:
                nodes = f"{self._name}__{mode}(?this)"
                if self._shape.path is not None:
                    nodes = f"{nodes}, {self._bodies.values}" if self._both else self._bodies.values
                yield f"{child.name}__{mode}({value}) :- {nodes} ."
        if self._mode.tested:
            fails = f"{child.name}__fails({value})"
            yield f"{self._name}__fails(?this) :- {self._bodies.values}, {fails} ."

    def constraint(self, component: Component) -> Iterator[Statement]:
        """The rules of a constraint."""
        name = self._free(f"{self._name}_{component.name}")
        if component.query is None:
            bodies = [*self._bodies.bodies(name, component)]
            helpers: list[Statement] = [*self._bodies.helpers(name, component)]
            columns = self._columns(component)
        else:
            helpers, columns, body = self._query(name, component)
            bodies = [body]
        if not bodies:
            return
        violated = Violated(name, self._shape, component, columns)
        head = f"!{name}({', '.join(each for _, each in columns)})"
        if self._both:
            wrong = f"{name}__wrong({', '.join(violated.variables)})"
            yield from (f"{wrong} :- {body} ." for body in bodies)
            yield f"{head} :- {wrong}, {self._name}__focus(?this) ."
            yield f"{self._name}__fails(?this) :- {wrong} ."
        elif self._mode.reported:
            yield from (f"{head} :- {body} ." for body in bodies)
        else:
            yield from (f"{self._name}__fails(?this) :- {body} ." for body in bodies)
        yield from helpers
        if self._mode.reported:
            self._violated[name] = violated
            yield self._message(violated)

    def _free(self, words: str) -> str:
        """A name that no other constraint has."""
        name, count = words, 1
        while name in self._violated:
            count += 1
            name = f"{words}_{count}"
        return name

    def _columns(self, component: Component) -> tuple[tuple[str, str], ...]:
        columns = [(FOCUS, "?this")]
        is_property = self._shape.path is not None
        match component.name:
            case "closed" if is_property:
                columns += [(PATH, "?path"), (VALUE, "?object"), ("node", "?value")]
            case "closed":
                columns += [(PATH, "?path"), (VALUE, "?value")]
            case "equals" if not is_property:
                columns.append((VALUE, "?value"))
            case name if is_property:
                columns.append((PATH, self._path()))
                columns += () if name in WITHOUT_VALUE else ((VALUE, "?value"),)
            case _:
                pass
        columns += (("language", "?language"),) if component.name == "uniqueLang" else ()
        columns += (("other", "?other"),) if component.name.startswith("lessThan") else ()
        return (*columns, (SEVERITY, self._shape.severity))

    def _query(
        self, name: str, component: Component
    ) -> tuple[list[Statement], tuple[tuple[str, str], ...], str]:
        """Rules of the answers of a query, the arguments of violations, and their body."""
        assert component.query is not None  # noqa: S101 - for the type
        query, path = component.query.query, self._shape.path
        terms: dict[str, Term | Path] = {
            each: known(term) for each, term in component.query.terms.items()
        }
        if path is not None:
            terms["PATH"] = path
        answer = f"{name}__answer"
        selected = [each.name for each in query.select.variables if each.name not in terms]
        if query.form == "ASK":
            given = ("this",) if path is None else ("this", "value")
            source = self._checked if path is None else f"{self._name}__value"
            if path is None:
                terms["value"] = Variable("this", NOWHERE)
            others, body = [], f"{self._bodies.values}, not {answer}({_variables(given)})"
        else:
            given, source = ("this",), self._checked
            others = [each for each in selected if each != "this"]
            body = f"{answer}({_variables(('this', *others))})"
        made = derive_prebound(query, answer, (source, given), terms, (*given, *others))
        columns = [(FOCUS, "?this")]
        if PATH in others:
            columns.append((PATH, "?path"))
        elif path is not None:
            columns.append((PATH, self._path()))
        if VALUE in (*others, *given):
            columns.append((VALUE, "?value"))
        columns += ((each, f"?{each}") for each in others if each not in {PATH, VALUE})
        return [*made], (*columns, (SEVERITY, self._shape.severity)), body

    def _path(self) -> str:
        """The path as an argument: an IRI, or a string if it is not a predicate."""
        assert self._shape.path is not None  # noqa: S101 - for the type
        text = path_text(self._shape.path)
        return text if isinstance(self._shape.path, Constant) else to_ntriples(text)

    def _message(self, violated: Violated) -> str:
        names = [each[1:] for each in violated.variables]
        parameters = [each if each.startswith("?") else "_" for _, each in violated.columns]
        text = self._texts.template(violated.component, names)
        return f"@message {violated.name}({', '.join(parameters)}) {to_ntriples(text)} ."


def _variables(names: Iterable[str]) -> str:
    return ", ".join(f"?{name}" for name in names)


def target_predicate(shape: Shape, *, nested: bool) -> str:
    """The predicate of the targets of a shape, which are its focus nodes if it is not nested."""
    return f"{shape.name}__target" if nested else f"{shape.name}__focus"


def target_rules(shape: Shape, head: str) -> Iterator[Statement]:
    """The rules of the targets of a shape."""
    yield from (_target(head, kind, term) for kind, term in shape.targets)
    for number, query in enumerate(shape.selected, start=1):
        selected = f"{shape.name}__selected{number}"
        yield from derive_answers(query, selected, ("this",))
        yield f"{head}(?this) :- {selected}(?this) ."


def _target(head: str, kind: str, term: str) -> str:
    """The rule of the focus nodes of a target."""
    match kind:
        case "targetNode":
            return f"{head}({term}) ."
        case "targetClass":
            return f"{head}(?this) :- shacl_instance(?this, {term}) ."
        case "targetSubjectsOf":
            return f"{head}(?this) :- [?this, {term}, _] ."
        case _:
            return f"{head}(?this) :- [_, {term}, ?this] ."
