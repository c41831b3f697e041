"""Groups of arrangements as sorted columns. Invariant: they live as long as deltas are applied.

While the deltas of a large epoch are applied together, a group is sorted by one argument of its
facts. It holds the facts that have a transition before these deltas, or with them; nothing in it
changes until all have been applied, and then it is forgotten. Where no arrangement has such groups,
all of them are sorted at once, when as many facts have been looked up one by one.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.slots import fact_at, fact_words
from streamreasoner.native.addresses import int32_column, signed
from streamreasoner.native.compile import inlined, kernel

FIRST_ITEM = 1  # 0 means not sorted
_NEVER = -(1 << 62)  # lookups of a sort for which there is no room
_AHEAD = 16  # slots between prefetching a record and reading it
_SHORT = 4
_FEW = 24  # items that insertion sorts faster than a heap


@kernel
def is_empty(table: layout.Int64s, sort: int, key: int) -> bool:
    """Whether a group is known to have no facts."""
    arrangement = views.sorts(table)[layout.SORT_WIDTH * sort]
    if arrangement >= 0:
        return int32_column(views.index(table, arrangement))[key] == 0
    whole = views.sort_lookups(table)[sort] == layout.SORTED_WHOLLY
    return whole and int32_column(views.sorted_rows(table)[sort])[key] == 0


@kernel
def is_short(table: layout.Int64s, sort: int, key: int) -> bool:
    """Whether a group of an arrangement has so few facts that looking up each costs less."""
    if int32_column(views.sorted_rows(table)[sort])[key] != 0:
        return False
    arrangement = views.sorts(table)[layout.SORT_WIDTH * sort]
    fact = int32_column(views.index(table, arrangement))[key]
    for _ in range(_SHORT):
        if fact == 0:
            return True
        fact = facts.next_member(table, fact, arrangement)
    return fact == 0


@inlined
def count_lookups(table: layout.Int64s, sort: int, number: int) -> None:
    """Count lookups of single facts, for which groups would be sorted if there were more."""
    lookups = views.sort_lookups(table)
    if lookups[sort] >= 0:
        lookups[sort] += number


@kernel
def can_sort(table: layout.Int64s, sort: int) -> bool:
    """Whether groups are an arrangement's, or else all are sorted; they are now if it pays."""
    if views.sorts(table)[layout.SORT_WIDTH * sort] >= 0:
        return True
    lookups = views.sort_lookups(table)
    if lookups[sort] >= views.scalars(table)[layout.SORT_PATIENCE]:
        if _sort_all(table, sort):
            lookups[sort] = layout.SORTED_WHOLLY
        else:
            lookups[sort] = _NEVER
    return lookups[sort] == layout.SORTED_WHOLLY


@kernel
def group_row(table: layout.Int64s, sort: int, key: int) -> int:
    """Where the row of a group starts, appended if need be; 0 if there is no room.

    Args:
        table: The addresses.
        sort: The arrangement and the argument to sort by.
        key: Id of the group.
    """
    rows = int32_column(views.sorted_rows(table)[sort])
    if rows[key] == 0:
        scalars = views.scalars(table)
        number = scalars[layout.SORTED_GROUP_COUNT] + 1
        if number == scalars[layout.SORTED_GROUP_CAPACITY]:
            return 0
        scalars[layout.SORTED_GROUP_COUNT] = number
        rows[key] = number
        groups = views.sorted_groups(table)
        row = layout.SORTED_WIDTH * number
        groups[row + layout.SORTED_PLACE] = lists.pack(sort, key)
        groups[row + layout.SORTED_FIRST] = 0
        groups[row + layout.SORTED_COUNT] = 0
        groups[row + layout.SORTED_BEFORE] = 0
    return layout.SORTED_WIDTH * signed(rows[key])


