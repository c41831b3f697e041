"""The latest value of every key of a topic of facts is the set of published facts."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import zip_longest

import numpy as np
import pyarrow as pa
from driver import Driver
from hypothesis import assume, given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2
from laws.test_output_is_read_back import CHANGES, NAMES, is_rdf, read
from laws.test_rules_change import part
from oracle import NotConvergingError, closure, derived, evaluate, total
from strategies import HEADER, checked, scenarios

from streamreasoner.errors import EngineError
from streamreasoner.io.codec.encode import ChangeEncoder, decode_changes
from streamreasoner.io.formats.registry import of_name
from streamreasoner.pipeline.published import Published

PARTITIONS = 3
TS = 1767225600123


class Latest:
    """What a consumer keeps that knows nothing: the latest value of every key of a topic."""

    def __init__(self):
        self.values = {}

    def take(self, sent):
        """Messages (key, value, ...) in the order of their offsets; a null value deletes."""
        for key, value, *_ in sent:
            if value is None:
                self.values.pop(key, None)
            else:
                self.values[key] = value

    def facts(self):
        """The facts of the values in JSON, each of which is that of its key."""
        found = set()
        for key, value in self.values.items():
            message = json.loads(value)
            if "s" in message:
                message |= {"predicate": "triple", "args": [message[name] for name in "spo"]}
            assert json.loads(key) == [message["predicate"], *message["args"]]
            assert message["diff"] == 1
            found.add((message["predicate"], tuple(message["args"])))
        return found


def messages(changes, name="json"):
    """What a pipeline publishes of decoded changes: (key, value, headers) for each message."""
    encoder = ChangeEncoder(of_name(name), PARTITIONS, holds="derived all")
    for decoded in changes:
        for sent in encoder.encode(decoded, TS, 7):
            assert sent.updates == len(sent.values)
            for key, value in zip(sent.keys, sent.values, strict=True):
                assert sent.partition == (murmur2(key) & 0x7FFFFFFF) % PARTITIONS
                yield key, value, sent.headers


def with_output(program, choice):
    """The program, but it publishes some of its predicates, or all."""
    [text] = program.texts.values()
    chosen = [name for index, name in enumerate(sorted(program.arities)) if choice >> index % 8 & 1]
    return checked(f"{text}@output {', '.join(chosen)} .\n") if chosen else program


@given(
    scenarios(),
    st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255)), min_size=1, max_size=4),
    st.booleans(),
)
def test_the_latest_values_are_the_published_facts(scenario, choices, everything):
    """After every epoch, whatever its rules and @output are; taking it twice changes nothing."""
    assume(scenario.program.startswith(HEADER))
    programs = [
        with_output(program, outputs)
        for rules, outputs in choices
        if (program := part(scenario.program, rules)) is not None
    ]
    assume(programs)
    published = Published(closure=everything, upsert=True)
    driver, latest, accepted, before = Driver(programs[0]), Latest(), [], programs[0]
    engine, terms = driver.session.engine, driver.session.dictionary
    for program, epoch in zip_longest(programs, scenario.epochs):
        now = program or before
        updates = [update for update in epoch or () if update[0] in now.arities]
        try:
            expected = evaluate(now, total([*accepted, updates]))
            assume(expected.iterations < Driver.recursion_limit // 2)
            leaving = published.leaving(engine, before, now)
            result = driver.change(now, updates)
        except (NotConvergingError, EngineError):
            continue
        entering = published.entering(engine, before, now)
        changes = published.changes(result, before, now)
        sent = [
            message
            for part_ in (leaving, changes, entering)
            for message in messages(decode_changes(part_, terms))
        ]
        assert len({key for key, *_ in sent}) == len(sent)
        latest.take(sent)
        latest.take(sent)
        accepted.append(updates)
        before = now
        present = closure(expected) if everything else derived(expected)
        assert latest.facts() == {fact for fact in present if fact[0] in now.published}


@given(CHANGES, st.sampled_from(["json", "nquads", "rdf-patch"]))
def test_a_value_is_the_fact_of_its_key_in_every_format(changes, name):
    """As an addition; keys do not depend on the format, and what goes has no value."""
    groups = defaultdict(list)
    for fact, sign in changes.items():
        groups[len(fact)].append((fact, sign))
    sent = []
    for arity, group in sorted(groups.items()):
        columns = [
            pa.array(column, pa.large_string())
            for column in zip(*(fact for fact, _ in group), strict=True)
        ]
        sent += messages([(NAMES[arity], columns, np.array([s for _, s in group], np.int8))], name)
    assert len(sent) == len(changes)
    for key, value, headers in sent:
        predicate, *args = json.loads(key)
        fact = tuple(args)
        assert predicate == NAMES[len(fact)]
        assert (value is None) == (changes.pop(fact) < 0)
        if value is not None and (is_rdf(fact) or len(fact) == 2):
            assert read([(value, headers, 0)]) == {fact: 1}
