"""Constraints as bodies of rules. Invariant: a body has a match for each validation result.

Source: Shapes Constraint Language (SHACL), W3C Recommendation of 20 July 2017, section 4.
"""

from __future__ import annotations

from itertools import filterfalse
from typing import TYPE_CHECKING

from streamreasoner.rdf.term_kind import is_blank_node
from streamreasoner.rdf.terms import parse
from streamreasoner.rdf.vocabulary import (
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER_RANGES,
)
from streamreasoner.shapes.shape import can_fail
from streamreasoner.values.datatypes.spaces import in_datatype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from streamreasoner.shapes.shape import Component, Shape

# What the kernels test themselves; a literal that passes is in the lexical space.
_QUICK = {
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
    "BlankNodeOrIRI": "not is_iri({v}), not is_blank({v})",
    "BlankNodeOrLiteral": "not is_blank({v}), not is_literal({v})",
    "IRIOrLiteral": "not is_iri({v}), not is_literal({v})",
}
_BOUNDS = {"minInclusive": ">=", "minExclusive": ">", "maxInclusive": "<=", "maxExclusive": "<"}
_LENGTHS = {"minLength": "<", "maxLength": ">"}
_ORDERS = {"lessThan": "<", "lessThanOrEquals": "<="}
_DATED = frozenset({XSD_DATE, XSD_DATE_TIME})


class Bodies:
    """Writes the bodies and helper rules of the constraints of one shape.

    Args:
        shape: The shape.
        shapes: All shapes, by their nodes.
        checked: The predicate of the nodes that it is checked for.
    """

    def __init__(self, shape: Shape, shapes: Mapping[str, Shape], checked: str) -> None:
        self._shape = shape
        self._shapes = shapes
        self._checked = f"{checked}(?this)"
        self._value = f"{shape.name}__value"
        self._v = "?this" if shape.path is None else "?value"

    @property
    def values(self) -> str:
        """Atoms that bind the value nodes of the nodes that are checked."""
        return self._checked if self._shape.path is None else f"{self._value}(?this, ?value)"

    def bodies(self, name: str, component: Component) -> Iterator[str]:  # noqa: C901, PLR0912, PLR0915 - a case for each component
        """The bodies that each validation result of a constraint matches one of."""
        checked, values, v = self._checked, self.values, self._v
        first = component.values[0] if component.values else ""
        match component.name:
            case "minCount":
                yield f"{checked}, not {self._value}(?this, _)"
                if int(first) > 1:
                    yield f"{self._shape.name}__count(?this, ?count), ?count < {first}"
            case "maxCount":
                yield f"{self._shape.name}__count(?this, ?count), ?count > {first}"
            case "qualifiedMinCount" if not self._counts(component):
                yield checked
            case "qualifiedMinCount":
                yield f"{checked}, not {name}__count(?this, _)"
                if int(first) > 1:
                    yield f"{name}__count(?this, ?count), ?count < {first}"
            case "qualifiedMaxCount" if self._counts(component):
                yield f"{name}__count(?this, ?count), ?count > {first}"
            case "qualifiedMaxCount":
                pass
            case "datatype":
                yield f"{values}, not is_literal({v})"
                yield f"{values}, datatype({v}) != {first}"
                if in_datatype('""', first) is not None:
                    yield f"{values}, datatype({v}) = {first}, {_invalid(first, v)}"
            case "class":
                yield f"{values}, not shacl_instance({v}, {first})"
            case "nodeKind":
                yield f"{values}, {_NODE_KINDS[first].format(v=v)}"
            case "minLength" | "maxLength":
                yield f"{values}, is_blank({v})"
                yield f"{values}, length(str({v})) {_LENGTHS[component.name]} {first}"
            case "pattern":
                yield f"{values}, is_blank({v})"
                yield f"{values}, not matches(str({v}), {component.values[1]})"
            case "uniqueLang":
                yield f"{name}__language(?this, ?language, ?count), ?count > 1"
            case "hasValue" if is_blank_node(first):
                yield checked
            case "hasValue" if self._shape.path is not None:
                yield f"{checked}, not {self._value}(?this, {first})"
            case "equals" if self._shape.path is None:
                yield f"{checked}, not [?this, {first}, ?this], ?value = ?this"
                yield f"{checked}, [?this, {first}, ?value], not same_term(?value, ?this)"
            case "equals":
                yield f"{values}, not [?this, {first}, ?value]"
                yield f"{checked}, [?this, {first}, ?value], not {self._value}(?this, ?value)"
            case "disjoint":
                yield f"{values}, [?this, {first}, {v}]"
            case "lessThan" | "lessThanOrEquals":
                yield f"{values}, [?this, {first}, ?other], not {name}__right({v}, ?other)"
            case "closed":
                ends = (
                    "?this, ?path, ?value" if self._shape.path is None else "?value, ?path, ?object"
                )
                yield f"{values}, [{ends}], not {name}__right(?path)"
            case "node" | "and":
                for node in filter(self._can_fail, component.values):
                    yield f"{values}, {self._shapes[node].name}__fails({v})"
            case "or":
                if all(map(self._can_fail, component.values)):
                    yield ", ".join([values, *map(self._fails, component.values)])
            case "not":
                yield ", ".join([values, *self._conforms(first)])
            case "xone":
                yield f"{values}, not {name}__conforms({v}, _)"
                two = f"{name}__conforms({v}, ?one), {name}__conforms({v}, ?two)"
                yield f"{values}, {two}, ?one < ?two"
            case _:  # in, languageIn, hasValue of a node shape, and bounds
                yield f"{values}, not {name}__right({v})"

    def helpers(self, name: str, component: Component) -> Iterator[str]:  # noqa: C901, PLR0912 - a case for each component
        """The rules of the predicates that the bodies of a constraint read."""
        every, v = self.values.replace("(?this, ?value)", "(_, ?value)"), self._v
        known = [*filterfalse(is_blank_node, component.values)]
        match component.name:
            case "in" | "closed":
                yield from (f"{name}__right({term}) ." for term in known)
            case "hasValue" if self._shape.path is None:
                yield from (f"{name}__right({term}) ." for term in known)
            case "languageIn":
                for each in known:
                    yield f"{name}__right({v}) :- {every}, langmatches(lang({v}), {each}) ."
            case "uniqueLang":
                language = f'{self.values}, ?language = lang(?value), ?language != ""'
                yield f"{name}__language(?this, ?language, count(?value)) :- {language} ."
            case "lessThan" | "lessThanOrEquals":
                pair = f"{self.values}, [?this, {known[0]}, ?other]"
                order = f"?value {_ORDERS[component.name]} ?other"
                for test in _COMPARABLE:
                    yield f"{name}__right(?value, ?other) :- {pair}, {test}, {order} ."
            case "minInclusive" | "minExclusive" | "maxInclusive" | "maxExclusive":
                (bound,) = known
                order = f"{v} {_BOUNDS[component.name]} {bound}"
                body = ", ".join([every, order, *_comparable_with(bound, v)])
                yield f"{name}__right({v}) :- {body} ."
            case "qualifiedMinCount" | "qualifiedMaxCount" if self._counts(component):
                counted, *siblings = component.values[1:]
                tests = [*self._conforms(counted), *map(self._fails, siblings)]
                body = ", ".join([self.values, *tests])
                yield f"{name}__count(?this, count(?value)) :- {body} ."
            case "xone":
                for number, node in enumerate(component.values, start=1):
                    body = ", ".join([every, *self._conforms(node)])
                    yield f"{name}__conforms({v}, {number}) :- {body} ."
            case _:
                pass
        for node in filter(self._can_fail, component.references):
            yield f"{self._shapes[node].name}__tested({v}) :- {every} ."

    def _counts(self, component: Component) -> bool:
        """Whether a value may count: one that conforms to no sibling."""
        return all(map(self._can_fail, component.values[2:]))

    def _can_fail(self, node: str) -> bool:
        return can_fail(self._shapes[node], self._shapes)

    def _fails(self, node: str) -> str:
        return f"{self._shapes[node].name}__fails({self._v})"

    def _conforms(self, node: str) -> Iterator[str]:
        if self._can_fail(node):
            yield f"not {self._fails(node)}"


