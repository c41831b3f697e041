"""The reasoner as a Python object.

Invariant: updates and results are rdflib terms or Python values, except in `take`, `read`, `adopt`
and `rehearse`, which work on ids.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import index
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from streamreasoner.api.nodes import from_ntriples, to_ntriples
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.engine.epoch import DEFAULT_RECURSION_LIMIT, Engine, EpochResult
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import DataError, EngineError, ProgramError, TermError
from streamreasoner.io.formats.files import load
from streamreasoner.lang.ast import QUAD, TRIPLE, Constant
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.program.edit import with_rules, without_rules
from streamreasoner.program.load import load_program
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.value_columns import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from streamreasoner.api.nodes import PythonTerm
    from streamreasoner.engine.ports import Backend
    from streamreasoner.engine.updates import Changes
    from streamreasoner.explain import Explanation, Limits
    from streamreasoner.lang.ast import Atom
    from streamreasoner.plan.algebra import ProgramPlan
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.rdf.dictionary import TermDictionary

_INT64 = 1 << 63
_KINDS = {"<": "an IRI", "_": "a blank node", '"': "a literal"}
_POSITIONS = ("subject", "predicate", "object", "graph")
_ALLOWED = ("<_", "<", '<_"', "<_")
NO_PREDICATES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Update:
    """A fact and the change of its multiplicity.

    Attributes:
        predicate: Name of the predicate; triples are facts of `triple`.
        args: rdflib terms, or Python values for plain literals, numbers and booleans.
        multiplicity: Positive to assert, negative to retract.
    """

    predicate: str
    args: tuple[PythonTerm, ...]
    multiplicity: int = 1

    @classmethod
    def triple(
        cls,
        subject: PythonTerm,
        predicate: PythonTerm,
        object_: PythonTerm,
        multiplicity: int = 1,
    ) -> Update:
        """An update of a triple."""
        return cls(TRIPLE, (subject, predicate, object_), multiplicity)


@dataclass(frozen=True, slots=True)
class Diff:
    """What one epoch changed.

    Attributes:
        epoch: Logical time of the epoch, counted from 0.
        changes: Facts that became present (+1) or absent (-1), asserted and derived alike.
        derived: The same for the derived facts: those present without being asserted.
        iterations: Iterations that the epoch touched, summed over strata.
    """

    epoch: int
    changes: tuple[Update, ...]
    derived: tuple[Update, ...]
    iterations: int

    @property
    def present(self) -> tuple[Update, ...]:
        """The facts that became present."""
        return tuple(change for change in self.changes if change.multiplicity > 0)

    @property
    def absent(self) -> tuple[Update, ...]:
        """The facts that became absent."""
        return tuple(change for change in self.changes if change.multiplicity < 0)


@dataclass(frozen=True, slots=True)
class Store:
    """Storage of the terms and facts of a reasoner.

    Attributes:
        dictionary: Terms and their ids, including those of an earlier run.
        backend: Creates the backend for a program.
    """

    dictionary: TermDictionary
    backend: Callable[[ProgramPlan], Backend]


def columnar(dictionary: Dictionary | None = None) -> Store:
    """A store in the memory of this process."""
    terms = Dictionary() if dictionary is None else dictionary
    return Store(terms, lambda plan: ColumnarBackend(plan, terms, Values(terms)))


class Reasoner:
    """Keeps every consequence of a rule program up to date under assertions and retractions.

    Attributes:
        program: The checked program.
        dictionary: Terms and their ids.
        engine: The engine, for callers that work with ids.

    Args:
        program: A checked program; `Reasoner.from_rules` reads and checks one.
        recursion_limit: Iterations after which a stratum counts as not converging.
        store: Storage of terms and facts; by default the memory of this process.
        known: Arities of predicates of earlier programs, whose facts the state may hold.
    """

    def __init__(
        self,
        program: CheckedProgram,
        *,
        recursion_limit: int = DEFAULT_RECURSION_LIMIT,
        store: Store | None = None,
        known: Mapping[str, int] = NO_PREDICATES,
    ) -> None:
        plan = lower(program)
        plan = replace(plan, arities={**known, **plan.arities})
        self.program = program
        store = columnar() if store is None else store
        self.dictionary = store.dictionary
        self._known = plan.arities
        facts = tuple(self._rows(fact.predicate, [_terms(fact)]) for fact in program.facts)
        self.engine = Engine(store.backend(plan), plan, recursion_limit, facts)
        self._epoch = 0

    @classmethod
    def from_rules(
        cls, rules: str | Path, *, recursion_limit: int = DEFAULT_RECURSION_LIMIT
    ) -> Reasoner:
        """A reasoner for rules given as text, as the path of a file or as the name of a ruleset.

        Raises:
            ProgramError: The rules are invalid; the message lists every error with its position.
        """
        return cls(load_program(rules), recursion_limit=recursion_limit)

    def apply(self, updates: Iterable[Update]) -> Diff:
        """Apply one epoch of updates, in any order.

        Raises:
            DataError: An update is not a valid fact of the program; the message has its index.
            EngineError: The epoch failed and was rolled back.
        """
        return self._diff(self.take(self._encode(updates)))

    def take(self, updates: Iterable[Updates]) -> EpochResult:
        """Apply one epoch of encoded updates, for callers that work with ids.

        Raises:
            DataError: A predicate is unknown or has another arity.
            EngineError: The epoch failed and was rolled back.
        """
        result = self.engine.apply(self._epoch, updates)
        self._epoch += 1
        return result

    def load(self, *paths: str | Path, header: bool = False) -> Diff:
        """Assert the facts of files, as one epoch; see `rdf.load` for the formats.

        Args:
            paths: The files.
            header: Whether CSV files begin with a header line.

        Raises:
            DataError: A file cannot be read, or its facts do not fit the program.
        """
        return self._diff(
            self.take(batch for path in paths for batch in self.read(path, header=header))
        )

    def read(self, path: str | Path, *, header: bool = False) -> Iterator[Updates]:
        """The facts of a file, encoded and asserted once each, block by block.

        Args:
            path: The file.
            header: Whether a CSV file begins with a header line.

        Raises:
            DataError: The file cannot be read, or its facts do not fit the program.
        """
        for facts in load(path, self.dictionary.local, header=header):
            self._check(facts.predicate, facts.args.shape[1], f"{path}: ")
            ones = np.ones(len(facts.args), np.int64)
            yield Updates(facts.predicate, self.dictionary.resolve(facts.args), ones)

    def add_rules(self, rules: str, source: str = "<added rules>") -> Diff:
        """Add rules, facts and directives to the program, as one epoch without other input.

        Args:
            rules: Their text, with its own prefixes.
            source: Name of the text in diagnostics.

        Raises:
            ProgramError: The rules are invalid, alone or with the program; nothing has changed.
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        return self.change_program(with_rules(self.program, _text(rules), source))

    def remove_rules(self, rules: str, source: str = "<removed rules>") -> Diff:
        """Remove rules and facts from the program, as one epoch without other input.

        Args:
            rules: Their text, with the same variable names as in the program.
            source: Name of the text in diagnostics.

        Raises:
            ProgramError: The program has no such rule, or is invalid without it.
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        return self.change_program(without_rules(self.program, _text(rules), source))

    def change_program(self, program: CheckedProgram) -> Diff:
        """Switch to another program, as one epoch without other input.

        Raises:
            EngineError: The epoch failed and was rolled back, with the change of the program.
        """
        result = self.adopt(program, self._epoch)
        self._epoch += 1
        return self._diff(result)

    def adopt(
        self, program: CheckedProgram, epoch: int, updates: Iterable[Updates] = ()
    ) -> EpochResult:
        """Switch to another program and apply one epoch of encoded input.

        Raises:
            EngineError: The epoch failed, or the state has a predicate of the program with another
                arity; program and state are unchanged.
        """
        plan, facts = self._change_to(program)
        result = self.engine.apply(epoch, chain(facts, updates), plan)
        self.program = program
        self._known = {**self._known, **plan.arities}
        return result

    def rehearse(self, updates: Iterable[Updates], program: CheckedProgram | None = None) -> None:
        """Evaluate an epoch of encoded input and roll it back, to find out whether it fails.

        Only new terms remain in the dictionary.

        Args:
            updates: The input.
            program: The program of the epoch, if it changes.

        Raises:
            EngineError: The epoch fails.
        """
        if program is None:
            self.engine.rehearse(updates)
        else:
            plan, facts = self._change_to(program)
            self.engine.rehearse(chain(facts, updates), plan)

    def facts(self, predicate: str = TRIPLE) -> list[tuple[PythonTerm, ...]]:
        """The present facts of a predicate, asserted and derived, each once, in any order.

        In a set, facts with the terms 1, 1.0 and true would be one: Python's values are equal.
        """
        self._check(predicate, None)
        return list(self._decode(self.engine.facts(predicate)))

    def trace(self, predicate: str = TRIPLE) -> list[tuple[tuple[PythonTerm, ...], int, int]]:
        """Every (arguments, iteration, multiplicity) of a predicate, in any order."""
        self._check(predicate, None)
        rows = self.engine.trace(predicate)
        return list(
            zip(
                self._decode(rows.args),
                rows.iteration.tolist(),
                rows.multiplicity.tolist(),
                strict=True,
            )
        )

    def explain(self, fact: str, *args: PythonTerm, limits: Limits | None = None) -> Explanation:
        """Why a fact is present, or what is missing for it.

        Args:
            fact: A predicate, followed by its arguments; or a fact as text in the rule language
                with the program's prefixes, such as `path(ex:a, ex:b)`.
            args: The arguments of the predicate.
            limits: Limits on the size of the proof.

        Raises:
            ProgramError: The text is not a single fact.
            DataError: The predicate is unknown or has another arity.
        """
        # Most processes explain nothing, so they do not import how.
        from streamreasoner.explain import Fact, Limits, explain, read_fact  # noqa: PLC0415

        if isinstance(fact, str) and ("(" in fact or "[" in fact):
            target = read_fact(fact, self.program)
        else:
            self._check(fact, len(args))
            target = Fact(fact, tuple(to_ntriples(term) for term in args))
        return explain(self.program, self.engine, self.dictionary, target, limits or Limits())

    def _change_to(self, program: CheckedProgram) -> tuple[ProgramPlan, list[Updates]]:
        """The plan of another program, and the updates of stated facts."""
        plan = lower(program)
        for predicate, arity in plan.arities.items():
            if self._known.get(predicate, arity) != arity:
                raise EngineError(other_arity(predicate, arity, self._known[predicate]))
        before, after = Counter(self.program.facts), Counter(program.facts)
        facts = [
            self._rows(fact.predicate, [_terms(fact)], [sign * count])
            for difference, sign in ((after - before, 1), (before - after, -1))
            for fact, count in difference.items()
        ]
        return plan, facts

    def _diff(self, result: EpochResult) -> Diff:
        return Diff(
            result.epoch,
            tuple(update for changes in result.closure for update in self._updates(changes)),
            tuple(update for changes in result.derived for update in self._updates(changes)),
            result.iterations,
        )

    def _updates(self, changes: Changes) -> Iterator[Update]:
        rows = zip(self._decode(changes.args), changes.multiplicity.tolist(), strict=True)
        return (Update(changes.predicate, args, multiplicity) for args, multiplicity in rows)

    def _encode(self, updates: Iterable[Update]) -> Iterator[Updates]:
        # Encode runs of one predicate, so that terms get ids in the order of the input.
        checked = (self._checked(position, update) for position, update in enumerate(updates))
        for predicate, run in groupby(checked, key=lambda row: row[0]):
            rows = list(run)
            yield self._rows(predicate, [row[1] for row in rows], [row[2] for row in rows])

    def _checked(self, position: int, update: Update) -> tuple[str, list[str], int]:
        """Predicate, canonical terms and multiplicity of an update.

        Raises:
            DataError: The update is not a valid fact of the program.
        """
        where = f"updates[{position}]: "
        if not isinstance(update, Update):
            raise DataError(f"{where}Expected an `Update`, got {type(update).__name__}.")
        if not isinstance(update.args, tuple | list):
            raise DataError(
                f"{where}The arguments must be a tuple, got {type(update.args).__name__}."
            )
        self._check(update.predicate, len(update.args), where)
        try:
            terms = [to_ntriples(term) for term in update.args]
        except TermError as error:
            raise DataError(f"{where}{error}") from None
        for name, term, allowed in zip(_POSITIONS, terms, _ALLOWED, strict=False):
            if update.predicate in {TRIPLE, QUAD} and term[0] not in allowed:
                kinds = " or ".join(_KINDS[start] for start in allowed)
                raise DataError(
                    f"{where}The {name} of a {update.predicate} must be {kinds}, not {term}."
                )
        return update.predicate, terms, _multiplicity(update.multiplicity, where)

    def _rows(
        self,
        predicate: str,
        facts: Sequence[list[str]],
        multiplicities: Sequence[int] | None = None,
    ) -> Updates:
        """Encode facts of canonical terms; each is asserted once by default."""
        terms = pa.array(chain.from_iterable(facts), pa.large_string())
        return Updates(
            predicate,
            self.dictionary.encode(terms).reshape(len(facts), len(facts[0])),
            np.array(multiplicities or [1] * len(facts), dtype=np.int64),
        )

    def _decode(self, args: NDArray[np.int32]) -> list[tuple[PythonTerm, ...]]:
        distinct, positions = np.unique(args, return_inverse=True)
        texts = self.dictionary.decode(distinct).to_pylist()
        terms = [from_ntriples(text) for text in texts]
        rows = cast("list[list[int]]", positions.reshape(args.shape).tolist())
        return [tuple(terms[i] for i in row) for row in rows]

    def _check(self, predicate: str, arity: int | None, where: str = "") -> None:
        arities = self.program.arities
        if not isinstance(predicate, str):
            name = type(predicate).__name__
            raise DataError(f"{where}The name of a predicate must be a str, got {name}.")
        if predicate not in arities:
            known = ", ".join(f"{name}/{n}" for name, n in sorted(arities.items()))
            raise DataError(f"{where}The program has no predicate '{predicate}'; it has {known}.")
        if arity is not None and arity != arities[predicate]:
            raise DataError(
                f"{where}'{predicate}' has {arities[predicate]} arguments in the program,"
                f" not {arity}."
            )


def _text(rules: str) -> str:
    if not isinstance(rules, str):
        raise ProgramError(f"Rules to add or remove must be a str, got {type(rules).__name__}.")
    return rules


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


def other_arity(predicate: str, arity: int, known: int) -> str:
    """The error message for a program that changes the arity of a predicate."""
    return (
        f"'{predicate}' has {arity} arguments in the new program, but {known} in the state. "
        "Rename the predicate."
    )


def _terms(fact: Atom) -> list[str]:
    """The arguments of a fact of the program."""
    return [argument.term for argument in fact.arguments if isinstance(argument, Constant)]
