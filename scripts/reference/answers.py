"""What the server answers in JSON, as types. Invariant: an answer has these fields and no others.

Tests validate every answer that they get against the schemas of these types.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Term = Annotated[str, Meta(description="A term in N-Triples syntax.")]


class Moment(Struct, forbid_unknown_fields=True):
    """An answer of one epoch, with its time if it published anything."""

    epoch: int
    time: str | None


class Count(Struct, forbid_unknown_fields=True):
    """A predicate with its number of facts."""

    predicate: str
    arity: int
    facts: int


class Counts(Moment, forbid_unknown_fields=True):
    """All predicates."""

    predicates: list[Count]


class Facts(Moment, forbid_unknown_fields=True):
    """Facts of a predicate; `after` is where the next page begins, null on the last one."""

    predicate: str
    facts: list[list[Term]]
    after: str | None


class Declared(Struct, forbid_unknown_fields=True):
    """A predicate of the program."""

    predicate: str
    arity: int
    input: bool
    published: bool
    constraint: bool


class Program(Moment, forbid_unknown_fields=True):
    """The program in effect."""

    since: int
    hash: str
    predicates: list[Declared]
    text: str


class Fact(Struct, forbid_unknown_fields=True):
    """A fact; `text` uses the prefixes of the program."""

    predicate: str
    arguments: list[Term]
    text: str


class Place(Struct, forbid_unknown_fields=True):
    """Where the program states a fact."""

    file: str
    line: int


class Rule(Place, forbid_unknown_fields=True):
    """A rule."""

    text: str
    name: str | UnsetType = UNSET


class Premise(Struct, forbid_unknown_fields=True):
    """One of: a step by its number, a fact, what is absent, a condition that holds."""

    step: int | UnsetType = UNSET
    fact: Fact | UnsetType = UNSET
    absent: str | UnsetType = UNSET
    condition: str | UnsetType = UNSET


class Derivation(Struct, forbid_unknown_fields=True):
    """A rule with one of its matches."""

    rule: Rule
    bindings: dict[str, Term]
    premises: list[Premise]


class Aggregation(Struct, forbid_unknown_fields=True):
    """Aggregates with some of their matches, of which there are `total`."""

    aggregates: list[str]
    total: int
    matches: list[Derivation]


class Competition(Struct, forbid_unknown_fields=True):
    """The candidates of a fact of a lattice."""

    function: str
    candidates: int
    next_best: Fact


class Step(Struct, forbid_unknown_fields=True):
    """A fact of a proof, and why it is present."""

    fact: Fact
    stratum: int | None
    iteration: int | None
    until: int | None
    asserted: int
    stated: Place | None
    cut: bool
    derivation: Derivation | UnsetType = UNSET
    aggregation: Aggregation | UnsetType = UNSET
    competition: Competition | UnsetType = UNSET


class Proof(Moment, forbid_unknown_fields=True):
    """Why a fact is present."""

    present: bool
    fact: Fact
    steps: list[Step]


class Failure(Struct, forbid_unknown_fields=True):
    """What is missing."""

    kind: str
    parts: list[str]
    facts: list[Fact]


class Attempt(Struct, forbid_unknown_fields=True):
    """How far a rule gets."""

    rule: Rule
    holds: list[Premise]
    failure: Failure
    ways: int


class Absence(Moment, forbid_unknown_fields=True):
    """Why a fact is absent."""

    present: bool
    fact: Fact
    asserted: int
    stated: Place | None
    beaten_by: Fact | None
    close: list[Fact]
    rules: list[Attempt]
    unmet: list[Rule] | UnsetType = UNSET


class Change(Struct, forbid_unknown_fields=True):
    """A change; its time is given where it differs from the epoch's."""

    predicate: str
    args: list[Term]
    diff: Literal[-1, 1]
    time: str | UnsetType = UNSET


class Changes(Moment, forbid_unknown_fields=True):
    """The data of an event; `omitted` counts changes that are too many for it."""

    changes: list[Change]
    omitted: int | UnsetType = UNSET


class Steps(Struct, forbid_unknown_fields=True):
    """The seconds of each step."""

    read: float | None
    decode: float | None
    evaluate: float | None
    store: float | None
    publish: float | None


class Share(Struct, forbid_unknown_fields=True):
    """What one rule did."""

    rule: str
    name: str | None
    text: str
    firings: int
    seconds: float


class Others(Struct, forbid_unknown_fields=True):
    """What further rules did, together."""

    rules: int
    firings: int
    seconds: float


class Epoch(Struct, forbid_unknown_fields=True):
    """What an epoch took."""

    epoch: int
    time: str
    seconds: float | None
    steps: Steps
    input: int
    changes: int | None
    lag: int | None
    latency: float | None
    rules: list[Share] | None
    others: Others


class Profile(Struct, forbid_unknown_fields=True):
    """The last epochs, oldest first."""

    epochs: list[Epoch]


class DeadLetter(Struct, forbid_unknown_fields=True, rename={"class_": "class"}):
    """A rejected message."""

    time: str
    topic: str
    partition: int
    offset: int
    class_: str
    reason: str
    message: str


class DeadLetters(Struct, forbid_unknown_fields=True):
    """The last rejected messages, newest first; `total` counts all since the start."""

    dead_letters: list[DeadLetter]
    total: int


class TripleTerm(Struct, forbid_unknown_fields=True):
    """The parts of a triple term."""

    subject: Binding
    predicate: Binding
    object: Binding


class Binding(
    Struct, forbid_unknown_fields=True, rename={"language": "xml:lang", "direction": "its:dir"}
):
    """The value of a variable."""

    type: Literal["uri", "bnode", "literal", "triple"]
    value: str | TripleTerm
    language: str | UnsetType = UNSET
    direction: Literal["ltr", "rtl"] | UnsetType = UNSET
    datatype: str | UnsetType = UNSET


class Variables(Struct, forbid_unknown_fields=True):
    """The variables of a query."""

    vars: list[str]


class Bindings(Struct, forbid_unknown_fields=True):
    """The solutions of a query."""

    bindings: list[dict[str, Binding]]


class Solutions(Struct, forbid_unknown_fields=True):
    """The answer to SELECT, in SPARQL 1.2 Query Results JSON."""

    head: Variables
    results: Bindings


class Nothing(Struct, forbid_unknown_fields=True):
    """An empty object."""


class Truth(Struct, forbid_unknown_fields=True):
    """The answer to ASK, in SPARQL 1.2 Query Results JSON."""

    head: Nothing
    boolean: bool


ANSWERS: Final = {
    ("/facts", "application/json"): (Counts, Facts),
    ("/explain", "application/json"): (Proof, Absence),
    ("/rules", "application/json"): (Program,),
    ("/sparql", "application/sparql-results+json"): (Solutions, Truth),
    ("/changes", "text/event-stream"): (Changes,),
    ("/profile", "application/json"): (Profile,),
    ("/dead-letters", "application/json"): (DeadLetters,),
}
"""The types of answers in JSON, and of the data of events, by path and media type."""


def schemas() -> dict[str, object]:
    """The JSON Schema of each type, by its name."""
    types = [each for alternatives in ANSWERS.values() for each in alternatives]
    _, found = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    return dict(sorted(found.items()))