_ZONED = 'tz({0}) != "", tz({1}) != ""'
_UNZONED = 'tz({0}) = "", tz({1}) = ""'
_COMPARABLE = (
    "not is_instant(?value), not is_instant(?other)",
    *(
        f"is_instant(?value), is_instant(?other), datatype(?value) = datatype(?other), {zones}"
        for zones in (_ZONED.format("?value", "?other"), _UNZONED.format("?value", "?other"))
    ),
)
"""Pairs of values that are compared: dates with dates, and times with a zone with such times."""


def _comparable_with(bound: str, v: str) -> Iterator[str]:
    """Tests of a value that is compared with a bound; see `_COMPARABLE`."""
    parsed = parse(bound)
    if parsed.datatype in _DATED:
        zoned = "Z" in parsed.value or any(sign in parsed.value[10:] for sign in "+-")
        yield f"datatype({v}) = <{parsed.datatype}>"
        yield f'tz({v}) {"!=" if zoned else "="} ""'


def _invalid(datatype: str, v: str) -> str:
    """The tests that a literal of a datatype passes whose lexical form is not valid."""
    tests = [f"not in_datatype({v}, {datatype})"]
    if (quick := _QUICK.get(datatype[1:-1])) is not None:
        tests.insert(0, f"not {quick}({v})")
    return ", ".join(tests)


def is_counted(component: Component) -> bool:
    """Whether it compares the number of all values, unless that is with none."""
    return component.name == "maxCount" or (
        component.name == "minCount" and int(component.values[0]) > 1
    )
