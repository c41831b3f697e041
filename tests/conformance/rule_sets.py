"""Rule sets of SPARQL 1.2 RL: their syntax, well-formedness and strata, and what they infer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from conformance.datasets import Dataset, change, quads_of_reasoner, reasoner
from conformance.manifest import MF, entries
from conformance.outcome import OURS, Case, NotRunError, WrongError
from conformance.replay import replay
from conformance.results import Expected
from streamreasoner import Reasoner
from streamreasoner.errors import ProgramError
from streamreasoner.program.checked import check_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conformance.manifest import Entry
    from conformance.rows import Row
    from streamreasoner.engine.session import Store
    from streamreasoner.program.checked import CheckedProgram

_SRLT = "http://www.w3.org/ns/sparql-rl-tests#"
_LEVELS = ("Syntax", "WellFormedness", "Stratification")
_CODES = {"SR270": "Syntax", "SR271": "WellFormedness", "SR304": "Stratification"}
_EMPTY = Dataset()


def cases(suite: str, manifest: Path) -> Iterator[Case]:
    """The cases of the test suite of SPARQL 1.2 RL."""
    for entry in entries(manifest):
        if entry.kind == "RulesEvalTest":
            yield _evaluation(f"{suite}: evaluation", entry)
            continue
        for level in _LEVELS:
            sign = entry.kind.removeprefix("Rules").removesuffix(f"{level}Test")
            if sign in {"Positive", "Negative"}:
                path = entry.file(MF + "action")
                assert path is not None
                check = partial(_level, path, level, is_valid=sign == "Positive")
                name = f"{suite}: {level.lower().replace('wellf', 'well-f')}"
                yield Case(name, f"{entry.path.parent.name}/{path.stem}", {OURS: check}, entry.test)


def _level(path: Path, level: str, *, is_valid: bool) -> None:
    """A case is about one level: rule sets that are valid there may be refused at a later one."""
    try:
        _program(path)
    except ProgramError as error:
        found = [_CODES.get(each.code, "") for each in error.diagnostics]
        refused = next(filter(None, found), "")
        later = _LEVELS[_LEVELS.index(level) + 1 :]
        if refused not in (later if is_valid else [level]):
            raise
        return
    if not is_valid:
        raise WrongError("accepted, and should be refused")


def _evaluation(suite: str, entry: Entry) -> Case:
    action, result = entry.part(MF + "action"), entry.file(MF + "result")
    assert action is not None
    assert result is not None
    rules, data = action.file(_SRLT + "ruleset"), action.file(_SRLT + "data")
    assert rules is not None
    given = _EMPTY if data is None else Dataset((data,))
    return Case(
        suite,
        entry.name,
        {OURS: partial(_infers, rules, given, Dataset((result,)))},
        entry.test,
        partial(_replayed, rules, given, entry.name),
    )


def _infers(rules: Path, data: Dataset, result: Dataset) -> None:
    base = _rows(data)
    closure = Reasoner(_program(rules))
    change(closure, base, 1)
    found = {*quads_of_reasoner(closure)} - {*base}
    Expected(rows=tuple(_rows(result))).check(Expected(rows=tuple(found)))


def _replayed(rules: Path, data: Dataset, seed: str, new_store: Callable[[], Store]) -> None:
    try:
        program = _program(rules)
    except ProgramError:
        raise NotRunError from None
    replay(lambda store: Reasoner(program, store=store), _rows(data), seed, new_store)


def _program(path: Path) -> CheckedProgram:
    return check_source(path.read_text(encoding="utf-8"), path.name)


def _rows(data: Dataset) -> list[Row]:
    return quads_of_reasoner(reasoner(data))
