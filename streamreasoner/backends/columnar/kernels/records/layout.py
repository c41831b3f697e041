"""Memory layout shared by kernels and Python. Invariant: these names are its only definition.

A kernel receives one int64 table of addresses. Facts, their further entries and the groups of
arrangements are records in one arena, addressed in units of 8 bytes, so that an id fits int32 and a
triple with its entry, arguments and the links of one group fills half a cache line:

    fact    [entry: 1 unit] [class+flags i32 | cells i32 × arity] [links 2 × i32]
    entry   [multiplicity i14 + iteration u13 + flags | next entry i32, or ~ its numbers]
    numbers [multiplicity i64] [iteration i32 | next entry i32]: of an entry, if one is large
    group   [arrangement i32 | first fact i32] [key i32 …]

While one thread joins, another adds to multiplicities: the joining one writes headers and links,
the other one entries. So both halves of an entry can be read at any time, each by itself: an entry
that gets numbers keeps its transition and its small iteration, and is told from others by its
second half alone.

A *class* is what the constants of a fact determine: its stratum, the arrangements it belongs to and
the delta plans it drives.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamreasoner.values.kernels import exact

Int8s: TypeAlias = NDArray[np.int8]
Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]


# Compiled in, so defined here; tests compare them with the limits of the language and the engine.
MAX_MULTIPLICITY = 1 << 58
SEGMENT_BITS = 20

# Address table -----------------------------------------------------------------------------------
SCALARS = 0  # int64, see below
ARENA = 1  # records
FACT_TABLE = 2  # int32, see `slots`; two buffers: it grows from one into the other, all 0
GROUP_TABLE = 4
FREE = 6  # int32: first free record by size in units
JOURNAL_FACTS = 7  # int64: fact | state before the epoch << 32 | class << 40
JOURNAL_ENTRIES = 8  # int64 pairs: fact << 32 | entry, multiplicity before; not of new facts
TOUCHED_NODES = 9  # int64: fact | next node << 32
TOUCHED_HEADS = 10  # int32 by iteration: first node
INITIAL_HEADS = 11  # int32 by stratum: first node of iteration 0
DELTAS = 12  # int64: fact | class << 32 | its change + DELTA_ZERO << 48
SCRATCH = 13  # int32
RELATIONS = 14  # int32 rows of RELATION_WIDTH
CLASSES = 15  # int32 rows of CLASS_WIDTH
LINK_OFFSETS = 16  # int32 by class and arrangement: word of the link in a record, -1 if no member
MEMBERSHIPS = 17  # int32 rows of MEMBERSHIP_WIDTH by class and link: what a record's links are of
ARRANGEMENTS = 18  # int32 rows of ARRANGEMENT_WIDTH by grouping
TRIE_NODES = 19  # int32 rows of TRIE_WIDTH by node
TRIE_SLOTS = 20  # int64 rows of TRIE_WIDTH: node << 32 | constant, and a child
DISPATCH = 21  # int32 rows of DISPATCH_WIDTH by class, of the stratum SHOWN
DISPATCHED = 22  # int32: plans
PLANS = 23  # int32 rows of PLAN_WIDTH
STEPS = 24  # int32 rows of STEP_WIDTH
OPERANDS = 25  # int32: what plans and arrangements point into
PENDING_ROWS = 26  # int64: pending additions, see pending
PENDING_CELLS = 27  # int32: their arguments
CLASS_SIZES = 28  # int32 by class: number of deltas, while they are sorted
REDUCTIONS = 29  # int32 rows of REDUCTION_WIDTH
ARGUMENTS = 30  # int32: arguments of a built-in that Python evaluates
CALL = 31  # address of the Python function that evaluates it
INDEXES = 32  # int64 by grouping: address of its index, 0 if it has group records
JOURNAL_NEXT = 33  # int32: number + 1 of the next fact in the journal of the same class, or 0
CLASS_JOURNALED = 34  # int32 rows of LISTED_WIDTH by class: its facts in the journal
FILLED = 35  # int64 by grouping: address of its index, 0 as long as no fact was arranged by it
TOUCHED_LAST = 36  # int32 by segment of iterations: the last touched one
WORK = 37  # int64: what rules have done, see below
MEMO = 38  # int32 rows of MEMO_WIDTH: results of Python
COUNTERS = 39  # int64 by counter: address of its sizes, int32 by key
DRIVEN = 40  # int32 rows of DRIVEN_WIDTH by stratum: the rows of DISPATCH that are not empty
COUNTED = 41  # int32 by class: counter, the position of its key or -1, and its stratum
SORTED = 42  # int64: members of sorted groups, value << 32 | new << 31 | fact
SORTED_GROUPS = 43  # int64 rows of SORTED_WIDTH; row 0 is none
SORTED_ROWS = 44  # int64 by sort: address of an int32 array by id, the row of its group, or 0
SORTS = 45  # int32 rows of SORT_WIDTH
SORT_LOOKUPS = 46  # int64 by sort without an arrangement: lookups so far, or SORTED_WHOLLY
BLOCK_HEADS = 47  # int32 by id: number + 1 of the first delta of a block, or 0
BLOCK_NEXT = 48  # int32 by delta: number + 1 of the next one of its block, or 0
BLOCK_ROWS = 49  # int32: its length, and the matches that a block shares, see `blocks`
LOG = 50  # int64 rows of LOG_WIDTH: heads of lattices in a load, see `kernels/loading`
LOG_GATHERED = 51  # the same by group
LOG_GROUPS = 52  # int64: lattice << 32 | group, of all groups that the log has met
LOG_CHANGED = 53  # the same, of the groups whose best value may have changed
LOG_RECORDS = 54  # int32 by id: the candidate with this value, of the group that is merged, or 0
LOGGED = 55  # int32 by relation: number + 1 of the lattice whose heads are logged, 0, or as below
LOG_LATTICES = 56  # int32 rows of LOGGED_WIDTH by lattice
VALUES = 57  # the address of the table of values
READER_ROWS = 58  # int32 rows of READER_WIDTH: walks through groups, see `gather`
READER_MATCHES = 59  # int64 by reader: facts of the step << 32 | facts of the lookup it answers
CANDIDATES = 60  # int64 pairs: row of a reader << 32 | member, hash of the fact that it leads to
TARGETS = 61  # int32: keys of heads, by plan and group, see `targets`
TARGET_PLACES = 62  # int32 by plan and id + 1: where in TARGETS those of the group end
MILESTONES = 63  # int32 rows of MILESTONE_WIDTH: facts far apart in a large group, see `walk`
DRIVEN_FROM = 64  # int32 by stratum: its first row of DRIVEN; one more ends the last
COPIES = 65  # int32 rows of COPY_WIDTH: the copies of the facts of a class, see `exchange`
OWNERS = 66  # int32 by relation: the argument whose hash tells the part that owns a fact, or -1
OUTBOX_ROWS = 67  # int64 rows of OUTBOX_WIDTH: heads that other parts own, see `outbox`
OUTBOX_CELLS = 68  # int32: their arguments
OUTBOX_SLOTS = 69  # int64: tag << 32 | number + 1 of a row
OUTBOX_FIRST = 70  # int64 by part: number + 1 of the first row that it owns, or 0
SELF_JOINS = 71  # int32 by stratum: 1 if a rule joins facts that it derives with each other
ADDRESSES = 72

# Bits, buffer and count of a table are consecutive: `slots.insert` relies on it.
# Scalars -----------------------------------------------------------------------------------------
TOP = 0  # first free unit of the arena
CAPACITY = 1  # units of the arena
FACT_SIZE = 2  # of the table, see `slots`
FACT_BUFFER = 3
FACT_COUNT = 4
GROUP_SIZE = 5
GROUP_BUFFER = 6
GROUP_COUNT = 7
JOURNALED_FACTS = 8
JOURNALED_ENTRIES = 9
TOUCHED_COUNT = 10
LAST_TOUCHED = 11
CLASS_COUNT = 12
DELTA_COUNT = 13
STRATUM = 14
STRATA = 15
ARRANGEMENT_COUNT = 16
TRIE_MASK = 17
PRESENT = 18
ASSERTED = 19
BELOW_ZERO = 20
TRACE_ROWS = 21
BUSY = 22  # 1 while another thread accumulates
FREE_NODE = 23  # head of the free list of touched nodes
CHANGED_GROUP = 24  # first of the groups whose aggregate must be recomputed, or -1
QUIET = 25  # 1 while multiplicities change without touching facts
STRATUM_FIELD = 26  # stratum field to read of a class: CLASS_STRATUM or CLASS_OLD_STRATUM
UNSETTLED_GROUP = 27  # fields of the first lattice group to settle, or -1
EPOCH = 28  # number of the epoch in this process
CONVERTING = 29  # 1 in an epoch that adds lattices, where facts besides winners are still present
LISTED = 30  # journaled facts that are in the lists by class
COUNTER_COUNT = 31
CYCLIC_RULES = 32  # how the deltas of cyclic rules are applied: ONE_BY_ONE, LATER or TOGETHER
SORTED_TOP = 33  # first free item of SORTED
SORTED_CAPACITY = 34
SORTED_GROUP_COUNT = 35  # rows of SORTED_GROUPS
SORTED_GROUP_CAPACITY = 36
SORTING = 37  # 1 if groups are sorted while deltas are applied together
SORT_PATIENCE = 38  # lookups after which all groups of a sort without an arrangement are sorted
SORT_COUNT = 39
INTERSECTED = 40  # matches found by intersecting, since the start
HAS_BLOCKS = 41  # 1 if deltas of some class form blocks in this stratum
SHARED = 42  # times that a block has shared the matches of a plan
BLOCK = 43  # number + 1 of the first delta of the block that is applied, or 0
DERIVATIONS = 44  # sum of the multiplicities beyond iteration 0
LOGGING = 45  # number of lattices whose heads go to the log
LOG_COUNT = 46  # rows of the log
LOG_ABSORBED = 47  # those that the best values of their groups include
LOG_LIMIT = 48  # rows that it has room for
LOG_GROUP_COUNT = 49
LOG_CHANGED_COUNT = 50
LOG_REFUSED = 51  # 1 if the log could not take a head
LOG_FILLED = 52  # 1 if heads of the iteration to settle next have been merged
LOGGED_ROWS = 53  # rows that were merged, since the start
REPLAYED = 54  # logs that could not tell the best values, since the start
LATTICES = 55  # 1 if some class has candidates
GATHERED = 56  # matches found by walking groups in turns, since the start
TARGET_STRIDE = 57  # length of TARGET_PLACES for each plan, 0 if there are no targets
TARGET_LIMIT = 58  # items that TARGETS and TARGET_PLACES have room for
TARGETED = 59  # heads logged from targets, since the start
# The group that is walked, see `walk`: its arrangement; how many facts were visited, and found;
# how many have been found when the next milestone is due, and how far apart they are, 0 if it is
# not known yet whether there are some, -1 if there are; how many there are.
WALKED_ARRANGEMENT, WALKED_VISITED, WALKED_FOUND = range(60, 63)
WALKED_DUE, WALKED_APART, WALKED_MARKS = range(63, 66)
WALKERS, WALKER = 66, 67  # walkers that are not done, and the one whose turn it is
WALKED_ALONE = 68  # how many facts had been found when there was one left
MILESTONED = 69  # walks that milestones have divided, since the start
SHOWN = 70  # the stratum whose rows DISPATCH has
PARTS, PART = 71, 72  # how many parts the state is one of, 0 if it is whole; and which of them
OUTBOX_COUNT, OUTBOX_LIMIT, OUTBOX_MASK = range(73, 76)  # rows, their most; mask of the slots
OUTBOX_TOP, OUTBOX_CELL_LIMIT = 76, 77  # arguments of the rows, and their most
COPIED_FACTS, COPIED_ROWS, COPIED_ASSERTED = range(78, 81)  # copies, as statistics count facts
FETCHED_HEADS, FETCHED_CHANGES = 81, 82  # rows taken from other parts, since the start
SETTLED_FROM, SETTLED_TO = 83, 84  # the deltas of the last settling: the first, the last + 1
COPIED_BEFORE = 85  # the same numbers of copies when the last epoch was committed
COPY_COUNTS = 3  # how many numbers these are
SCALAR_COUNT = 88

# Records -----------------------------------------------------------------------------------------
UNIT_BYTES, WORD_BYTES = 8, 4
WORDS = 2  # of a unit
HALF = 32  # bits of each half of a packed int64
LOW = (1 << HALF) - 1
NOTHING = 1  # an empty record: stands in for a fact that must be absent, and is
FIRST_RECORD = 8  # 0 means no record
MAX_RECORD = 1023  # units of the largest record
FREE_NEXT = 0  # word of a free record: the next one of its size, or 0
HEADER = 2  # word of a fact's class and flags
CELLS = 3  # first word of a fact's arguments
THIRD_CELL = CELLS + 2  # the last argument of a triple
CLASS_BITS = 0xFFFF
ARRANGED = 1 << 16
UNLISTED = 1 << 17  # a candidate not yet in the group of its lattice
MARKED = 1 << 18  # visited, while lattice groups are traversed; moved, while the program changes
FRESH = 1 << 19  # created in this epoch
DELTA_SHIFT = 20  # three bits: 0 = none, else the change of the transition + 3
DELTA_BITS = 7 << DELTA_SHIFT
DELTA_ZERO = 3
APPLYING = 1 << 23  # the plans that its delta drives are running
MILESTONE = 1 << 24  # it may be a milestone of a group
NOTED_SHIFT = 25  # four bits: 1 + its state before an epoch that is withdrawn, else 0
NOTED_BITS = 15 << NOTED_SHIFT
LOST = 1 << 29  # of a former state alone, so the table of facts does not have it
LAST = 1 << 30  # of its group in a nested arrangement; also marks the offsets of links in these

DELTA_CHANGE_SHIFT = 48  # of the change in DELTAS; the class is below it

JOURNAL_CLASS_SHIFT = 40  # of a fact in the journal
JOURNALED_BEFORE = 1  # of an entry in the journal: its multiplicity before the epoch
JOURNALED_WIDTH = 2

# An entry: words of its state and of the next one. The state is multiplicity << 18 |
# iteration << 5 | flags | transition + 1. If one does not fit, the other word is ~ the record of
# both: the multiplicity is then ELSEWHERE here, and the iteration HIGH_ITERATION if it is as large.
ENTRY_STATE, ENTRY_NEXT = range(2)
ENTRY_UNITS = 1
MULTIPLICITY_SHIFT, ITERATION_SHIFT = 18, 5
LARGEST = (1 << 13) - 1  # the largest multiplicity of a state, and of its negative
ELSEWHERE = -LARGEST - 1
HIGH_ITERATION = (1 << 13) - 1
TRANSITION_BITS = 3
TOUCHED = 4
JOURNALED = 8
FACT_JOURNALED = 16  # of a fact's first entry: the journal has the fact
NO_TRANSITION = 1  # what is added to a transition, so that none is below 0
EMPTY_BITS = TRANSITION_BITS | TOUCHED | JOURNALED  # NO_TRANSITION, if an entry may be freed
NUMBERS_MULTIPLICITY = 0  # unit
NUMBERS_ITERATION, NUMBERS_NEXT = 2, 3  # words
NUMBERS_UNITS = 2

# State of a fact before the epoch, in the journal
WAS_PRESENT = 1
WAS_ASSERTED = 2
WAS_BELOW_ZERO = 4
STATE_BITS = 7

# Sign bit of a journaled fact or entry: the accumulators of reductions include the change.
ACCOUNTED = -(1 << 63)
FACT_BITS = (1 << 31) - 1  # of the upper half of a journaled entry

# Links: the facts before and after it in a group, or 0
LINK_NEXT, LINK_PREVIOUS = range(2)
LINK_WIDTH = 2
# A link is of an arrangement, and of another one that is nested in it, or -1, see `arrangement`.
MEMBERSHIP_ARRANGEMENT, MEMBERSHIP_NESTED = range(2)
MEMBERSHIP_WIDTH = 2

# Groups; those of a reduction hold the result (id + 1) instead of a first fact, and accumulators
GROUP_ARRANGEMENT, GROUP_FIRST, GROUP_KEY = range(3)

# Sorts: groups of the facts of a relation with some constants, by key and sorted by value. Those
# of no arrangement are found in the table of facts, all at once.
SORT_ARRANGEMENT = 0  # or -1
SORT_KEY, SORT_VALUE = 1, 2  # positions
SORT_RELATION = 3
SORT_CONSTANTS, SORT_CONSTANT_COUNT = 4, 5  # in OPERANDS: pairs of a position and an id
SORT_WIDTH = 6
CONSTANT_POSITION, CONSTANT_ID = range(2)
CONSTANT_WIDTH = 2
SORTED_WHOLLY = -1

# Sorted groups
SORTED_PLACE = 0  # sort << 32 | id
SORTED_FIRST = 1  # its first item of SORTED, 0 if it is not sorted
SORTED_COUNT = 2  # members
SORTED_BEFORE = 3  # those with a transition before the deltas
SORTED_NEXT = 4  # place of its next item, while all groups of a sort are sorted
SORTED_WIDTH = 5
SORTED_NEW = 1 << 31  # of a member: it had no transition before the deltas

# Readers: walks through groups
READER_DEPTH = 0  # number of the step
READER_MEMBER = 1  # member to read next, 0 after the last
READER_COUNT, READER_TAKEN = 2, 3  # matches found, and those that the plan has got
READER_ARRANGEMENT = 4  # of the group
READER_VALUE = 5  # word of a member's record that has the value
READER_ANSWERED = 6  # depth of the lookup
READER_SORT, READER_RELATION, READER_ARITY = range(7, 10)  # of the facts that are looked up
READER_PLACE = 10  # where their arguments, in the row, have the value
READER_FACT, READER_PLAN = 11, 12  # the delta's fact, and the plan that it drives
READER_CELLS = 13
READER_WIDTH = 272  # more than MAX_ARITY; not a power of two, which would share lines of a cache
READERS = 32  # that take turns; further ones are by depth

# Milestones: the arrangement + 1, or 0, and key of a group; their number, and they themselves
MILESTONE_ARRANGEMENT, MILESTONE_KEY, MILESTONE_COUNT, MILESTONE_FACTS = range(4)
MILESTONE_WIDTH = 16  # a cache line
MOST_MILESTONES = MILESTONE_WIDTH - MILESTONE_FACTS

# How the deltas of cyclic rules are applied
ONE_BY_ONE, LATER, TOGETHER = range(3)

# Lattice groups, in units after the key
LATTICE_WINNERS = 0  # first node of the winners, by ascending iteration
LATTICE_BEST = 1  # best of the candidates touched at the iteration to settle
LATTICE_NEXT = 2  # next group to settle, -1 at the end of the list, 0 if not on it
LATTICE_EPOCH = 3  # epoch of the next two fields
LATTICE_OLD = 4  # winner, before the epoch, at the last settled iteration
LATTICE_FLOOR = 5  # all entries of candidates better than this one are touched; 0 if none
LATTICE_UNITS = 6

# The same while the log has their candidates: LATTICE_EPOCH is then below 0
LOG_BEST = LATTICE_BEST  # value of the best candidate so far + 1, or 0
LOG_LISTED = LATTICE_NEXT  # 1 if it is in LOG_CHANGED
LOG_PLACE = LATTICE_EPOCH  # ~ number of its rows, or ~ the next place in LOG_GATHERED
LOG_WINNER = LATTICE_OLD  # winner at the last settled iteration
LOG_LOST = LATTICE_FLOOR  # the best value that was subtracted, not worse than LOG_BEST, + 1, or 0

# Rows of the log, of two words: a value that is added << 32 | key, or group once it is absorbed;
# one that is subtracted as often + 1, or 0, << 32 | iteration, lattice and multiplicity.
LOG_SECOND = 1
LOG_WIDTH = 2
LOG_ITERATION_SHIFT = 12
LOG_ITERATIONS = 1 << 20  # those below it can be logged
LOG_LATTICE_SHIFT = 8
LOG_LATTICES_MOST = 1 << 4
DIVIDED = -1  # of LOGGED: other parts own some of the heads of the relation
COPIED = -2  # the same of copies, which are not derived
LOG_MULTIPLICITY = 1 << 7  # multiplicities between its negative and it can be logged
LOG_MULTIPLICITY_BITS = 2 * LOG_MULTIPLICITY - 1

# Lattices in the log, whose facts have two arguments: relation, arrangement, the argument with the
# value; 1 for least, -1 for greatest
LOGGED_RELATION, LOGGED_ARRANGEMENT, LOGGED_VALUE, LOGGED_SIGN = range(4)
LOGGED_WIDTH = 4
LOGGED_ARITY = 2

# By class: number + 1 of its first and last fact in the journal, or 0
LISTED_FIRST, LISTED_LAST = range(2)
LISTED_WIDTH = 2

# Nodes of a list of winners: words
WINNER_ITERATION, WINNER_NEXT, WINNER_FACT = range(3)
WINNER_UNITS = 2

# Accumulators of a reduction, in units after the key
SUM_NEXT = 0  # next changed group, -1 at the end of the list, 0 if not changed
SUM_COUNT = 1  # matches, or distinct values
SUM_DECIMALS = 2  # matches by kind of number; the others are integers
SUM_DOUBLES = 3
SUM_POSITIVE, SUM_NEGATIVE, SUM_NAN = 4, 5, 6  # non-finite doubles
SUM_FINITE = 7  # record of the exact sum of finite doubles, 0 if there is none
SUM_WHOLE = 8  # digits of the exact sum of whole parts
SUM_DIGITS = 3  # superaccumulator.DIGITS_INTEGER
SUM_FRACTION = SUM_WHOLE + SUM_DIGITS  # the same for fractions, in units of 1e-18
SUM_UNITS = SUM_FRACTION + SUM_DIGITS
COUNT_UNITS = 2  # a count needs only the first two
CHOSEN_FIRST, CHOSEN_LAST = 2, 3  # chunks of the list of values, in place of sums
CHOSEN_SIZE = 4  # values in the list
CHOSEN_UNITS = 5
# A chunk: words of the link and of its size, then values, shifted, with a bit for those shown
CHUNK_NEXT, CHUNK_SIZE = range(2)
CHUNK_UNITS = 16
CHOSEN_SHOWN = 1
CHOSEN_VALUE_SHIFT = 1

# Tables of the program ---------------------------------------------------------------------------
RELATION_ARITY, RELATION_ROOT = range(2)  # arguments; a node of the trie
RELATION_WIDTH = 2
# A node of the trie: the position of the argument that it tests, or -1; the child for all other
# constants, or its class. A slot: as said above, with -1 for no child.
TRIE_POSITION, TRIE_DEFAULT = range(2)
TRIE_KEY, TRIE_CHILD = range(2)
TRIE_WIDTH = 2
CLASS_RELATION, CLASS_ARITY, CLASS_UNITS, CLASS_STRATUM = range(4)
CLASS_LINKS, CLASS_MEMBERSHIPS, CLASS_LINK_COUNT = range(4, 7)
CLASS_LATTICE = 7  # number of its lattice among the arrangements + 1, or 0
CLASS_LATTICE_CELL, CLASS_LATTICE_SIGN = range(8, 10)  # cell to compare; 1 for least, -1 greatest
CLASS_REDUCTION = 10  # the reduction over its facts + 1, or 0
CLASS_OLD_STRATUM = 11  # its stratum in the previous program
CLASS_HIDDEN = 12  # HIDDEN if lowering added its predicate, COPY if its facts are copies, or 0
CLASS_LAST_READER = 13  # the last stratum with plans that its facts drive
CLASS_COUNTED, CLASS_COUNTED_COUNT = range(14, 16)  # its part of COUNTED
CLASS_COPIES, CLASS_COPY_COUNT = range(16, 18)  # its part of COPIES
CLASS_WIDTH = 18
HIDDEN, COPY = 1, 2

COPY_RELATION, COPY_POSITION = range(2)  # the argument that tells the part, or -1: all have one
COPY_WIDTH = 2

# By grouping: offset of its key in OPERANDS, length of the key, and its reduction + 1, or 0
ARRANGEMENT_KEY, ARRANGEMENT_KEY_COUNT, ARRANGEMENT_REDUCTION = range(3)
ARRANGEMENT_WIDTH = 3

REDUCTION_ARRANGEMENT, REDUCTION_KEYS, REDUCTION_FUNCTION = range(3)
REDUCTION_HEAD_RELATION, REDUCTION_HEAD, REDUCTION_HEAD_COUNT = range(3, 6)
REDUCTION_WORK = 6  # place of its rule in WORK
REDUCTION_LIMIT = 7  # how many values it chooses
REDUCTION_MOST = 8  # how many a group may list
REDUCTION_MEMBERS = 9  # the arrangement of its matches by group, or -1
REDUCTION_WIDTH = 10
FUNCTION_COUNT, FUNCTION_DISTINCT, FUNCTION_SUM, FUNCTION_AVERAGE = range(4)
FUNCTION_CONCATENATION, FUNCTION_LOWEST, FUNCTION_HIGHEST = range(4, 7)

# The rows of plans and of steps begin with what is done with a fact.
STAGE_BINDS, STAGE_BIND_COUNT, STAGE_CHECKS, STAGE_CHECK_COUNT = range(4)
STAGE_CONDITIONS, STAGE_CONDITION_COUNT = range(4, 6)
# Binds and checks, in OPERANDS: an argument of the fact, and a slot
BIND_ARGUMENT, BIND_SLOT = range(2)
BIND_WIDTH = 2

PLAN_STEPS, PLAN_STEP_COUNT = range(6, 8)
PLAN_HEAD_RELATION, PLAN_HEAD, PLAN_HEAD_COUNT, PLAN_SIGN = range(8, 12)
# For a plan that first probes an index: the arrangement + 1 (else 0) and the key. If that is all it
# does, without conditions, the head in terms of the two facts (else -1): ~id for a constant,
# otherwise an argument position of the driving fact or, from MAX_ARITY on, of the match.
PLAN_PROBE, PLAN_PROBE_KEY, PLAN_PROBE_HEAD = range(12, 15)
PLAN_WORK = 15  # place of its rule in WORK
# For a plan whose steps read a single argument of the driving fact: that argument + 1 (else 0), the
# head (~id, an argument, or MAX_ARITY where a match decides), and KEPT: the (slot, position) of
# what a match decides.
PLAN_SHARED, PLAN_SHARED_HEAD, PLAN_KEPT, PLAN_KEPT_COUNT = range(16, 20)
KEPT_SLOT, KEPT_POSITION = range(2)
KEPT_WIDTH = 2
PLAN_CYCLIC = 20  # 1 if a step of a plan of its rule can intersect
PLAN_TARGETS = 21  # number + 1 of its targets in its stratum, see `targets`, or 0
PLAN_WIDTH = 22

# By class and stratum: the plans that its facts drive, and the argument + 1 on which the facts of a
# block agree, or 0.
DISPATCH_START, DISPATCH_COUNT, DISPATCH_KEY = range(3)
DISPATCH_COUNTED, DISPATCH_COUNTED_COUNT = range(3, 5)  # the part of COUNTED
DISPATCH_WIDTH = 5
DRIVEN_CLASS, DRIVEN_DISPATCH = range(2)
DRIVEN_WIDTH = 1 + DISPATCH_WIDTH
COUNTED_COUNTER, COUNTED_KEY, COUNTED_STRATUM = range(3)
COUNTED_WIDTH = 3

STEP_KEY, STEP_KEY_COUNT = range(6, 8)
STEP_KIND, STEP_TARGET, STEP_OLD = range(8, 11)
# Of a PROBE: offset in OPERANDS and number of the groups that it intersects, as (depth, sort, key):
# its own, then those of the LOOKUPs at these depths. Of a LOOKUP: its sort, the PROBE's depth + 1
STEP_GROUPS, STEP_GROUP_COUNT, STEP_PROBE = range(11, 14)
STEP_SORT = STEP_GROUPS
STEP_GROUP_DEPTH, STEP_GROUP_SORT, STEP_GROUP_KEY = range(3)
STEP_GROUP_WIDTH = 3
STEP_WIDTH = 14

PROBE = 0  # walk a group of an arrangement
LOOKUP = 1  # every argument is bound: find the one fact
ABSENT = 2  # the same, but the fact must be absent
COUNT = 3  # read the size of a group; the target is a counter

# Conditions: kind, code, target, number of arguments, arguments; an argument is a slot, or
# ~id for a constant
COMPARE = 0  # code: bit set of the comparison results that satisfy it
COMPUTE = 1  # code: built-in; target: slot for the value
MATCH = 2  # the same, but the slot must hold that value
HOLDS = 3  # code: test; target: 1 if it must hold, 0 if it must not
CONDITION_KIND, CONDITION_CODE, CONDITION_TARGET, CONDITION_COUNT = range(4)
CONDITION_ARGUMENTS = 4

# Work: a clock, then a pair for each rule
WORK_DUE = 0  # visits until the clock is read again
WORK_CLOCK = 1  # when it was read, in nanoseconds
WORK_READINGS = 2  # how often it was read in this epoch
WORK_RANDOM = 3  # state of a generator
WORK_EPOCH = 4  # the epoch that this is of, by the scalar EPOCH
WORK_SIZE = 5  # length of the column
WORK_SPENT = 6  # work of the epoch, see `work`
WORK_BUDGET = 7  # what it may spend, or WORK_UNLIMITED
WORK_LOOK = 8  # what has to be spent until the next forecast
WORK_LOAD = 9  # what a load is expected to take, if there is a budget
WORK_FACTS = 10  # how many facts there were when the budget was set
WORK_RULES = 11  # the first rule
WORK_UNLIMITED = -1
WORK_FIRINGS, WORK_NANOSECONDS = range(2)
WORK_WIDTH = 2

# Rows of the outbox; the next one of the same part has the number + 1, or it is 0
OUTBOX_RELATION, OUTBOX_TAG, OUTBOX_ITERATION, OUTBOX_MULTIPLICITY = range(4)
OUTBOX_CELL, OUTBOX_NEXT = 4, 5
OUTBOX_WIDTH = 6
HEAD_RELATION, HEAD_ITERATION, HEAD_UPPER, HEAD_LOWER, HEAD_ARGUMENTS = range(5)  # in a parcel
CHANGE_CLASS, CHANGE_ITERATION, CHANGE_TRANSITION, CHANGE_ARGUMENTS = range(4)  # in a parcel
OUTBOX_FIRST_MASK = 255  # of the slots of an empty outbox

# Status of a kernel ------------------------------------------------------------------------------
OK = 0
OVERFLOW = 1  # a multiplicity left its range
FULL = 2  # the arena is full
FAILED = 3  # a built-in raised; see Builtins.failure
SPENT = 4  # the budget of work is spent

# Results of a call of Python ----------------------------------------------------------------------
NO_VALUE = exact.NO_VALUE
FAILURE = -2
ONCE = 1 << 32  # added to a result that has been counted, so that it is not remembered
REDUCE = -1  # the code that requests the result of a group; the other argument is the group

# Results of Python that are remembered: the built-in and its arguments, and what it returned
MEMO_CODE, MEMO_COUNT, MEMO_RESULT, MEMO_CELLS = range(4)
MEMO_ARGUMENTS = 5
MEMO_WIDTH = MEMO_CELLS + MEMO_ARGUMENTS  # half a cache line
MEMO_ROWS = 1 << 17  # 4 MiB

# Scratch: bindings and join path of a running plan ------------------------------------------------
MAX_ARITY = 250  # arguments of an atom
MAX_VARIABLES = 250  # variables of a rule
MAX_STEPS = 100  # atoms of a body
ARRANGED_KEY = 0
CELLS_OUT = 256
SLOTS = 512
FACT_AT = 1024
ENTRY_AT = 1152
ITERATION_AT = 1280  # by depth; the first is the iteration at which the delta's transition changes
PRODUCT_AT = 704  # int64: signs and sizes so far, in the words from 1408 on
SIZE_AT = 1664
MEMBER_AT = 1792  # by depth: item of SORTED to look at next, or ~reader; 0 if it is a plain walk
MEMBER_END = 1920
FOUND_AT = 2048  # by depth: the fact of a LOOKUP, found by intersecting
WALKED_AT = 2176  # facts of the walked group that were found ahead, a ring
WALKED_ROOM = 512
TURN_AT = WALKED_AT + WALKED_ROOM  # rows of the readers whose turn it is
WALKER_AT = TURN_AT + READERS  # by walker: the fact it has come to
WALKER_END = WALKER_AT + MILESTONE_WIDTH  # by walker: the fact that another one began with, or 0
MARKED_AT = WALKER_END + MILESTONE_WIDTH  # facts that will be milestones
SCRATCH_COUNT = MARKED_AT + MILESTONE_WIDTH
