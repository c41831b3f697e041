"""What a reasoner takes: updates of facts.

Invariant: an update that was checked is a fact of the program, of canonical terms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import index
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.counts import counted
from streamreasoner.errors import DataError, TermError
from streamreasoner.io.formats.reading import timestamps
from streamreasoner.lang.ast import QUAD, TRIPLE
from streamreasoner.program.unknown import unknown_text
from streamreasoner.rdf.term_kind import is_iri, is_resource

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from streamreasoner.api.nodes import GivenTerm, PythonTerm
    from streamreasoner.engine.session import Session
    from streamreasoner.engine.updates import Updates
    from streamreasoner.program.checked import CheckedProgram

_INT64 = 1 << 63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RESOURCE = (is_resource, "an IRI or a blank node")
_POSITIONS: tuple[tuple[str, Callable[[str], bool], str], ...] = (
    ("subject", *_RESOURCE),
    ("predicate", is_iri, "an IRI"),
    ("object", bool, "a term"),
    ("graph", *_RESOURCE),
)


Time: TypeAlias = "int | datetime"
"""Milliseconds since 1970-01-01 UTC, or a datetime with a time zone."""


@dataclass(frozen=True, slots=True)
class Update:
    """A fact and the change of its multiplicity.

    Attributes:
        predicate: Name of the predicate; triples are facts of `triple`.
        args: rdflib terms, or values of Python or numpy for texts, numbers, booleans and dates.
        multiplicity: Positive to assert, negative to retract.
        ts: Its event time: milliseconds since 1970, or a datetime with a time zone. Facts that
            expire need one; see `docs/semantics.md`.
    """

    predicate: str
    args: tuple[GivenTerm, ...]
    multiplicity: int = 1
    ts: Time | None = None

    @classmethod
    def triple(
        cls,
        subject: GivenTerm,
        predicate: GivenTerm,
        object_: GivenTerm,
        multiplicity: int = 1,
        ts: Time | None = None,
    ) -> Update:
        """An update of a triple."""
        return cls(TRIPLE, (subject, predicate, object_), multiplicity, ts)


@dataclass(frozen=True, slots=True)
class Violation:
    """A fact of a constraint.

    Attributes:
        constraint: Name of the constraint.
        args: rdflib terms, or Python values for plain literals, numbers and booleans.
        message: Its text.
        multiplicity: +1 if it is or became present, -1 if it became absent.
    """

    constraint: str
    args: tuple[PythonTerm, ...]
    message: str
    multiplicity: int = 1


def checked(
    update: Update, program: CheckedProgram, where: str
) -> tuple[str, list[str], int, int | None]:
    """Predicate, canonical terms, multiplicity and time of an update.

    Args:
        update: The update.
        program: The program.
        where: Begins every message.

    Raises:
        DataError: The update is not a valid fact of the program.
    """
    if not isinstance(update, Update):
        raise DataError(f"{where}Expected an `Update`, got {type(update).__name__}.")
    if not isinstance(update.args, tuple | list):
        raise DataError(f"{where}The arguments must be a tuple, got {type(update.args).__name__}.")
    check_predicate(update.predicate, len(update.args), program, where)
    check_asserted(update.predicate, program.constraints, where)
    try:
        terms = [to_ntriples(term) for term in update.args]
    except TermError as error:
        raise DataError(f"{where}{error}") from None
    if update.predicate in {TRIPLE, QUAD}:
        for term, given, (name, is_allowed, kinds) in zip(
            terms, update.args, _POSITIONS, strict=False
        ):
            if not is_allowed(term):
                advice = " For an IRI, pass an `rdflib.URIRef`." if type(given) is str else ""
                wrong = f"The {name} of a {update.predicate} must be {kinds}, not {term}."
                raise DataError(f"{where}{wrong}{advice}")
    ts = None if update.ts is None else milliseconds(update.ts, where)
    return update.predicate, terms, _multiplicity(update.multiplicity, where), ts


def check_predicate(
    predicate: str, arity: int | None, program: CheckedProgram, where: str = ""
) -> None:
    """Check that a program has a predicate, of this arity if one is given.

    Raises:
        DataError: It has not.
    """
    if not isinstance(predicate, str):
        name = type(predicate).__name__
        raise DataError(f"{where}The name of a predicate must be a str, got {name}.")
    if predicate not in program.arities:
        raise DataError(f"{where}{unknown_text(predicate, program.visible)}")
    known = program.arities[predicate]
    if arity is not None and arity != known:
        arguments = counted(known, "argument")
        raise DataError(f"{where}'{predicate}' has {arguments} in the program, not {arity}.")


def milliseconds(time: Time, where: str = "") -> int:
    """A time in milliseconds since 1970.

    Raises:
        DataError: It is not a time, has no time zone, or is outside the years 1 to 9999.
    """
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise DataError(f"{where}The time {time} has no time zone: set its `tzinfo`.")
        return (time - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(time, bool) or not isinstance(time, int):
        raise DataError(
            f"{where}A time must be milliseconds since 1970 or a datetime, not {time!r}."
        )
    if not timestamps.FIRST <= time <= timestamps.LAST:
        raise DataError(f"{where}The time {time} is outside the years 1 to 9999.")
    return time


def check_asserted(predicate: str, constraints: Collection[str], where: str) -> None:
    """Check that facts of a predicate may be asserted.

    Raises:
        DataError: It is a constraint.
    """
    if predicate in constraints:
        raise DataError(
            f"{where}'{predicate}' is a constraint: its violations are only derived. Assert or "
            "retract the facts that they are derived from."
        )


def _multiplicity(number: object, where: str) -> int:
    try:
        multiplicity = index(number)  # type: ignore[arg-type]
    except TypeError:
        raise DataError(f"{where}The multiplicity must be an integer, not {number!r}.") from None
    if multiplicity == 0 or not -_INT64 <= multiplicity < _INT64:
        raise DataError(
            f"{where}The multiplicity must be a non-zero 64-bit integer, not {multiplicity}."
        )
    return multiplicity


def encoded(updates: Iterable[Update], session: Session) -> Iterator[Updates]:
    """The updates on ids: a block for each run of one predicate, so that ids follow the input.

    Raises:
        DataError: An update is not a valid fact of the program; the message has its index.
    """
    rows_of = (
        checked(update, session.program, f"updates[{position}]: ")
        for position, update in enumerate(updates)
    )
    for (predicate, is_timed), run in groupby(
        rows_of, key=lambda row: (row[0], row[3] is not None)
    ):
        rows = list(run)
        facts, multiplicities = [row[1] for row in rows], [row[2] for row in rows]
        times = np.array([row[3] for row in rows], np.int64) if is_timed else None
        yield replace(session.rows(predicate, facts, multiplicities), times=times)