@kernel
def sort_group(table: layout.Int64s, row: int) -> bool:
    """Sort the group of a row, unless it is sorted; False if there is no room."""
    scalars = views.scalars(table)
    items = views.sorted_items(table)
    groups = views.sorted_groups(table)
    if groups[row + layout.SORTED_FIRST] != 0:
        return True
    sort = layout.SORT_WIDTH * lists.upper(groups[row + layout.SORTED_PLACE])
    key = lists.lower(groups[row + layout.SORTED_PLACE])
    arrangement = views.sorts(table)[sort + layout.SORT_ARRANGEMENT]
    value = views.sorts(table)[sort + layout.SORT_VALUE]
    fact = int32_column(views.index(table, arrangement))[key]
    first = scalars[layout.SORTED_TOP]
    top = first
    before = 0
    while fact != 0:
        if top == scalars[layout.SORTED_CAPACITY]:
            return False
        following = facts.next_member(table, fact, arrangement)
        views.prefetch_unit(table, following)
        was, is_now = _transitions(table, fact)
        if was or is_now:
            items[top] = lists.sorted_member(fact, facts.argument(table, fact, value), not was)
            top += 1
            before += was
        fact = following
    sort_items(items, first, top)
    scalars[layout.SORTED_TOP] = top
    groups[row + layout.SORTED_FIRST] = first
    groups[row + layout.SORTED_COUNT] = top - first
    groups[row + layout.SORTED_BEFORE] = before
    return True


@kernel
def _sort_all(table: layout.Int64s, sort: int) -> bool:
    """Sort all groups of a sort without an arrangement, unless there is no room.

    The members are listed with their keys, counted, and then distributed to their groups.
    """
    scalars = views.scalars(table)
    items = views.sorted_items(table)
    groups = views.sorted_groups(table)
    sorts = views.sorts(table)
    row = layout.SORT_WIDTH * sort
    key = sorts[row + layout.SORT_KEY]
    value = sorts[row + layout.SORT_VALUE]
    listed = scalars[layout.SORTED_TOP]
    top = listed
    first_row = layout.SORTED_WIDTH * (scalars[layout.SORTED_GROUP_COUNT] + 1)
    words = fact_words(table)
    for i in range(words):
        views.prefetch_unit(table, fact_at(table, min(i + _AHEAD, words - 1)))
        fact = fact_at(table, i)
        if fact == 0 or not _belongs(table, row, fact):
            continue
        was, is_now = _transitions(table, fact)
        if not (was or is_now):
            continue
        group = group_row(table, sort, facts.argument(table, fact, key))
        if group == 0 or top + 3 > scalars[layout.SORTED_CAPACITY]:
            return False
        groups[group + layout.SORTED_COUNT] += 1
        groups[group + layout.SORTED_BEFORE] += was
        items[top] = group
        items[top + 1] = lists.sorted_member(fact, facts.argument(table, fact, value), not was)
        top += 2
    end_row = layout.SORTED_WIDTH * (scalars[layout.SORTED_GROUP_COUNT] + 1)
    if top + ((top - listed) >> 1) > scalars[layout.SORTED_CAPACITY]:
        return False
    end = top
    for group in range(first_row, end_row, layout.SORTED_WIDTH):
        groups[group + layout.SORTED_FIRST] = end
        end += groups[group + layout.SORTED_COUNT]
        groups[group + layout.SORTED_NEXT] = groups[group + layout.SORTED_FIRST]
    for at in range(listed, top, 2):
        place = items[at] + layout.SORTED_NEXT
        items[groups[place]] = items[at + 1]
        groups[place] += 1
    for group in range(first_row, end_row, layout.SORTED_WIDTH):
        place = groups[group + layout.SORTED_FIRST]
        sort_items(items, place, place + groups[group + layout.SORTED_COUNT])
    scalars[layout.SORTED_TOP] = end
    return True


