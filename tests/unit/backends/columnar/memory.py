"""A columnar state whose kernels are called one by one, read back as Python values.

Invariant: it reads the memory by the layout alone, so what a kernel believes is not asked of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from model import Program, Terms
from strategies import checked
from thorough import THOROUGH

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.kernels.joining import derive
from streamreasoner.backends.columnar.kernels.records import layout, pending, slots
from streamreasoner.backends.columnar.kernels.records.fact_record import find
from streamreasoner.backends.columnar.kernels.records.layout import LOW
from streamreasoner.backends.columnar.kernels.settling import reduce, settle
from streamreasoner.backends.columnar.kernels.settling.superaccumulator import DIGITS_DOUBLE
from streamreasoner.engine.fixpoint import INPUT
from streamreasoner.plan.lower.lowering import lower
from streamreasoner.plan.program_plan import Lattice, Reduction
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.sums import CHOOSING, LISTING
from streamreasoner.values.value_columns import Values

FEW = settings(max_examples=500 if THOROUGH else 12)
"""Sequences are long, and memory is read after each of their steps."""


@dataclass(frozen=True, slots=True)
class Regime:
    """What facts look like.

    Attributes:
        ids: Their arguments.
        arity: Arguments of `e`, whose facts most tests use.
        last: The last iteration at which they have multiplicities.
    """

    ids: st.SearchStrategy
    arity: int
    last: int

    def facts(self, predicate="e", arity=None):
        """Lists of different facts of a predicate."""
        args = st.tuples(*[self.ids] * (arity or self.arity))
        return st.lists(st.tuples(st.just(predicate), args), min_size=1, max_size=14, unique=True)

    def steps(self, first=0):
        """Lists of additions: the number of a fact, an iteration and a multiplicity."""
        step = st.tuples(st.integers(0, 13), st.integers(first, self.last), _MULTIPLICITIES)
        return st.lists(step, max_size=16)


_MULTIPLICITIES = st.sampled_from((1, 1, -1, 2, -2, 3, -3, layout.LARGEST, -layout.LARGEST))

DENSE = Regime(ids=st.integers(1, 8), arity=2, last=12)
"""Few ids: long chains, keys of one argument in arrays by id, many iterations a fact."""
SPARSE = Regime(ids=st.integers(1, 10**6), arity=4, last=3)
"""Many ids: keys of several arguments in a hash table, groups of one, few iterations."""
REGIMES = {"dense": DENSE, "sparse": SPARSE}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a record holds for one iteration."""

    multiplicity: int
    transition: int
    touched: bool
    journaled: bool


@dataclass(frozen=True, slots=True)
class Record:
    """A fact's record: its address, its class, its flags, and its entries by iteration."""

    address: int
    kind: int
    flags: int
    entries: dict[int, Entry]


