"""Answers of questions. Invariant: the reasoner is read only, and a question leaves nothing in it.

The facts that the atoms of a question may match are copied into an engine of their own, with a
dictionary of its own, which evaluates the question's rule as it evaluates all rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.engine.epoch import Engine
from streamreasoner.engine.updates import Updates
from streamreasoner.facts import decode_rows, in_order, matched_by, matching
from streamreasoner.lang.ast import Atom, Constant
from streamreasoner.lang.traversal import walk
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.query.question import ANSWER
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.query.question import Question


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers in the order of their terms.

    Attributes:
        rows: Term ids of the question's variables, int32 of shape (n, variables).
        terms: The terms.
    """

    rows: NDArray[np.int32]
    terms: Dictionary

    def first(self, limit: int | None) -> list[tuple[str, ...]]:
        """The canonical terms of the first answers, or of all."""
        return decode_rows(self.rows[:limit], self.terms, str)


def answers(question: Question, reasoner: Reasoner) -> Answers:
    """Evaluate a question on the present facts of a reasoner.

    Raises:
        EngineError: The answers do not fit the memory.
    """
    program, terms = question.program, Dictionary()
    # What is asserted is copied from the state: to this engine all facts are.
    plan = replace(lower(program), given=())
    engine = Engine(ColumnarBackend(plan, terms, Values(terms)), plan)
    engine.apply(0, chain(_stated(program, terms), _copied(program, reasoner, terms)))
    return Answers(in_order(engine.facts(ANSWER), terms), terms)


def _stated(program: CheckedProgram, terms: Dictionary) -> Iterator[Updates]:
    """The facts of the helpers."""
    for fact in program.facts:
        texts = [each.term for each in fact.arguments if isinstance(each, Constant)]
        ids = terms.encode(pa.array(texts, pa.large_string()))
        yield _asserted(fact.predicate, ids.reshape(1, -1))


def _copied(program: CheckedProgram, reasoner: Reasoner, terms: Dictionary) -> Iterator[Updates]:
    """The facts of the state that an atom may match."""
    atoms: dict[str, list[Atom]] = {}
    for literal in (literal for rule in program.rules for literal in rule.body):
        for node in walk(literal):
            if isinstance(node, Atom) and node.predicate not in program.helpers:
                atoms.setdefault(node.reads, []).append(node)
    for name, same in atoms.items():
        args = _selected(same, reasoner)
        yield _asserted(name, _encoded(args, reasoner.session.dictionary, terms))


def _selected(atoms: list[Atom], reasoner: Reasoner) -> NDArray[np.int32]:
    """The present facts, or the asserted ones, that match an atom by its constants."""
    predicate = atoms[0].predicate
    if atoms[0].asserted:
        found = reasoner.session.engine.select(predicate, {})
        args = found.args[found.asserted > 0]
    else:
        args = reasoner.session.engine.facts(predicate)
    mask = np.zeros(len(args), np.bool_)
    for atom in atoms:
        mask |= matching(matched_by(atom), args, reasoner.session.dictionary)
    return args[mask]


def _encoded(
    args: NDArray[np.int32], dictionary: Dictionary, terms: Dictionary
) -> NDArray[np.int32]:
    """Rows of ids of one dictionary as rows of another."""
    distinct, positions = np.unique(args, return_inverse=True)
    return terms.encode(dictionary.decode(distinct))[positions.reshape(args.shape)]


def _asserted(predicate: str, args: NDArray[np.int32]) -> Updates:
    return Updates(predicate, args, np.ones(len(args), np.int64))
