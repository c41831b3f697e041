"""Generate a university as an endless stream of updates, deterministic for a seed.

Invariant: every prefix of the stream retracts only what it has asserted, and asserts nothing twice.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.demo.ontology import AMENDMENTS, EDGES, TYPE, name, short
from streamreasoner.lang.ast import TRIPLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamreasoner.demo.ontology import Triple

_DEPARTMENTS = ("Physics", "Informatics", "History", "Biology", "Linguistics")
_FIRST_NAMES = (
    *("Ada", "Alan", "Barbara", "Claude", "Donald", "Edsger", "Frances", "Grace", "Hedy", "Ivan"),
    *("Jim", "Karen", "Leslie", "Margaret", "Niklaus", "Ole", "Radia", "Robin", "Shafi", "Tony"),
)
_RANKS = ("PostDoc", "Lecturer", "AssistantProfessor", "AssociateProfessor", "FullProfessor")
_PAPERS = ("JournalArticle", "ConferencePaper", "Thesis")
_STAFF, _STUDENTS, _COURSES, _PUBLICATIONS = 12, 36, 8, 10
# Share of retractions after the opening; departures retract in bursts, so it is approximate.
_RETRACTED_SHARE = 0.25


class EventKind(Enum):
    """Which part of the stream an event belongs to."""

    OPENING = "opening"
    EVERYDAY = "everyday"
    SCHEMA = "schema"


@dataclass(frozen=True, slots=True)
class Change:
    """A fact and how its multiplicity or its presence changes.

    Attributes:
        fact: Its arguments in N-Triples syntax; those of a triple are subject, predicate, object.
        diff: Its signed multiplicity.
        epoch: The epoch that derived it; -1 for input.
        predicate: Its predicate.
    """

    fact: tuple[str, ...]
    diff: int
    epoch: int = -1
    predicate: str = TRIPLE


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at the university.

    Attributes:
        kind: Which part of the stream it belongs to.
        sentence: What happens, for display.
        updates: What it asserts and retracts, at least one.
    """

    kind: EventKind
    sentence: str
    updates: tuple[Change, ...]


def university(seed: int, schema_every: int) -> Iterator[Event]:
    """The endless stream: the opening, then everyday events with occasional schema changes.

    Args:
        seed: The same seed gives the same stream.
        schema_every: Minimum number of updates between schema changes.
    """
    campus = _Campus(random.Random(seed))  # noqa: S311 - test data, not a secret
    yield campus.schema()
    for department in _DEPARTMENTS:
        yield campus.open_department(department)
    since = 0
    while True:
        event = campus.amend_schema() if since >= schema_every else campus.everyday_event()
        since = 0 if event.kind is EventKind.SCHEMA else since + len(event.updates)
        yield event