@inlined
def _belongs(table: layout.Int64s, row: int, fact: int) -> bool:
    """Whether a fact has the relation and constants of a sort, given by its row."""
    sorts = views.sorts(table)
    relation = facts.field_of(table, fact, layout.CLASS_RELATION)
    if relation != sorts[row + layout.SORT_RELATION]:
        return False
    at = sorts[row + layout.SORT_CONSTANTS]
    end = at + layout.CONSTANT_WIDTH * sorts[row + layout.SORT_CONSTANT_COUNT]
    for i in range(at, end, layout.CONSTANT_WIDTH):
        constant = views.operands(table)[i + layout.CONSTANT_ID]
        if (
            facts.argument(table, fact, views.operands(table)[i + layout.CONSTANT_POSITION])
            != constant
        ):
            return False
    return True


@inlined
def _transitions(table: layout.Int64s, fact: int) -> tuple[bool, bool]:
    """Whether a fact has a transition without its pending change, and with it."""
    iteration = views.scratch(table)[layout.ITERATION_AT]
    header = facts.header(table, fact)
    own = (
        facts.field_of(table, fact, views.scalars(table)[layout.STRATUM_FIELD])
        == views.scalars(table)[layout.STRATUM]
    )
    change = facts.change(header) if facts.has_delta(header) else 0
    was = is_now = False
    total = 0
    entry = facts.first_entry(fact)
    while entry != 0:
        transition = facts.transition(table, entry)
        total += transition
        if own:
            is_now |= transition != 0
            was |= transition != (change if facts.iteration(table, entry) == iteration else 0)
        entry = facts.next_entry(table, entry)
    if own:
        return was, is_now
    return total != change, total != 0


@kernel
def sort_items(items: layout.Int64s, first: int, end: int) -> None:
    """Sort the items from *first* to *end* - 1; a heap, so that no order of them is a bad one."""
    count = end - first
    if count <= _FEW:
        for i in range(first + 1, end):
            item = items[i]
            at = i
            while at > first and items[at - 1] > item:
                items[at] = items[at - 1]
                at -= 1
            items[at] = item
        return
    for root in range(count // 2 - 1, -1, -1):
        _sift(items, first, root, count)
    for last in range(count - 1, 0, -1):
        item = items[first]
        items[first] = items[first + last]
        items[first + last] = item
        _sift(items, first, 0, last)


@inlined
def _sift(items: layout.Int64s, first: int, root: int, count: int) -> None:
    """Make a heap of *count* items whose root may be too small."""
    item = items[first + root]
    child = 2 * root + 1
    while child < count:
        if child + 1 < count and items[first + child + 1] > items[first + child]:
            child += 1
        if items[first + child] <= item:
            break
        items[first + root] = items[first + child]
        root = child
        child = 2 * root + 1
    items[first + root] = item


@kernel
def seek(items: layout.Int64s, at: int, end: int, bound: int) -> int:
    """The first of the sorted items from *at* to *end* - 1 that is not below a bound, or *end*.

    Steps double until one is too long, then halve (Bentley and Yao, "An almost optimal algorithm
    for unbounded searching", 1976), so it costs the logarithm of the distance.
    """
    if at >= end or items[at] >= bound:
        return at
    step = 1
    while at + step < end and items[at + step] < bound:
        at += step
        step *= 2
    end = min(at + step, end)
    while end - at > 1:
        middle = (at + end) >> 1
        if items[middle] < bound:
            at = middle
        else:
            end = middle
    return end


@kernel
def forget_sorted(table: layout.Int64s) -> None:
    """Forget all sorted groups."""
    scalars = views.scalars(table)
    groups = views.sorted_groups(table)
    for number in range(1, scalars[layout.SORTED_GROUP_COUNT] + 1):
        place = groups[layout.SORTED_WIDTH * number + layout.SORTED_PLACE]
        int32_column(views.sorted_rows(table)[lists.upper(place)])[lists.lower(place)] = 0
    for sort in range(scalars[layout.SORT_COUNT]):
        views.sort_lookups(table)[sort] = 0
    scalars[layout.SORTED_GROUP_COUNT] = 0
    scalars[layout.SORTED_TOP] = FIRST_ITEM
