"""Epochs that are slots: output is a function of the partitions' logs, however they are read."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

from driver import Driver
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from slot_builders import AHEAD, PARTITIONS, SECOND, START, Sent, Stream, cut
from thorough import THOROUGH

from streamreasoner.backends.store import in_memory, restored
from streamreasoner.io.formats.reading.timestamps import iso
from streamreasoner.program import check_text

HEADER = "@prefix ex: <http://example.org/> .\n"
RULES = """@input seen/2, edge/2 .
edge(ex:a, ex:z) .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
alone(?x) :- edge(_, ?x), not seen(?x, _) .
degree(?x, count(?y)) :- edge(?x, ?y) .
!crowd(?x) :- seen(?x, ?y), seen(?z, ?y), ?x != ?z .
"""
WINDOWS = ('@expires seen/2 after "PT4S" .\n', '@expires seen/2 after "PT5S" every "PT2S" .\n', "")
NODES = [f"<http://example.org/{name}>" for name in "abc"]
STATED = ("edge", (NODES[0], "<http://example.org/z>"))
GRANULARITIES = (SECOND, 3 * SECOND, 1500)
SETTINGS = settings(
    max_examples=400 if THOROUGH else 12,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)

FACTS = st.tuples(
    st.sampled_from(["edge", "seen"]), st.tuples(st.sampled_from(NODES), st.sampled_from(NODES))
)
EDGES = st.tuples(st.just("edge"), st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)))
TIMES = st.integers(-8, 50).map(lambda number: START + number * 250)
APPENDED = st.integers(-10, 40).map(lambda number: START + number * 250)


def updates(facts, signs, most=2, least=1):
    """Updates of a message."""
    one = st.tuples(facts, st.sampled_from(signs), TIMES).map(lambda u: (*u[0], u[1], u[2]))
    return st.lists(one, min_size=least, max_size=most).map(tuple)


TICKS = st.builds(Sent, st.just(()), APPENDED, st.none(), TIMES)
PLAIN = st.one_of(st.builds(Sent, updates(FACTS, [1, 1, 2, -1]), APPENDED), TICKS)
KEYED = st.builds(
    Sent, updates(EDGES, [1], least=0), APPENDED, st.sampled_from("kl"), st.one_of(st.none(), TIMES)
)
LOGS = st.fixed_dictionaries(
    {place: st.lists(KEYED if place[0] == "keyed" else PLAIN, max_size=6) for place in PARTITIONS}
).map(lambda logs: {**logs, **{place: [*log, end(place)] for place, log in logs.items()}})
STEPS = st.lists(st.sampled_from([None, None, "restart", 0, 1, 2]), min_size=9, max_size=9)


def end(place):
    """The last message of a log, a tick that closes most slots."""
    key = "tick" if place[0] == "keyed" else None
    return Sent((), START + 9 * SECOND, key, START + 9 * SECOND)


def streams(granularities, most):
    """Logs, and the greatest number of their batches besides the last one."""
    cuts = st.lists(st.tuples(st.sampled_from(PARTITIONS), st.integers(0, 3)), max_size=most)
    return st.tuples(
        LOGS,
        st.sampled_from(WINDOWS),
        st.sampled_from(granularities),
        st.sampled_from([0, 700]),
        cuts,
        STEPS,
    )


def slots_of(logs, granularity, lateness):
    """The oracle: each update with the end of its slot, and the frontier."""
    found, marks = [], []
    for (topic, partition), log in logs.items():
        mark = None
        for offset, sent in enumerate(log):
            clocks = [min(ts, sent.appended + AHEAD) for *_, ts in sent.updates]
            empty = sent.appended if sent.header is None and topic == "keyed" else sent.header
            last = max(clocks, default=None if empty is None else min(empty, sent.appended + AHEAD))

            def slot(clock, mark=mark):
                late = clock if mark is None else max(clock, mark)
                return (late // granularity + 1) * granularity

            place = (topic, partition, offset)
            if topic == "keyed":
                found.append((slot(last), place, 0, sent))
            else:
                for part, (each, clock) in enumerate(zip(sent.updates, clocks, strict=True)):
                    found.append((slot(clock), place, part, each))
            if last is not None:
                mark = last - lateness if mark is None else max(mark, last - lateness)
        marks.append(mark)
    return sorted(found, key=lambda each: each[:3]), None if None in marks else min(marks)


def asserted(found, window, frontier):
    """The oracle: multiplicities by fact, of the updates so far."""
    totals, sets, values, registers = Counter({STATED: 1}), {}, {}, {}
    for _, (topic, *_), _, each in found:
        if topic == "keyed":
            values[each.key] = {(predicate, args) for predicate, args, *_ in each.updates}
            continue
        predicate, args, diff, ts = each
        if predicate == "seen" and window:
            times = registers.setdefault((predicate, args), [START - 10**9] * 2)
            times[diff < 0] = max(times[diff < 0], ts)
        elif topic == "set":
            sets[predicate, args] = diff > 0
        else:
            totals[predicate, args] += diff
    for facts in (*values.values(), [fact for fact, is_in in sets.items() if is_in]):
        totals.update(facts)
    duration, step = (5000, 2000) if "every" in window else (4000, 1)
    for fact, (last, gone) in registers.items():
        totals[fact] = int(last > gone and -(-(last + duration) // step) * step > frontier)
    return [(*fact, number) for fact, number in totals.items() if number]


def closure(facts):
    """The oracle: what follows from facts, from scratch."""
    driver = Driver(check_text(HEADER + RULES.replace("edge(ex:a, ex:z) .\n", "")))
    driver.apply(facts)
    return driver.closure()


def expected(logs, window, granularity, lateness):
    """The oracle: every change with its time and number, in the order of publication."""
    found, frontier = slots_of(logs, granularity, lateness)
    present = closure([(*STATED, 1)])
    changes = [(*fact, 1, 0, 0) for fact in sorted(present)]
    if frontier is None:
        return changes
    first = min((slot for slot, *_ in found), default=frontier)
    for until in range(first, frontier // granularity * granularity + 1, granularity):
        facts = asserted([each for each in found if each[0] <= until], window, until)
        after = closure(facts)
        both = sorted(present ^ after)
        changes += (
            (*fact, 1 if fact in after else -1, until, until // granularity) for fact in both
        )
        present = after
    return changes


def change(value):
    """A published change, as `expected` has it."""
    fields = json.loads(value)
    return fields["predicate"], tuple(fields["args"]), fields["diff"], fields["ts"], fields["epoch"]


def run(stream, cuts, steps=()):
    """Read the logs in batches, with restarts and crashes."""
    steps = iter(steps)
    for ends in cut(stream.logs, cuts):
        step = next(steps, None)
        if step == "restart":
            stream.restart()
        stream.read(ends, None if step == "restart" else step)
    stream.restart()
    return stream


def check(one, other, arguments, store=None):
    """Whether a run in batches publishes what one batch does, which is what the oracle says."""
    logs, window, granularity, lateness, cuts, steps = arguments
    checked = check_text(HEADER + window + RULES)
    options = {"granularity": granularity, "lateness": lateness}
    whole = run(Stream(Path(one), checked, logs, **options), [])
    parts = run(Stream(Path(other), checked, logs, store=store, **options), cuts, steps)

    assert parts.topics.changes == whole.topics.changes
    assert parts.topics.violations == whole.topics.violations
    assert parts.topics.letters == whole.topics.letters == []
    published = [change(value) for _, _, value, _ in whole.topics.changes]
    published += [change(value) for _, _, value, _ in whole.topics.violations]
    wanted = expected(logs, window, granularity, lateness)
    wanted = [(*fact[:3], iso(fact[3]), fact[4]) for fact in wanted]
    assert published == sorted(wanted, key=lambda each: each[0] == "crowd")


def on_parts(tables, before):
    """The state that tables have before an epoch, divided among two parts."""
    return restored(tables, before, empty=partial(in_memory, 2))


@SETTINGS
@given(streams(GRANULARITIES, 8), st.sampled_from([None, on_parts]))
def test_output_is_a_function_of_the_logs(arguments, store):
    """Batches, restarts, crashes and parts change no byte of the output, that of the oracle."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        check(one, other, arguments, store)
