"""IRIs of the vocabularies in use. Invariant: IRIs are written without angle brackets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SH = "http://www.w3.org/ns/shacl#"
OWL = "http://www.w3.org/2002/07/owl#"

RDF_TYPE = RDF + "type"
RDF_LANG_STRING = RDF + "langString"
RDF_DIR_LANG_STRING = RDF + "dirLangString"
RDF_REIFIES = RDF + "reifies"
RDF_PLAIN_LITERAL = RDF + "PlainLiteral"
RDF_XML_LITERAL = RDF + "XMLLiteral"
RDF_JSON = RDF + "JSON"

RDFS_DOMAIN = RDFS + "domain"
RDFS_RANGE = RDFS + "range"
RDFS_SUB_CLASS_OF = RDFS + "subClassOf"
RDFS_SUB_PROPERTY_OF = RDFS + "subPropertyOf"
RDFS_LITERAL = RDFS + "Literal"

SH_SOURCE_RULE = SH + "sourceRule"

UNBOUND = "<urn:streamreasoner:unbound>"
"""The term that stands for a variable of a query that is unbound, where facts have arguments."""

XSD_STRING = XSD + "string"
XSD_BOOLEAN = XSD + "boolean"
XSD_INTEGER = XSD + "integer"
XSD_DECIMAL = XSD + "decimal"
XSD_DOUBLE = XSD + "double"
XSD_FLOAT = XSD + "float"
XSD_DATE = XSD + "date"
XSD_DATE_TIME = XSD + "dateTime"
XSD_DATE_TIME_STAMP = XSD + "dateTimeStamp"
XSD_TIME = XSD + "time"
XSD_BASE64_BINARY = XSD + "base64Binary"

# xsd:integer and the types XSD derives from it, with their lowest and highest values.
XSD_INTEGER_RANGES: Mapping[str, tuple[int | None, int | None]] = {
    XSD_INTEGER: (None, None),
    XSD + "nonNegativeInteger": (0, None),
    XSD + "positiveInteger": (1, None),
    XSD + "nonPositiveInteger": (None, 0),
    XSD + "negativeInteger": (None, -1),
    XSD + "long": (-(1 << 63), (1 << 63) - 1),
    XSD + "int": (-(1 << 31), (1 << 31) - 1),
    XSD + "short": (-(1 << 15), (1 << 15) - 1),
    XSD + "byte": (-(1 << 7), (1 << 7) - 1),
    XSD + "unsignedLong": (0, (1 << 64) - 1),
    XSD + "unsignedInt": (0, (1 << 32) - 1),
    XSD + "unsignedShort": (0, (1 << 16) - 1),
    XSD + "unsignedByte": (0, (1 << 8) - 1),
}

# Facts about a schema, which are few compared with the data that it describes.
SCHEMA_PROPERTIES = frozenset(
    {
        *(RDF + name for name in ("first", "rest")),
        *(RDFS + name for name in ("domain", "range", "subClassOf", "subPropertyOf")),
        *(
            OWL + name
            for name in (
                "allValuesFrom",
                "assertionProperty",
                "complementOf",
                "disjointUnionOf",
                "disjointWith",
                "distinctMembers",
                "equivalentClass",
                "equivalentProperty",
                "hasKey",
                "hasSelf",
                "hasValue",
                "intersectionOf",
                "inverseOf",
                "maxCardinality",
                "maxQualifiedCardinality",
                "members",
                "onClass",
                "onProperty",
                "oneOf",
                "propertyChainAxiom",
                "propertyDisjointWith",
                "someValuesFrom",
                "sourceIndividual",
                "targetIndividual",
                "targetValue",
                "unionOf",
            )
        ),
    }
)
SCHEMA_CLASSES = frozenset(
    {
        RDF + "Property",
        *(RDFS + name for name in ("Class", "ContainerMembershipProperty", "Datatype")),
        *(
            OWL + name
            for name in (
                "AllDifferent",
                "AllDisjointClasses",
                "AllDisjointProperties",
                "AnnotationProperty",
                "AsymmetricProperty",
                "Class",
                "DatatypeProperty",
                "FunctionalProperty",
                "InverseFunctionalProperty",
                "IrreflexiveProperty",
                "ObjectProperty",
                "Restriction",
                "SymmetricProperty",
                "TransitiveProperty",
            )
        ),
    }
)
