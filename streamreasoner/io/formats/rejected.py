"""Rejected input. Invariant: a message is either applied or has exactly one reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Reason(Enum):
    """Why a message is rejected; the value is the `class` header on the dead-letter topic."""

    EMPTY_VALUE = "empty-value"
    OVERSIZED = "oversized"
    OVERSIZED_TERM = "oversized-term"
    CONTENT_TYPE = "unsupported-content-type"
    NOT_UTF8 = "not-utf8"
    NOT_JSON = "not-json"
    MALFORMED_LINE = "malformed-line"
    MALFORMED_DOCUMENT = "malformed-document"
    LONE_SURROGATE = "lone-surrogate"
    NOT_AN_OBJECT = "not-an-object"
    UNKNOWN_FIELD = "unknown-field"
    MISSING_FIELD = "missing-field"
    MIXED_SHAPES = "mixed-shapes"
    WRONG_TYPE = "wrong-type"
    NUMBER_OUT_OF_RANGE = "number-out-of-range"
    DIFF_ZERO = "diff-zero"
    DIFF_OUT_OF_RANGE = "diff-out-of-range"
    BAD_TIMESTAMP = "bad-timestamp"
    UNKNOWN_PREDICATE = "unknown-predicate"
    WRONG_ARITY = "wrong-arity"
    NO_MAPPING = "no-mapping"
    UNKNOWN_SCHEMA = "unknown-schema"
    CONSTRAINT = "constraint"
    NO_KEY = "no-key"
    RETRACTION = "retraction"
    EXPIRING = "expiring-fact"
    NOT_A_TERM = "not-a-term"
    INVALID_IRI = "invalid-iri"
    INVALID_BLANK_NODE = "invalid-blank-node"
    INVALID_LITERAL = "invalid-literal"
    SUBJECT_KIND = "literal-as-subject"
    PREDICATE_KIND = "predicate-not-an-iri"
    GRAPH_KIND = "literal-as-graph"
    UNKNOWN_OPERATION = "unknown-operation"
    RULES_REFUSED = "rules-refused"
    UNKNOWN_RULE = "unknown-rule"
    IMPORT_OF_A_FILE = "import-of-a-file"
    OTHER_ARITY = "other-arity"
    OTHER_EXPIRIES = "other-expiries"
    OTHER_ROLE = "other-role"
    TOO_MANY_ARGUMENTS = "too-many-arguments"
    UNPUBLISHABLE = "unpublishable"
    EPOCH_FAILED = "epoch-failed"


class RejectedError(ValueError):
    """Raised and caught inside the codec, for one message."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejected message of a batch.

    Attributes:
        row: Its row in the batch.
        reason: The class of the error.
        detail: A sentence with what was sent and what is allowed.
    """

    row: int
    reason: Reason
    detail: str


Rejections: TypeAlias = dict[int, RejectedError]
"""Rejected messages by their row; the first reason of a message counts."""


def in_order(rejections: Rejections) -> tuple[Rejected, ...]:
    """Rejected messages, ascending by row."""
    return tuple(
        Rejected(row, rejections[row].reason, rejections[row].detail) for row in sorted(rejections)
    )
