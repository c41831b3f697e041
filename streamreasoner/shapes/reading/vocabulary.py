"""The vocabulary of SHACL. Invariant: a name of a later part of SHACL is told from a mistake.

Sources: SHACL, W3C Recommendation of 20 July 2017; SHACL Advanced Features, W3C Working Group Note
of 8 June 2017; SHACL 1.2 Core, W3C Working Draft.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from streamreasoner.shapes.graph import iri
from streamreasoner.shapes.paths import PATHS
from streamreasoner.shapes.reading.parameters import MANY, ONCE
from streamreasoner.shapes.shape import CLASS, NODE, OBJECTS, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterable

TARGETS = (CLASS, NODE, SUBJECTS, OBJECTS)
"""Properties that say which nodes are checked."""

SHAPES = ("node", "not", "property", "qualifiedValueShape", "condition", "filterShape")
"""Properties whose values are shapes."""

LISTS = ("and", "or", "xone")
"""Properties whose values are lists of shapes."""

SHNEX = "http://www.w3.org/ns/shnex#"
"""The namespace of node expressions in the draft of SHACL 1.2."""

ROLES = {iri(name): name for name in (*SHAPES, *LISTS)} | {f"<{SHNEX}filterShape>": "filterShape"}
"""The properties of both, and what they are called."""

DESCRIBING = frozenset(
    (*ONCE, *MANY, *TARGETS, "property", "sparql", "qualifiedValueShape", "rule", "target")
)
"""What makes its subject a shape."""

_OTHERS = ("path", "message", "severity", "deactivated", "flags", "ignoredProperties")
_QUERIES = ("select", "ask", "prefixes", "declare", "prefix", "namespace")
_COMPONENTS = ("parameter", "optional", "labelTemplate", "validator")
_VALIDATORS = (
    "nodeValidator",
    "propertyValidator",
    "shapesGraph",
    "entailment",
    "suggestedShapesGraph",
)
_TEXTS = ("name", "description", "order", "group", "defaultValue")
UNDERSTOOD = frozenset(
    (
        *DESCRIBING,
        *("qualifiedValueShapesDisjoint",),
        *PATHS,
        *_OTHERS,
        *_QUERIES,
        *_COMPONENTS,
        *_VALIDATORS,
        *_TEXTS,
    )
)
"""What a shape may have, whether it says something about data or not."""

ADVANCED = {
    "values": "write what it infers as a sh:rule",
    "expression": "write a constraint in SPARQL: sh:sparql",
    "js": "write a constraint in SPARQL: sh:sparql",
}
"""Properties of shapes in SHACL Advanced Features and JavaScript Extensions, and what to do."""

LATER = frozenset(
    (
        *("codeIdentifier", "intent", "memberShape", "maxListLength", "minListLength"),
        *("nodeByExpression", "reifierShape", "reificationRequired", "rootClass", "shape"),
        *("singleLine", "someValue", "subsetOf", "targetWhere", "uniqueMembers"),
        *("agentInstruction", "uniqueValuesFor", "expectedPredicate"),
    )
)
"""Properties of shapes in SHACL 1.2."""


OF_RULES = frozenset(
    (
        *("subject", "predicate", "object", "construct", "condition"),
        *("order", "layer", "runOnce", "deactivated", "prefixes", "rule"),
        *("name", "description", "labelTemplate"),
    )
)
"""Properties of rules."""

OF_REPORTS = frozenset(
    (
        *("conforms", "detail", "focusNode", "result", "resultMessage", "resultPath"),
        *("resultSeverity", "sourceConstraint", "sourceConstraintComponent", "sourceShape"),
        *("shapesGraphWellFormed", "value"),
    )
)
"""Properties of validation reports, which say nothing of a shape."""


def why_not_supported(
    name: str, known: Iterable[str] = (*UNDERSTOOD, *ADVANCED)
) -> tuple[str, str | None]:
    """What is wrong with a property of a shape, or of what has others, and what to do."""
    if name in LATER:
        return (
            f"sh:{name} of SHACL 1.2 is not supported",
            "express it in SHACL 1.0, with sh:sparql, or as a rule whose head is marked with `!`",
        )
    close = get_close_matches(name, sorted(known), 1)
    hint = f"did you mean sh:{close[0]}?" if close else "omit it"
    return f"SHACL has no property sh:{name}", hint
