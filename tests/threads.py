"""Threads at one reasoner: what each does, and the check that they have taken turns.

Each change returns the number of its epoch, so the changes have an order. They are made again by a
single thread in this order: every difference must be the same, and everything that was read while
they ran must be the state between two of them.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from rdflib import URIRef

from streamreasoner import Reasoner, Update

if TYPE_CHECKING:
    from collections.abc import Callable

EX = "http://example.org/"
RULES = f"""@prefix : <{EX}> .
[?x, :reaches, ?y] :- [?x, :to, ?y] .
[?x, :reaches, ?z] :- [?x, :reaches, ?y], [?y, :to, ?z] .
leaf(?y) :- [_, :to, ?y], not [?y, :to, _] .
fan(?x, ?n) :- [?x, :to, _], ?n = count() {{ [?x, :to, ?y] }} .
name(?x, ?t) :- [?x, :to, _], ?t = concat(str(?x), "/", "n") .
"""
MORE = f"@prefix : <{EX}> . both%d(?x, ?y) :- [?x, :reaches, ?y], [?y, :reaches, ?x] ."
QUERY = f"PREFIX : <{EX}> SELECT ?x ?y {{ ?x :reaches ?y }}"
NODES = 14


@dataclass
class Log:
    """What the threads have done and seen.

    Attributes:
        changes: Epoch to how it is made again, and its difference.
        seen: The first and the last state that something may have been read from, and what.
        begun: Number of changes that have begun.
        done: Number of epochs that are known to have ended.
    """

    changes: dict[int, tuple[Callable[[Reasoner], object], Counter]] = field(default_factory=dict)
    seen: list[tuple[int, int, str, object]] = field(default_factory=list)
    begun: int = 0
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def change(self, reasoner, make):
        """Make a change, and record its epoch."""
        with self.lock:
            self.begun += 1
        diff = make(reasoner)
        found = difference(diff)
        with self.lock:
            assert diff.epoch not in self.changes
            self.changes[diff.epoch] = make, found
            self.done = max(self.done, diff.epoch + 1)

    def read(self, kind, read):
        """Read something, and record between which epochs."""
        first = self.done
        found = read()
        with self.lock:
            self.seen.append((first, self.begun, kind, found))


def difference(diff):
    """The changes of an epoch."""
    return Counter({(c.predicate, c.args): c.multiplicity for c in diff.changes})


def apply(reasoner, log, rng):
    """Assert and retract edges."""
    updates = [
        Update.triple(node(rng), URIRef(f"{EX}to"), node(rng), rng.choice((1, 1, -1)))
        for _ in range(rng.randrange(1, 6))
    ]
    log.change(reasoner, lambda each: each.apply(iter(updates)))


def apply_arrow(reasoner, log, rng):
    """Apply a table with many new terms, so that the dictionary grows."""
    number = rng.randrange(1 << 40)
    table = pa.table(
        {
            "s": [f"<{EX}new/{number}/{row}>" for row in range(500)],
            "p": [f"<{EX}of>"] * 500,
            "o": [f"<{node(rng)}>" for _ in range(500)],
        }
    )
    log.change(reasoner, lambda each: each.apply_arrow(table))


def load(reasoner, log, rng, folder):
    """Load a file, which is read in a thread of its own."""
    path = folder / f"{rng.randrange(1 << 60)}.nt"
    path.write_text("".join(f"<{node(rng)}> <{EX}to> <{EX}{n}> .\n" for n in range(3)))
    log.change(reasoner, lambda each: each.load(path))


def change_rules(reasoner, log, rng):
    """Add a rule under a name of its own, and remove it."""
    more = MORE % rng.randrange(1 << 60)
    log.change(reasoner, lambda each: each.add_rules(more))
    log.change(reasoner, lambda each: each.remove_rules(more))


def query(reasoner, log, rng):
    """Ask, and leave an answer half read."""
    log.read("reaches", lambda: frozenset(reasoner.query(QUERY)))
    half = iter(reasoner.query(QUERY))
    next(half, None)
    apply(reasoner, log, rng)
    assert all(len(row) == 2 for row in half)


def read(reasoner, log, _):
    """Read facts and traces, as Python values and as tables."""
    log.read("leaf", lambda: frozenset(reasoner.facts("leaf")))
    log.read("fan", lambda: frozenset(reasoner.trace("fan")))
    log.read("triples", lambda: len(reasoner.facts().to_arrow()))


def explain(reasoner, log, rng):
    """Explain a fact that may be there."""
    leaf = node(rng)
    found = []

    def explained():
        found.append(reasoner.explain("leaf", leaf))
        return leaf, found[0].present

    log.read("leaf of", explained)
    assert found[0].text()
    assert not reasoner.violations()
    reasoner._repr_html_()


def graph(reasoner, log, _):
    """Read an rdflib graph while others change the reasoner."""
    taken = []

    def first():
        taken.append(reasoner.graph())
        return len(taken[0])

    log.read("triples", first)
    (graph,) = taken
    to = URIRef(f"{EX}to")
    assert {*graph.subject_objects(to)} == {(s, o) for s, p, o in graph if p == to}
    assert len(graph.query("SELECT * { ?s ?p ?o }")) == len(graph)


KINDS = (apply, apply_arrow, change_rules, query, read, explain, graph, apply)


def node(rng):
    """One of few nodes."""
    return URIRef(f"{EX}{rng.randrange(NODES)}")


def states(log):
    """The state before each epoch and after the last, made by one thread; checks differences."""
    again = Reasoner.from_rules(RULES)
    for epoch in range(len(log.changes) + 1):
        leaves = frozenset(again.facts("leaf"))
        yield {
            "reaches": {frozenset(again.query(QUERY))},
            "leaf": {leaves},
            "leaf of": {
                (URIRef(f"{EX}{n}"), (URIRef(f"{EX}{n}"),) in leaves) for n in range(NODES)
            },
            "fan": {frozenset(again.trace("fan"))},
            "triples": {len(again.facts())},
        }
        if epoch < len(log.changes):
            make, found = log.changes[epoch]
            assert difference(make(again)) == found, epoch


def check_turns(seed, folder, threads=8, times=5):
    """Let threads use one new reasoner, and check them.

    Args:
        seed: Chooses what they do.
        folder: For the files that they load.
        threads: How many.
        times: How often each does what it does.

    Returns:
        The numbers of changes and of reads.
    """
    reasoner, log = Reasoner.from_rules(RULES), Log()
    start = threading.Barrier(threads)

    def work(number):
        rng = random.Random(f"{seed}/{number}")
        start.wait()
        for _ in range(times):
            KINDS[number % len(KINDS)](reasoner, log, rng)
            if rng.random() < 0.3:
                load(reasoner, log, rng, folder)
            rng.choice(KINDS)(reasoner, log, rng)

    with ThreadPoolExecutor(threads) as pool:
        for each in [pool.submit(work, number) for number in range(threads)]:
            each.result()
    assert sorted(log.changes) == list(range(len(log.changes)))
    history = list(states(log))
    for first, last, kind, found in log.seen:
        assert any(found in state[kind] for state in history[first : last + 1]), (first, last, kind)
    return len(log.changes), len(log.seen)
