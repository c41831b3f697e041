"""The schema of the university. Invariant: each amendment is one edge that facts depend on.

A small schema modelled on LUBM's univ-bench, deep enough for chains of derivations. Two terms of
the demo never have the same short name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.lang.ast import TRIPLE
from streamreasoner.rdf import vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence


UNIVERSITY = "http://example.org/university#"
_NAMESPACES = ((UNIVERSITY, ""), (vocabulary.RDF, "rdf:"), (vocabulary.RDFS, ""))


def short(term: str) -> str:
    """A canonical term without the namespaces of the demo."""
    if term == f"<{vocabulary.RDF_TYPE}>":
        return "a"
    for namespace, prefix in _NAMESPACES:
        if term.startswith(f"<{namespace}"):
            return f"{prefix}{term[len(namespace) + 1 : -1]}"
    return term


def sentence(terms: Sequence[str], predicate: str = TRIPLE) -> str:
    """A fact as one line."""
    names = map(short, terms)
    return " ".join(names) if predicate == TRIPLE else f"{predicate}({', '.join(names)})"


TYPE = f"<{vocabulary.RDF_TYPE}>"

Triple = tuple[str, str, str]
"""Subject, predicate and object in N-Triples syntax."""

_SUB_CLASS_OF = f"<{vocabulary.RDFS_SUB_CLASS_OF}>"
_SUB_PROPERTY_OF = f"<{vocabulary.RDFS_SUB_PROPERTY_OF}>"
_DOMAIN = f"<{vocabulary.RDFS_DOMAIN}>"
_RANGE = f"<{vocabulary.RDFS_RANGE}>"

_CLASSES = """
    FullProfessor Professor, AssociateProfessor Professor, AssistantProfessor Professor,
    Professor Faculty, Lecturer Faculty, PostDoc Faculty, Faculty Employee,
    Technician Employee, Employee Person, UndergraduateStudent Student, GraduateStudent Student,
    Student Person, Person Agent, Department Organization, University Organization,
    Organization Agent, GraduateCourse Course, Course Work, JournalArticle Article,
    ConferencePaper Article, Article Publication, Thesis Publication, Publication Work
"""
_PROPERTIES = """
    headOf worksFor, worksFor memberOf, studiesAt memberOf, memberOf affiliatedWith,
    subOrganizationOf affiliatedWith, teacherOf involvedIn, takesCourse involvedIn,
    assistantOf involvedIn, advisor knows, leadAuthorOf authorOf, authorOf created
"""
_DOMAINS = """
    worksFor Employee, studiesAt Student, memberOf Person, affiliatedWith Agent,
    teacherOf Faculty, takesCourse Student, advisor Student, knows Person, authorOf Person
"""
_RANGES = """
    memberOf Organization, teacherOf Course, takesCourse Course, involvedIn Course,
    advisor Professor, knows Person, authorOf Publication
"""
_AMENDMENTS = (
    ("takesCourse", _SUB_PROPERTY_OF, "involvedIn"),
    ("Person", _SUB_CLASS_OF, "LibraryUser"),
    ("Lecturer", _SUB_CLASS_OF, "Faculty"),
    ("Student", _SUB_CLASS_OF, "Person"),
    ("affiliatedWith", _DOMAIN, "Insured"),
    ("Faculty", _SUB_CLASS_OF, "Employee"),
    ("GraduateStudent", _SUB_CLASS_OF, "Employee"),
    # Person is below Agent, so this edge closes a cycle: classes support each other.
    ("Agent", _SUB_CLASS_OF, "Person"),
    ("memberOf", _SUB_PROPERTY_OF, "affiliatedWith"),
    ("teacherOf", _DOMAIN, "Faculty"),
    ("involvedIn", _SUB_PROPERTY_OF, "interestedIn"),
    ("authorOf", _DOMAIN, "Researcher"),
)


def name(local: str) -> str:
    """The IRI of a local name in the university's namespace, in N-Triples syntax."""
    return f"<{UNIVERSITY}{local}>"


def _edges(pairs: str, predicate: str) -> tuple[Triple, ...]:
    words = (pair.split() for pair in pairs.split(","))
    return tuple((name(left), predicate, name(right)) for left, right in words)


EDGES = (
    *_edges(_CLASSES, _SUB_CLASS_OF),
    *_edges(_PROPERTIES, _SUB_PROPERTY_OF),
    *_edges(_DOMAINS, _DOMAIN),
    *_edges(_RANGES, _RANGE),
)
"""Edges between classes and properties, asserted at the opening."""

AMENDMENTS = tuple((name(left), edge, name(right)) for left, edge, right in _AMENDMENTS)
"""Edges that are added and withdrawn later; they include some of `EDGES`."""