class _Campus:
    """The people and things of the university, and every triple asserted about them."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        # Dictionaries for their order: sets of strings iterate differently in every process.
        self._about: defaultdict[str, dict[Triple, None]] = defaultdict(dict)
        self._staff: list[str] = []
        self._students: list[str] = []
        self._courses: list[str] = []
        self._papers: list[str] = []
        self._amended: list[Triple] = []
        self._next_amendment = 0
        self._name_count = 0
        self._everyday_updates = self._retracted = 0

    def schema(self) -> Event:
        """The schema, before anything else."""
        updates = self._assert(EDGES)
        return Event(EventKind.OPENING, f"a schema of {len(updates)} edges", updates)

    def open_department(self, department: str) -> Event:
        """A department with its people, courses and papers."""
        place = name(department)
        updates = self._assert(
            ((place, TYPE, name("Department")), (place, name("subOrganizationOf"), name("Campus")))
        )
        for count, arrival in (
            (_STAFF, self._hire),
            (_COURSES, self._open_course),
            (_STUDENTS, self._enrol),
            (_PUBLICATIONS, self._publish),
        ):
            for _ in range(count):
                updates += arrival(place)[1]
        sentence = f"{department} opens with {_STAFF} staff and {_STUDENTS} students"
        return Event(EventKind.OPENING, sentence, updates)

    def everyday_event(self) -> Event:
        """An arrival, a change or a departure of a person or a thing."""
        arrivals: tuple[Callable[[str], tuple[str, tuple[Change, ...]]], ...]
        arrivals = (self._hire, self._enrol, self._enrol, self._open_course, self._publish)
        departures = (
            partial(self._remove, self._staff, "leaves"),
            *2 * (partial(self._remove, self._students, "graduates"),),
            partial(self._remove, self._courses, "ends"),
            partial(self._remove, self._papers, "is withdrawn"),
        )
        if self._retracted < _RETRACTED_SHARE * self._everyday_updates and self._rng.random() < 0.5:  # noqa: PLR2004
            sentence, updates = self._rng.choice((*departures, self._promote))()
        else:
            place = name(self._rng.choice(_DEPARTMENTS))
            sentence, updates = self._rng.choice(arrivals)(place)
        self._everyday_updates += len(updates)
        self._retracted += sum(update.diff < 0 for update in updates)
        return Event(EventKind.EVERYDAY, sentence, updates)

    def amend_schema(self) -> Event:
        """A change of the schema: the next amendment, or an earlier one undone."""
        undo = len(self._amended) > 1 or (self._amended and self._rng.random() < 0.5)  # noqa: PLR2004
        if undo:
            edge = self._amended.pop(0)
        else:
            edge = AMENDMENTS[self._next_amendment % len(AMENDMENTS)]
            self._next_amendment += 1
            self._amended.append(edge)
        if edge in self._about[edge[0]]:
            done, updates = "withdrawn", self._retract((edge,))
        else:
            done = "restored" if edge in EDGES else "added"
            updates = self._assert((edge,))
        return Event(EventKind.SCHEMA, f"{' '.join(map(short, edge))} {done}", updates)

    def _hire(self, place: str) -> tuple[str, tuple[Change, ...]]:
        person, rank = self._person(), self._rng.choice(_RANKS)
        facts = _member(person, rank, "worksFor", place)
        if self._courses:
            facts.append((person, name("teacherOf"), self._rng.choice(self._courses)))
        self._staff.append(person)
        return f"{short(person)} joins {short(place)} as {rank}", self._assert(facts)

    def _enrol(self, place: str) -> tuple[str, tuple[Change, ...]]:
        person = self._person()
        graduate = self._rng.random() < 0.3  # noqa: PLR2004
        kind = "GraduateStudent" if graduate else "UndergraduateStudent"
        facts = _member(person, kind, "studiesAt", place)
        facts += _triples([person], "takesCourse", self._sample(self._courses, 2))
        if graduate:
            facts += _triples([person], "advisor", self._sample(self._staff, 1))
            facts += _triples([person], "assistantOf", self._sample(self._courses, 1))
        self._students.append(person)
        return f"{short(person)} enrols in {short(place)}", self._assert(facts)

    def _open_course(self, place: str) -> tuple[str, tuple[Change, ...]]:
        course = self._new_name(short(place))
        facts = [(course, TYPE, name(self._rng.choice(("Course", "GraduateCourse"))))]
        facts += _triples(self._sample(self._staff, 1), "teacherOf", [course])
        facts += _triples(self._sample(self._students, 3), "takesCourse", [course])
        self._courses.append(course)
        return f"the course {short(course)} begins", self._assert(facts)

    def _publish(self, _: str) -> tuple[str, tuple[Change, ...]]:
        paper = self._new_name("Paper")
        lead, *others = self._sample([*self._staff, *self._students], 3)
        facts = [(paper, TYPE, name(self._rng.choice(_PAPERS)))]
        facts += _triples([lead], "leadAuthorOf", [paper])
        facts += _triples(others, "authorOf", [paper])
        self._papers.append(paper)
        return f"{short(lead)} publishes {short(paper)}", self._assert(facts)

    def _promote(self) -> tuple[str, tuple[Change, ...]]:
        person = self._rng.choice(self._staff)
        old = next(fact for fact in self._about[person] if fact[0] == person and fact[1] == TYPE)
        rank = self._rng.choice([rank for rank in _RANKS if name(rank) != old[2]])
        updates = self._retract((old,)) + self._assert(((person, TYPE, name(rank)),))
        return f"{short(person)}, {short(old[2])}, is now {rank}", updates

    def _remove(self, members: list[str], how: str) -> tuple[str, tuple[Change, ...]]:
        """Remove a random member and retract everything about it; the last one stays."""
        if len(members) == 1:
            return self._enrol(name(_DEPARTMENTS[0]))
        member = members.pop(self._rng.randrange(len(members)))
        return f"{short(member)} {how}", self._retract(tuple(self._about[member]))

    def _assert(self, facts: tuple[Triple, ...] | list[Triple]) -> tuple[Change, ...]:
        new = [fact for fact in dict.fromkeys(facts) if fact not in self._about[fact[0]]]
        for fact in new:
            self._about[fact[0]][fact] = self._about[fact[2]][fact] = None
        return tuple(Change(fact, 1) for fact in new)

    def _retract(self, facts: tuple[Triple, ...]) -> tuple[Change, ...]:
        for fact in facts:
            del self._about[fact[0]][fact], self._about[fact[2]][fact]
        return tuple(Change(fact, -1) for fact in facts)

    def _sample(self, population: list[str], at_most: int) -> list[str]:
        return self._rng.sample(population, min(at_most, len(population)))

    def _person(self) -> str:
        return self._new_name(self._rng.choice(_FIRST_NAMES))

    def _new_name(self, stem: str) -> str:
        self._name_count += 1
        return name(f"{stem}{self._name_count}")


def _member(person: str, kind: str, relation: str, place: str) -> list[Triple]:
    return [
        (person, TYPE, name(kind)),
        (person, name(relation), place),
        (person, name("name"), f'"{short(person)}"'),
    ]


def _triples(subjects: list[str], predicate: str, objects: list[str]) -> list[Triple]:
    return [(subject, name(predicate), other) for subject in subjects for other in objects]
