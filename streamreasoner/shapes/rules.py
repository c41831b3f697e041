"""Shapes to rules. Invariant: a violation is a validation result of SHACL, and the reverse.

For a shape S there are predicates of the nodes that it is checked for, of their value nodes, and,
if other shapes refer to it, of the nodes that do not conform:

| predicate        | its facts                                                               |
|------------------|-------------------------------------------------------------------------|
| `S__focus(x)`    | x is a focus node, whose violations are reported                        |
| `S__tested(x)`   | whether x conforms to S decides about another shape                     |
| `S__checked(x)`  | one of both, if there are both                                          |
| `S__value(x, v)` | v is a value node of x, if S is a property shape                        |
| `S__fails(x)`    | x does not conform to S                                                 |
| `!S_component(…)`| a violation: focus node, path, value and severity, without what is none |

Source: Shapes Constraint Language (SHACL), W3C Recommendation of 20 July 2017, section 4.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, Constant
from streamreasoner.lang.printer import print_expression
from streamreasoner.rdf.terms import parse, to_ntriples
from streamreasoner.rdf.vocabulary import (
    RDFS_SUB_CLASS_OF,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER_RANGES,
)
from streamreasoner.shapes.shape import CLASS, NODE, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from streamreasoner.lang.ast import Span
    from streamreasoner.shapes.shape import Component, Shape

_CLASSES = (
    f"shacl_class(?c, ?class) :- shacl_class(?d, ?class), [?c, <{RDFS_SUB_CLASS_OF}>, ?d] .",
    "shacl_instance(?x, ?class) :- [?x, a, ?type], shacl_class(?type, ?class) .",
)
_VALID = {
    **dict.fromkeys(XSD_INTEGER_RANGES, "is_integer"),
    XSD_DECIMAL: "is_decimal",
    **dict.fromkeys((XSD_DOUBLE, XSD_FLOAT), "is_double"),
    XSD_BOOLEAN: "is_boolean",
    **dict.fromkeys((XSD_DATE, XSD_DATE_TIME, XSD_DATE_TIME_STAMP), "is_instant"),
}
_NODE_KINDS = {
    "IRI": "not is_iri({v})",
    "BlankNode": "not is_blank({v})",
    "Literal": "not is_literal({v})",
    "BlankNodeOrIRI": "is_literal({v})",
    "BlankNodeOrLiteral": "is_iri({v})",
    "IRIOrLiteral": "is_blank({v})",
}
_BOUNDS = {"minInclusive": ">=", "minExclusive": ">", "maxInclusive": "<=", "maxExclusive": "<"}
_LENGTHS = {"minLength": "<", "maxLength": ">"}
_WITHOUT_VALUE = frozenset({"minCount", "maxCount", "hasValue"})
_TEXTS = {
    "minCount": "{?this} has fewer than %s values",
    "maxCount": "{?this} has more than %s values",
    "datatype": "{?value} has not the datatype %s",
    "class": "{?value} is not an instance of %s",
    "nodeKind": "{?value} is not of the node kind %s",
    "pattern": "{?value} does not match the pattern",
    "in": "{?value} is not one of the values in the list",
    "hasValue": "{?this} has not the value %s",
    "minLength": "{?value} is shorter than %s",
    "maxLength": "{?value} is longer than %s",
    "minInclusive": "{?value} is not at least %s",
    "minExclusive": "{?value} is not greater than %s",
    "maxInclusive": "{?value} is not at most %s",
    "maxExclusive": "{?value} is not less than %s",
    "closed": "{?this} has {?value}, and the shape is closed",
    "node": "{?value} does not conform to the shape",
    "and": "{?value} does not conform to all shapes",
    "or": "{?value} conforms to none of the shapes",
    "not": "{?value} conforms to the shape",
}


class RuleWriter:
    """Writes the rules of some shapes.

    Args:
        shapes: The shapes by their nodes.
        prefixes: Prefix name to IRI, for texts of violations.
    """

    def __init__(self, shapes: Mapping[str, Shape], prefixes: Mapping[str, str]) -> None:
        self._shapes = shapes
        self._prefixes = prefixes
        self._reported: dict[str, None] = {}
        self._tested: dict[str, None] = {}
        for node, shape in shapes.items():
            if shape.targets:
                self._visit(node, self._reported)

    def statements(self) -> Iterator[tuple[str, Span]]:
        """Statements in the rule language, each with its place in the text of the shapes."""
        classes: dict[str, Span] = {}
        for node in dict.fromkeys([*self._reported, *self._tested]):
            shape = self._shapes[node]
            for kind, term in shape.targets:
                if kind == CLASS:
                    classes.setdefault(term, shape.span)
            for component in shape.components:
                if component.name == "class":
                    classes.setdefault(component.values[0], component.span)
            modes = (node in self._reported, node in self._tested)
            yield from _Writer(shape, self._shapes, self._prefixes, *modes)
        for term, span in classes.items():
            yield f"shacl_class({term}, {term}) .", span
        if classes:
            span = next(iter(classes.values()))
            yield from ((rule, span) for rule in _CLASSES)

    def _visit(self, node: str, mode: dict[str, None]) -> None:
        if node in mode:
            return
        mode[node] = None
        for child in self._shapes[node].properties:
            self._visit(child, mode)
        for other in self._shapes[node].references:
            self._visit(other, self._tested)


class _Writer:
    """Writes the rules of one shape."""

    def __init__(
        self,
        shape: Shape,
        shapes: Mapping[str, Shape],
        prefixes: Mapping[str, str],
        reported: bool,  # noqa: FBT001 - one of two modes
        tested: bool,  # noqa: FBT001 - the other
    ) -> None:
        self._shape = shape
        self._shapes = shapes
        self._prefixes = prefixes
        self._reported = reported
        self._tested = tested
        self._name = shape.name
        mode = "checked" if reported and tested else "focus" if reported else "tested"
        self._checked = f"{shape.name}__{mode}"
        self._value = "?this" if shape.path is None else "?value"
        self._counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[tuple[str, Span]]:
        span = self._shape.span
        name = self._name
        for kind, term in self._shape.targets:
            yield self._target(kind, term), span
        if self._reported and self._tested:
            yield f"{name}__checked(?this) :- {name}__focus(?this) .", span
            yield f"{name}__checked(?this) :- {name}__tested(?this) .", span
        if self._shape.path is not None:
            yield f"{name}__value(?this, ?value) :- {self._checked}(?this), {self._path()} .", span
        if any(map(_is_counted, self._shape.components)):
            yield f"{name}__count(?this, count(?value)) :- {name}__value(?this, ?value) .", span
        for node in self._shape.properties:
            yield from self._property(self._shapes[node])
        for component in self._shape.components:
            for statement in self._component(component):
                yield statement, component.span

    def _target(self, kind: str, term: str) -> str:
        head = f"{self._name}__focus"
        if kind == NODE:
            return f"{head}({term}) ."
        if kind == CLASS:
            return f"{head}(?this) :- shacl_instance(?this, {term}) ."
        atom = f"[?this, {term}, _]" if kind == SUBJECTS else f"[_, {term}, ?this]"
        return f"{head}(?this) :- {atom} ."

    def _path(self) -> str:
        """The atoms of the path, from ?this to ?value."""
        steps = self._shape.path or ()
        ends = ["?this", *(f"?step{number}" for number in range(1, len(steps))), "?value"]
        return ", ".join(
            f"[{end}, {step.predicate}, {start}]"
            if step.inverse
            else f"[{start}, {step.predicate}, {end}]"
            for step, start, end in zip(steps, ends[:-1], ends[1:], strict=True)
        )

    def _values(self, of: str | None = None) -> str:
        """Atoms that bind the value nodes of checked nodes, or of the focus nodes alone."""
        nodes = f"{of or self._checked}(?this)"
        if self._shape.path is None:
            return nodes
        value = f"{self._name}__value(?this, ?value)"
        return value if of in {None, self._checked} else f"{nodes}, {value}"

    def _property(self, child: Shape) -> Iterator[tuple[str, Span]]:
        """Value nodes are checked with a property shape, in both ways in which this one is."""
        for mode, used in (("focus", self._reported), ("tested", self._tested)):
            if used:
                values = self._values(f"{self._name}__{mode}")
                yield f"{child.name}__{mode}({self._value}) :- {values} .", child.span
        if self._tested and can_fail(child, self._shapes):
            fails = f"{child.name}__fails({self._value})"
            yield f"{self._name}__fails(?this) :- {self._values()}, {fails} .", child.span

    def _component(self, component: Component) -> Iterator[str]:
        name = f"{self._name}_{component.name}"
        self._counts[name] += 1
        if self._counts[name] > 1:
            name += f"_{self._counts[name]}"
        arguments = ["?this"]
        if component.name == "closed":
            arguments += ["?path", "?value"]
        elif self._shape.path is not None:
            arguments.append(_printed_path(self._shape))
            arguments += () if component.name in _WITHOUT_VALUE else ("?value",)
        head = f"!{name}({', '.join([*arguments, self._shape.severity])})"
        if self._reported and self._tested:
            columns = ", ".join(each for each in arguments if each.startswith("?"))
            wrong = f"{name}__wrong({columns})"
            yield from (f"{wrong} :- {body} ." for body in self._bodies(name, component))
            yield f"{head} :- {wrong}, {self._name}__focus(?this) ."
            anything = wrong.replace("?path", "_").replace("?value", "_")
            yield f"{self._name}__fails(?this) :- {anything} ."
        elif self._reported:
            yield from (f"{head} :- {body} ." for body in self._bodies(name, component))
        else:
            for body in self._bodies(name, component):
                yield f"{self._name}__fails(?this) :- {body.replace('?path, ?value', '?path, _')} ."
        yield from self._helpers(name, component)
        if self._reported:
            yield self._message(name, component, arguments)

    def _message(self, name: str, component: Component, arguments: list[str]) -> str:
        parameters = [each if each.startswith("?") else "_" for each in arguments]
        text = self._shape.message
        if text is None:
            text = _TEXTS[component.name].replace("%s", self._printed(component.values[:1]))
            if self._shape.path is not None:
                text += f" ({_path_text(self._shape, self._short)})"
        if "?value" not in parameters:
            text = text.replace("{?value}", "{?this}")
        return f"@message {name}({', '.join([*parameters, '_'])}) {to_ntriples(text)} ."

    def _printed(self, values: tuple[str, ...]) -> str:
        return ", ".join(map(self._short, values)).replace("{?", "{ ?")

    def _short(self, term: str) -> str:
        """A term as the rule language writes it; numbers and node kinds as they are."""
        if term[0] not in '<"':
            return term
        return print_expression(Constant(term, NOWHERE), self._prefixes)

    def _bodies(self, name: str, component: Component) -> Iterator[str]:  # noqa: C901, PLR0912 - a case for each component
        checked, values, v = f"{self._checked}(?this)", self._values(), self._value
        first = component.values[0] if component.values else ""
        match component.name:
            case "minCount":
                yield f"{checked}, not {self._name}__value(?this, _)"
                if int(first) > 1:
                    yield f"{self._name}__count(?this, ?count), ?count < {first}"
            case "maxCount":
                yield f"{self._name}__count(?this, ?count), ?count > {first}"
            case "datatype":
                yield f"{values}, {_invalid(first).format(v=v)}"
                yield f"{values}, datatype({v}) != {first}"
            case "class":
                yield f"{values}, not shacl_instance({v}, {first})"
            case "nodeKind":
                yield f"{values}, {_NODE_KINDS[first].format(v=v)}"
            case "minLength" | "maxLength":
                yield f"{values}, is_blank({v})"
                yield f"{values}, length(str({v})) {_LENGTHS[component.name]} {first}"
            case "pattern":
                flags = component.values[1]
                pattern = to_ntriples(f"(?{flags}){first}" if flags else first)
                yield f"{values}, is_blank({v})"
                yield f"{values}, not matches(str({v}), {pattern})"
            case "hasValue" if self._shape.path is not None:
                yield f"{checked}, not {self._name}__value(?this, {first})"
            case "closed":
                yield f"{values}, [?this, ?path, ?value], not {name}__right(?path)"
            case "node" | "and":
                for node in component.values:
                    yield f"{values}, {self._shapes[node].name}__fails({v})"
            case "or":
                fails = (f"{self._shapes[node].name}__fails({v})" for node in component.values)
                yield ", ".join([values, *fails])
            case "not":
                yield f"{values}, not {self._shapes[first].name}__fails({v})"
            case _:  # in, hasValue of a node shape, and bounds
                yield f"{values}, not {name}__right({v})"

    def _helpers(self, name: str, component: Component) -> Iterator[str]:
        values, v = self._values().replace("(?this, ?value)", "(_, ?value)"), self._value
        match component.name:
            case "in" | "closed":
                yield from (f"{name}__right({term}) ." for term in component.values)
            case "hasValue" if self._shape.path is None:
                yield f"{name}__right({component.values[0]}) ."
            case "minInclusive" | "minExclusive" | "maxInclusive" | "maxExclusive":
                (bound,) = component.values
                datatype = parse(bound).datatype
                same = f", datatype({v}) = <{datatype}>" if _is_dated(bound) else ""
                operator = _BOUNDS[component.name]
                yield f"{name}__right({v}) :- {values}, {v} {operator} {bound}{same} ."
            case "node" | "and" | "or" | "not":
                for node in component.values:
                    yield f"{self._shapes[node].name}__tested({v}) :- {values} ."
            case _:
                pass


def can_fail(shape: Shape, shapes: Mapping[str, Shape]) -> bool:
    """Whether there is a node that does not conform to a shape; shapes are not recursive."""
    return bool(shape.components) or any(
        can_fail(shapes[node], shapes) for node in shape.properties
    )


def _invalid(datatype: str) -> str:
    """The test that a literal of a datatype fails that is no literal, or has no valid form."""
    return f"not {_VALID.get(datatype[1:-1], 'is_literal')}({{v}})"


def _is_dated(bound: str) -> bool:
    return parse(bound).datatype in {XSD_DATE, XSD_DATE_TIME}


def _is_counted(component: Component) -> bool:
    """Whether it compares the number of values, unless that is with none."""
    return component.name == "maxCount" or (
        component.name == "minCount" and int(component.values[0]) > 1
    )


def _path_text(shape: Shape, printed: Callable[[str], str] = str) -> str:
    """The path as in SPARQL."""
    steps = shape.path or ()
    return "/".join("^" * step.inverse + printed(step.predicate) for step in steps)


def _printed_path(shape: Shape) -> str:
    """The path as an argument: an IRI, or a string if it is no predicate."""
    text = _path_text(shape)
    return text if len(shape.path or ()) == 1 and text.startswith("<") else to_ntriples(text)
