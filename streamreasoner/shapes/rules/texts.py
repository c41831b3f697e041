"""Texts of violations. Invariant: a text says what is wrong with a value, in terms of the shape."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.lang.ast import NOWHERE, Constant
from streamreasoner.lang.printer import print_expression
from streamreasoner.rdf.term_kind import is_iri, is_literal
from streamreasoner.rdf.terms import parse
from streamreasoner.shapes.paths import path_text
from streamreasoner.shapes.shape import REFERRING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from re import Match

    from streamreasoner.shapes.shape import Component, Shape

_TEXTS = {
    "minCount": "{?this} has fewer than %s values",
    "maxCount": "{?this} has more than %s values",
    "datatype": "{?value} does not have the datatype %s",
    "class": "{?value} is not an instance of %s",
    "nodeKind": "{?value} does not have the node kind %s",
    "pattern": "{?value} does not match the pattern %s",
    "in": "{?value} is not in the list of values",
    "languageIn": "{?value} does not have one of the languages %s",
    "uniqueLang": "{?this} has more than one value in the language {?language}",
    "hasValue": "{?this} does not have the value %s",
    "equals": "{?this} has {?value} in one of the value nodes and %s, but not in both",
    "disjoint": "{?this} has {?value} in both the value nodes and %s",
    "lessThan": "{?value} is not less than {?other}, a value of %s",
    "lessThanOrEquals": "{?value} is not less than or equal to {?other}, a value of %s",
    "minLength": "{?value} is shorter than %s characters",
    "maxLength": "{?value} is longer than %s characters",
    "minInclusive": "{?value} is less than %s, or not comparable with it",
    "minExclusive": "{?value} is not greater than %s",
    "maxInclusive": "{?value} is greater than %s, or not comparable with it",
    "maxExclusive": "{?value} is not less than %s",
    "closed": "{?this} has the value {?value} of {?path}, which the closed shape does not allow",
    "node": "{?value} does not conform to the shape %s",
    "and": "{?value} does not conform to each of the shapes %s",
    "or": "{?value} does not conform to any of the shapes %s",
    "xone": "{?value} does not conform to exactly one of the shapes %s",
    "not": "{?value} conforms to the shape %s",
    "qualifiedMinCount": "{?this} has fewer than %s values that conform to the shape",
    "qualifiedMaxCount": "{?this} has more than %s values that conform to the shape",
    "sparql": "{?value} violates a constraint in SPARQL",
}
_OF_COMPONENT = "{?value} does not satisfy the constraint component %s"
_COUNTED = re.compile(r"(?<=%s )(value|character)s\b")
_PLACEHOLDER = re.compile(r"\{[?$](\w+)\}")


class Texts:
    """The texts of the violations of a shape.

    Args:
        shape: The shape.
        shapes: All shapes, by their nodes.
        prefixes: Prefix name to IRI.
    """

    def __init__(
        self, shape: Shape, shapes: Mapping[str, Shape], prefixes: Mapping[str, str]
    ) -> None:
        self._shape = shape
        self._shapes = shapes
        self._prefixes = prefixes

    def literals(self, component: Component) -> tuple[str, ...]:
        """The messages that the shapes have for a constraint."""
        return component.messages or self._shape.messages

    def template(self, component: Component, columns: Collection[str]) -> str:
        """The text of a violation, in which `{?name}` stands for an argument.

        Args:
            component: The constraint.
            columns: The names of arguments; what is not an argument of theirs is not a placeholder.
        """
        literals = self.literals(component)
        text = parse(_chosen(literals)).value if literals else self._default(component)
        return self.filled(text, component, columns)

    def filled(self, text: str, component: Component, columns: Collection[str]) -> str:
        """A text with the values of parameters in place of placeholders."""
        terms = {component.name: component.values[0]} if component.values else {}
        if component.query is not None:
            terms.update(component.query.terms)

        def put(match: Match[str]) -> str:
            name = match[1]
            if name in columns:
                return f"{{?{name}}}"
            if name == "value":
                return "{?this}"
            if name in terms:
                return self._short(terms[name])
            return f"{{ ?{name}}}"

        return _PLACEHOLDER.sub(put, text)

    def _default(self, component: Component) -> str:
        text = _TEXTS.get(component.name)
        if text is None:
            values = self._short(component.iri)
            text = _OF_COMPONENT
        elif component.name in REFERRING:
            values = ", ".join(self._shapes[node].name for node in component.values)
        elif component.name == "languageIn":
            values = ", ".join(map(self._short, component.values))
        else:
            values = ", ".join(map(self._short, component.values[:1]))
        if values == "1" and component.name not in REFERRING:
            text = _COUNTED.sub(r"\1", text)
        text = text.replace("%s", values.replace("{?", "{ ?"))
        if self._shape.path is not None:
            text += f" ({path_text(self._shape.path, self._short)})"
        return text

    def _short(self, term: str) -> str:
        """A term as the rule language writes it; numbers and node kinds as they are."""
        if not (is_iri(term) or is_literal(term)):
            return term
        return print_expression(Constant(term, NOWHERE), self._prefixes)


def _chosen(literals: tuple[str, ...]) -> str:
    """The message without a language, or in English, or the first."""
    languages = {parse(each).language or "": each for each in reversed(literals)}
    return languages.get("") or languages.get("en") or literals[0]