class Memory:
    """The state of a program, at first empty.

    Attributes:
        backend: Its owner.
        program: The model's view of the program.
        table: The addresses.
        values: Addresses of the values of terms.
        scalars: The scalars.
    """

    def __init__(self, text):
        dictionary = Dictionary()
        plan = lower(checked(text))
        self.backend = ColumnarBackend(plan, dictionary, Values(dictionary))
        self.program = Program(plan, Terms(dictionary))
        self.numbering = self.backend._numbering  # noqa: SLF001 - kernels have no other door
        self.state = self.backend._state  # noqa: SLF001
        self.table, self.scalars = self.state.table, self.state.scalars
        self._values = self.backend._values  # noqa: SLF001

    @property
    def values(self):
        """Addresses of the values of all terms so far."""
        self._values.extend()
        return self._values.table

    @property
    def words(self):
        """The arena, int32."""
        return self.state.units.view(np.int32)

    @property
    def plans(self):
        """The rows of the plans."""
        return self.state.column(layout.PLANS).reshape(-1, layout.PLAN_WIDTH)

    def reserved(self, column):
        """A reserved column of the address table."""
        return self.state._reserved[column].array  # noqa: SLF001

    # Calls ---------------------------------------------------------------------------------------

    def add(self, fact, iteration, multiplicity):
        """Add to a multiplicity; returns a status."""
        predicate, args = fact
        return pending.add_trace(
            self.table,
            self.numbering.relations[predicate],
            len(args),
            np.array(args, np.int32),
            np.array([iteration], np.int32),
            np.array([multiplicity], np.int64),
        )

    def find(self, fact):
        """The address of a fact's record, or 0."""
        predicate, args = fact
        relation = self.numbering.relations[predicate]
        return find(self.table, relation, np.array(args, np.int32), 0)

    def settle(self, stratum, *, derives=False):
        """Settle a stratum, deriving or not; returns fact -> {iteration: change}."""
        changes, last = defaultdict(dict), self.scalars[layout.LAST_TOUCHED]
        by_segment = self.state.column(layout.TOUCHED_LAST)
        lasts = by_segment.copy()
        settle.enter(self.table, stratum)
        # An engine adds at later iterations only after it has entered the stratum.
        self.scalars[layout.LAST_TOUCHED], by_segment[:] = last, lasts
        for row, reduction in enumerate(self.program.plan.reductions):
            if reduction in (INPUT, *self.program.plan.strata)[stratum].reductions:
                assert reduce.reduce(self.table, self.values, row) == layout.OK
        iteration = settle.next_touched(self.table, -1)
        while iteration >= 0:
            assert settle.settle(self.table, self.values, iteration) == layout.OK
            for fact, change in self.deltas().items():
                changes[fact][iteration] = change
            if derives:
                assert derive.derive(self.table, self.values, iteration) == layout.OK
            settle.clear_deltas(self.table)
            iteration = settle.next_touched(self.table, iteration)
        return dict(changes)

    # Reading -------------------------------------------------------------------------------------

    def held(self, column, size, buffer):
        """The ids in a hash table."""
        words = self.reserved(column + int(self.scalars[buffer]))
        count = int(self.scalars[size]) >> slots.SIZE_BITS
        ids = words[: slots.WORDS * count].reshape(-1, slots.WORDS)[:, slots.FIRST :]
        return ids[ids != 0].tolist()

    def fact(self, address):
        """The fact of a record."""
        row = self.class_row(address)
        start = 2 * address + layout.CELLS
        args = self.words[start : start + row[layout.CLASS_ARITY]].tolist()
        predicates = list(self.numbering.relations)
        return predicates[row[layout.CLASS_RELATION]], tuple(args)

    def class_row(self, address):
        """The row of a record's class."""
        kind = self.header(address) & layout.CLASS_BITS
        rows = self.state.column(layout.CLASSES)
        return rows[kind * layout.CLASS_WIDTH : (kind + 1) * layout.CLASS_WIDTH].tolist()

    def entries(self, address):
        """The addresses of a record's entries: the one in the record, then the others."""
        found, entry = [], address
        while entry:
            found.append(entry)
            entry = int(self.words[2 * entry + layout.ENTRY_NEXT])
            if entry < 0:
                entry = int(self.words[2 * ~entry + layout.NUMBERS_NEXT])
        return found

    def header(self, address):
        """Class and flags of a record."""
        return int(self.words[2 * address + layout.HEADER])

    def numbers_of(self, entry):
        """The record for the numbers of an entry, or 0."""
        following = int(self.words[2 * entry + layout.ENTRY_NEXT])
        return ~following if following < 0 else 0

    def entry(self, entry):
        """Iteration of an entry, and what it has."""
        state, numbers = int(self.words[2 * entry + layout.ENTRY_STATE]), self.numbers_of(entry)
        iteration = (state >> layout.ITERATION_SHIFT) & layout.HIGH_ITERATION
        multiplicity = state >> layout.MULTIPLICITY_SHIFT
        if numbers:
            multiplicity = int(self.state.units[numbers])
            assert iteration in (int(self.words[2 * numbers + 2]), layout.HIGH_ITERATION)
            iteration = int(self.words[2 * numbers + 2])
        return iteration, Entry(
            multiplicity,
            (state & layout.TRANSITION_BITS) - 1,
            bool(state & layout.TOUCHED),
            bool(state & layout.JOURNALED),
        )

    def records(self):
        """Fact -> record, of all facts in the table of facts."""
        addresses = self.held(layout.FACT_TABLE, layout.FACT_SIZE, layout.FACT_BUFFER)
        records = {self.fact(address): self.record(address) for address in addresses}
        assert len(records) == len(addresses) == self.scalars[layout.FACT_COUNT]
        return records

    def record(self, address):
        """The record at an address."""
        header = self.header(address)
        entries = {}
        for entry in self.entries(address):
            iteration, held = self.entry(entry)
            assert iteration not in entries
            entries[iteration] = held
        kind = header & layout.CLASS_BITS
        return Record(address, kind, header & ~layout.CLASS_BITS, entries)

    def numbers(self, name):
        """Fact -> {iteration: multiplicity or transition}, without zeros."""
        found = {}
        for fact, record in self.records().items():
            numbers = {i: getattr(entry, name) for i, entry in record.entries.items()}
            if any(numbers.values()):
                found[fact] = {i: number for i, number in numbers.items() if number}
        return found

    def firings(self):
        """Heads that plans have added or subtracted in this epoch."""
        work = self.state.column(layout.WORK)
        if work[layout.WORK_EPOCH] != self.scalars[layout.EPOCH]:
            return 0
        rules = work[layout.WORK_RULES :].reshape(-1, layout.WORK_WIDTH)
        return int(rules[:, layout.WORK_FIRINGS].sum())

    def deltas(self):
        """Fact -> change of its transition, of the listed deltas, as their headers say."""
        found = {}
        for delta in self.reserved(layout.DELTAS)[: self.scalars[layout.DELTA_COUNT]].tolist():
            header = self.header(delta & LOW)
            change = (header & layout.DELTA_BITS) >> layout.DELTA_SHIFT
            assert header & layout.CLASS_BITS == (delta >> 32) & layout.CLASS_BITS
            assert change == delta >> layout.DELTA_CHANGE_SHIFT
            found[self.fact(delta & LOW)] = change - layout.DELTA_ZERO
        return found

    def touched(self, stratum=0):
        """Iteration -> the facts on its list, at iteration 0 those of a stratum."""
        initial = int(self.state.column(layout.INITIAL_HEADS)[stratum])
        last = int(self.scalars[layout.LAST_TOUCHED])
        heads = self.reserved(layout.TOUCHED_HEADS)[: last + 1].tolist()
        lists = {}
        for iteration, head in enumerate([initial, *heads[1:]]):
            node, found = head, []
            while node:
                link = int(self.reserved(layout.TOUCHED_NODES)[node])
                found.append(self.fact(link & LOW))
                node = link >> 32
            if found:
                lists[iteration] = sorted(found)
        return lists

    # Groups --------------------------------------------------------------------------------------

    def groupings(self, predicate):
        """Number -> grouping, of those that join a predicate or are a lattice of it."""
        return {
            number: grouping
            for grouping, number in self.numbering.groupings.items()
            if not isinstance(grouping, Reduction)
            and (
                grouping.pattern.predicate if isinstance(grouping, Lattice) else grouping.predicate
            )
            == predicate
        }

    def first(self, number, key):
        """The first member of a group and the group's record; 0 where there is none."""
        index = self.state._indexes.get(number)  # noqa: SLF001
        of_lattice = isinstance(list(self.numbering.groupings)[number], Lattice)
        if index is not None:
            head = int(index.array[key[0]])
            if not of_lattice or not head:
                return head, head if of_lattice else 0
            return int(self.words[2 * head + layout.GROUP_FIRST]), head
        for group in self.groups():
            start = 2 * group + layout.GROUP_KEY
            if self.words[2 * group] == number and (
                tuple(self.words[start : start + len(key)].tolist()) == key
            ):
                return int(self.words[2 * group + layout.GROUP_FIRST]), group
        return 0, 0

    def groups(self):
        """The records in the table of groups."""
        return self.held(layout.GROUP_TABLE, layout.GROUP_SIZE, layout.GROUP_BUFFER)

    def nested(self):
        """The arrangements whose groups are nested in those of another one."""
        offsets = self.state.column(layout.LINK_OFFSETS)
        rows = offsets.reshape(-1, self.scalars[layout.ARRANGEMENT_COUNT])
        return np.flatnonzero((rows > layout.LAST).any(0)).tolist()

    def members(self, number, key):
        """The facts of a group, in the order of its links, which agree in both directions."""
        found, previous = [], 0
        address, _ = self.first(number, key)
        while address:
            header = self.header(address)
            offsets = self.state.column(layout.LINK_OFFSETS)
            row = (header & layout.CLASS_BITS) * self.scalars[layout.ARRANGEMENT_COUNT]
            link = int(offsets[row + number])
            offset = link & ~layout.LAST
            # In a nested arrangement, another group of the same list may be ahead and behind.
            is_ahead = not found and link != offset
            assert is_ahead or self.words[2 * address + offset + 1] == previous
            found.append(self.fact(address))
            if link & header & layout.LAST:
                break
            previous, address = address, int(self.words[2 * address + offset])
            assert address or link == offset
        return found

    # Memory --------------------------------------------------------------------------------------

    def assert_no_unit_is_lost(self):
        """Each unit of the arena is in one record of a fact, entry, group or free list."""
        taken = [*self._free(), *self._of_facts(), *self._of_groups()]
        covered = [unit for record, units in taken for unit in range(record, record + units)]
        assert sorted(covered) == list(range(layout.FIRST_RECORD, self.scalars[layout.TOP]))

    def _free(self):
        for units, head in enumerate(self.state.column(layout.FREE).tolist()):
            record = head
            while record:
                yield record, units
                record = int(self.words[2 * record + layout.FREE_NEXT])

    def _of_facts(self):
        for record in self.records().values():
            yield record.address, self.class_row(record.address)[layout.CLASS_UNITS]
            entries = self.entries(record.address)
            for entry in entries[1:]:
                yield entry, layout.ENTRY_UNITS
            for numbers in filter(None, map(self.numbers_of, entries)):
                yield numbers, layout.NUMBERS_UNITS

    def _of_groups(self):
        indexed = {
            self.first(number, tuple(args[position] for position in grouping.key))[1]
            for predicate, args in self.records()
            for number, grouping in self.groupings(predicate).items()
            if isinstance(grouping, Lattice)
        }
        for group in {*self.groups(), *indexed} - {0}:
            grouping = list(self.numbering.groupings)[self.words[2 * group]]
            units = (layout.GROUP_KEY + len(grouping.key) + 1) // 2
            fields = group + units
            if isinstance(grouping, Lattice):
                units += layout.LATTICE_UNITS
                for node in self.winners(fields):
                    yield node, layout.WINNER_UNITS
            elif isinstance(grouping, Reduction) and grouping.name in CHOOSING:
                units += layout.CHOSEN_UNITS
                yield from self._chunks(fields)
            elif isinstance(grouping, Reduction) and grouping.name in {"count", *LISTING}:
                units += layout.COUNT_UNITS
            elif isinstance(grouping, Reduction):
                units += layout.SUM_UNITS
                if finite := int(self.state.units[fields + layout.SUM_FINITE]):
                    yield finite, DIGITS_DOUBLE
            yield group, units

    def _chunks(self, fields):
        """The chunks of a list of chosen values, each with its units."""
        chunk = int(self.state.units[fields + layout.CHOSEN_FIRST])
        while chunk:
            yield chunk, layout.CHUNK_UNITS
            chunk = int(self.words[2 * chunk])

    def winners(self, fields):
        """The nodes of a lattice group's winners, whose fields start at a unit."""
        node = int(self.state.units[fields + layout.LATTICE_WINNERS])
        while node:
            yield node
            node = int(self.words[2 * node + layout.WINNER_NEXT])
