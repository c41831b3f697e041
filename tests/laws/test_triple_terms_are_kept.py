"""Triple terms go through a state, its past and its replica as every other term does.

So they do through the stores of each backend.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from driver import Driver
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import evaluate, total
from stored_epochs import StoredReasoner
from thorough import THOROUGH

from streamreasoner.facts import FactPattern, decode_facts
from streamreasoner.history.epochs import Past
from streamreasoner.history.past_facts import PastFacts
from streamreasoner.history.replica import Replica
from streamreasoner.program import check_text
from streamreasoner.rdf.triple_terms import triple_term

RULES = """@prefix ex: <urn:> .
says(?x, ?t) :- [?x, ex:says, ?t], is_triple(?t) .
says(?x, ?y) :- says(?x, ?t), ?y = object(?t) .
about(?x, ?s) :- says(?x, ?t), ?s = subject(?t) .
last(?x, max(?t)) :- says(?x, ?t) .
[?x, ex:repeats, triple(?x, ex:says, ?t)] :- [?x, ex:says, ?t], not about(?x, ?x) .
trusted(?t) :- [?x, ex:says, <<( ?s ex:p ?o )>>], [?s, ex:says, ?o], ?t = triple(?s, ex:p, ?o) .
"""
SAYS = "<urn:says>"
NODES = st.sampled_from(["<urn:a>", "<urn:b>", "_:x", "_:y"])
LITERALS = st.sampled_from(['"x"', '"x"@ar--rtl', '"x"@ar', '" )>> <<( "', '"é\\n"'])
TERMS = st.recursive(
    NODES | LITERALS,
    lambda inner: st.builds(triple_term, NODES, st.sampled_from(["<urn:p>", SAYS]), inner),
    max_leaves=4,
)
EPOCHS = st.lists(st.lists(st.tuples(NODES, TERMS), min_size=1, max_size=6), min_size=1, max_size=4)


def updates(statements, sign):
    """What is said, as updates."""
    return [("triple", (node, SAYS, term), sign) for node, term in statements]


def as_tuples(facts):
    """Facts as predicates and terms."""
    return {(each.predicate, tuple(each.arguments)) for each in facts}


def present(program, read, terms):
    """The facts of all predicates that are read."""
    return {fact for name in program.arities for fact in decode_facts(name, read(name), terms)}


@settings(max_examples=200 if THOROUGH else 6)
@given(EPOCHS)
def test_a_state_a_replica_and_the_past_have_what_memory_has(epochs):
    """After each epoch; resumed by another process, all is retracted and nothing is left."""
    with TemporaryDirectory() as folder:
        tables = Path(folder) / "tables"
        memory = Driver(check_text(RULES))
        expected = []
        with closing(StoredReasoner(tables, RULES, closure=True)) as stored:
            for statements in epochs:
                memory.apply(updates(statements, 1))
                stored.run(updates(statements, 1))
                expected.append(memory.closure())
                assert as_tuples(stored.present[-1]) == expected[-1]
        replica = Replica.open(tables)
        with replica.snapshot() as snapshot:
            found = present(
                check_text(RULES), lambda name: snapshot.facts(FactPattern(name)), snapshot.terms
            )
        assert as_tuples(found) == expected[-1]
        past = PastFacts(Past(tables))
        for epoch, facts in enumerate(expected):
            names = past.program(epoch).arities
            found = {each for name in names for each in past.facts(FactPattern(name), epoch)}
            assert as_tuples(found) == facts

        with closing(StoredReasoner.resumed(tables, RULES, len(epochs))) as resumed:
            resumed.run([each for statements in epochs for each in updates(statements, -1)])
            assert resumed.present[-1] == set()
        assert list(restored_trace(tables, len(epochs) + 1)) == []


@settings(max_examples=200 if THOROUGH else 12)
@given(EPOCHS)
def test_their_facts_are_those_of_the_oracle(epochs):
    """After each epoch, with multiplicities by iteration; all is retracted in the end."""
    checked, accepted = check_text(RULES), []
    driver = Driver(checked)
    for statements in epochs:
        accepted.append(updates(statements, 1))
        driver.apply(accepted[-1])

        assert driver.trace() == evaluate(checked, total(accepted))
    driver.apply([each for statements in epochs for each in updates(statements, -1)])

    assert driver.trace(driver.predicates) == {}


def restored_trace(tables, before):
    """The rows of the trace that do not cancel."""
    with closing(StoredReasoner(tables, RULES)) as stored:
        for block in stored.tables.restore(before):
            yield from zip(block.args.tolist(), block.multiplicity.tolist(), strict=True)
