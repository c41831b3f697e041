"""Use of the built-ins: each of the catalogue, in every place, with every number of arguments."""

from __future__ import annotations

import pytest

from streamreasoner.analysis.functions import misused_builtins
from streamreasoner.lang.parser import parse
from streamreasoner.values.builtins import (
    AGGREGATES,
    FUNCTIONS,
    MAX_ARGUMENTS,
    NAMES,
    TESTS,
    is_aggregate,
)

COUNTS = (1, 2, 3, 4)
MOST = ", ".join(["?x"] * MAX_ARGUMENTS)
PARAMETERS = {"group_concat": '", "', "lowest": "3", "highest": "3"}
ALLOWED = {
    "p({}) :- e(?x) .": (FUNCTIONS, AGGREGATES),
    "p(abs({})) :- e(?x) .": (FUNCTIONS,),
    "p(1) :- e(?x), ?y = {} .": (FUNCTIONS,),
    "p(1) :- e({} + 1) .": (FUNCTIONS,),
    "p(1) :- e(?x), is_iri({}) .": (FUNCTIONS,),
    "p(1) :- e(?x), {} .": (TESTS,),
    "p(1) :- e(?x), not {} .": (TESTS,),
    "p(1) :- (e(?x), {} | e(?x)) .": (TESTS,),
}
"""Places of a call, and the catalogues whose built-ins may stand there."""


def reports(rules):
    """The codes of each line of a program."""
    found = {number: [] for number in range(1, len(rules) + 1)}
    for item in misused_builtins(parse("\n".join(rules))):
        found[item.span.line].append(item.code)
    return [*found.values()]


@pytest.mark.parametrize("place", ALLOWED)
def test_a_builtin_is_reported_where_it_is_not_allowed(place):
    """There is no report if and only if the place allows it and it takes as many arguments."""
    rules, expected = [], []
    for name in sorted(NAMES):
        for count in COUNTS:
            aggregate = is_aggregate(name, count, distinct=False)
            catalogue = AGGREGATES if aggregate else FUNCTIONS if name in FUNCTIONS else TESTS
            # A name that is not a test is a predicate there.
            if catalogue is TESTS or TESTS not in ALLOWED[place]:
                # What an aggregate is told besides its values is a constant.
                more = PARAMETERS.get(name, "?x")
                arguments = ["?x", *[more] * (count - 1)] if aggregate else ["?x"] * count
                rules.append(place.format(f"{name}({', '.join(arguments)})"))
                allowed = catalogue in ALLOWED[place]
                expected.append(allowed and catalogue[name].accepts(count))

    assert [not codes for codes in reports(rules)] == expected


@pytest.mark.parametrize(
    ("rule", "codes"),
    [
        ("p(lenght(?x)) :- e(?x) .", ["SR230"]),
        (f"p(concat({MOST})) :- e(?x) .", []),
        (f"p(concat({MOST}, ?x)) :- e(?x) .", ["SR231"]),
        ("p(length(?x, ?x)) :- e(?x) .", ["SR231"]),
        ("p(is_iri(?x)) :- e(?x) .", ["SR232"]),
        ("is_iri(?x) :- e(?x) .", ["SR232"]),
        ("p(1 + sum(?x)) :- e(?x) .", ["SR233"]),
        ("p(sum(distinct ?x)) :- e(?x) .", ["SR233"]),
        ("p(count(distinct ?x)) :- e(?x) .", []),
        ("p(most(distinct ?x)) :- e(?x) .", ["SR230"]),
        ("p(abs(lenght(?x)), is_iri(?x)) :- e(length()), not e(sum(?x)) .",
         ["SR230", "SR232", "SR231", "SR233"]),
    ],
)  # fmt: skip
def test_each_misuse_has_its_code(rule, codes):
    """Unknown, wrong number, a test as a value or a head, and an aggregate within a value."""
    assert reports([rule]) == [codes]
