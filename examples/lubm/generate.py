"""A small university with the names of LUBM. Invariant: each of the 14 queries has an answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from generator import Fact, main

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
RANKS = ("FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer")
PAPERS = ("JournalArticle", "ConferencePaper")
DEGREES = ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom")
DEPARTMENTS = 2


def facts(size: int, random: random.Random) -> Iterator[Fact]:
    """A university of two departments, each with *size* teachers and eight times as many students.

    Every teacher gives a course for all and one for graduates.
    """
    universities = [f"<http://www.University{number}.edu>" for number in range(DEPARTMENTS + 1)]
    yield from _about(universities[0], a="University", name="University0")
    for number in range(DEPARTMENTS):
        home = f"www.Department{number}.University0.edu"
        department = f"<http://{home}>"
        yield from _about(department, a="Department", subOrganizationOf=universities[0])
        for group in range(2):
            research = f"<http://{home}/ResearchGroup{group}>"
            yield from _about(research, a="ResearchGroup", subOrganizationOf=department)
        staff = [f"{RANKS[place % len(RANKS)]}{place // len(RANKS)}" for place in range(size)]
        courses = [[f"<http://{home}/{kind}{place}>" for place in range(size)]
                   for kind in ("Course", "GraduateCourse")]  # fmt: skip
        for place, name in enumerate(staff):
            teacher = f"<http://{home}/{name}>"
            post = "headOf" if place == 0 else "worksFor"
            yield from _person(teacher, home, name, RANKS[place % len(RANKS)], post)
            for degree in DEGREES:
                yield "triple", (teacher, _ub(degree), random.choice(universities[1:]))
            for kind, given in zip(("Course", "GraduateCourse"), courses, strict=True):
                yield "triple", (given[place], TYPE, _ub(kind))
                yield "triple", (teacher, _ub("teacherOf"), given[place])
            for paper in range(random.randint(1, 3)):
                article = f"<http://{home}/{name}/Publication{paper}>"
                yield from _about(article, a=random.choice(PAPERS), publicationAuthor=teacher)
        for place in range(size * 8):
            graduate = place % 4 == 0
            kind = "GraduateStudent" if graduate else "UndergraduateStudent"
            name = f"{kind}{place}"
            student = f"<http://{home}/{name}>"
            yield from _person(student, home, name, kind, "memberOf")
            taken = random.sample(range(size), 2)
            for chosen in taken:
                yield "triple", (student, _ub("takesCourse"), courses[graduate][chosen])
            if graduate:
                # Some stay where they took their first degree, and some have a teacher as advisor.
                first = universities[0] if place % 8 == 0 else random.choice(universities[1:])
                yield "triple", (student, _ub("undergraduateDegreeFrom"), first)
                advisor = staff[taken[0] if place % 3 == 0 else random.randrange(size)]
                yield "triple", (student, _ub("advisor"), f"<http://{home}/{advisor}>")


def _person(person: str, home: str, name: str, kind: str, post: str) -> Iterator[Fact]:
    """Somebody at a department, and how to reach them."""
    yield "triple", (person, TYPE, _ub(kind))
    yield "triple", (person, _ub(post), f"<http://{home}>")
    yield "triple", (person, _ub("name"), f'"{name}"')
    yield "triple", (person, _ub("emailAddress"), f'"{name}@{home}"')
    yield "triple", (person, _ub("telephone"), '"xxx-xxx-xxxx"')


def _about(subject: str, a: str, **values: str) -> Iterator[Fact]:
    """A thing of a class, and its properties."""
    yield "triple", (subject, TYPE, _ub(a))
    for name, value in values.items():
        yield "triple", (subject, _ub(name), value if value[0] == "<" else f'"{value}"')


def _ub(name: str) -> str:
    return f"<{UB}{name}>"


if __name__ == "__main__":
    main(facts, size=4)
