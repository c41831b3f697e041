"""Triple terms from topic to topic: messages, rules, tables, questions and explanations."""

from __future__ import annotations

import json

from free_ports import free_port
from pipelines import (
    await_published,
    changes,
    committed,
    eventually,
    net,
    new_case,
    produce,
    triple,
)
from serving import ask, await_ready
from spark_jvm import MARKS

from streamreasoner.rdf.triple_terms import triple_term
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

EX = "http://example.org/"
RULES = f"""@prefix ex: <{EX}> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
claimed(?by, ?s) :- [?r, rdf:reifies, <<( ?s ex:knows _ )>>], [?r, ex:by, ?by] .
inner(?o) :- [_, rdf:reifies, ?t], ?o = object(?t), is_triple(?o) .
[?by, ex:doubts, triple(?s, ex:knows, ?by)] :- claimed(?by, ?s) .
"""
REIFIES = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"
A, B, BY, KNOWS = (f"<{EX}{name}>" for name in ("a", "b", "by", "knows"))
QUOTED = triple_term(A, KNOWS, '"x )>>"@ar--rtl')
NESTED = triple_term("_:n", KNOWS, QUOTED)
MALFORMED = {
    "not-a-term": triple("_:r", REIFIES, f"<<( {A} {KNOWS} )>>"),
    "literal-as-subject": triple(QUOTED, REIFIES, A),
    "predicate-not-an-iri": triple(A, QUOTED, A),
}


def test_triple_terms_from_topic_to_topic(broker, tmp_path):
    """What is derived of them is published, asked for, explained and retracted; others are dead."""
    port = free_port()
    case = new_case(
        broker,
        tmp_path,
        RULES,
        server={"port": port, "facts": True},
    )
    said = [triple("_:r", REIFIES, QUOTED), triple("_:r", f"<{EX}by>", B)]
    # Blanks between tokens, and a capital letter in a tag, are not of the canonical text.
    nested = f'<<(_:n {KNOWS}<<(  {A} {KNOWS} "x )>>"@AR--rtl)>> )>>'
    doubts = (B, f"<{EX}doubts>", triple_term(A, KNOWS, B))
    expected = {("claimed", (B, A)), ("inner", (QUOTED,)), ("triple", doubts)}
    with pipeline(case.config):
        await_published(case, produce(case, [*said, *MALFORMED.values()]))
        await_published(case, produce(case, [triple("_:q", REIFIES, nested)]))
        await_ready(port)
        assert net(changes(case)) == expected
        letters = [dict(each.headers) for each in committed(case, case.kafka.dead_letter_topic)]
        assert sorted(each["class"].decode() for each in letters) == sorted(MALFORMED)

        eventually(lambda: ask(port, "/facts", predicate="inner").json["facts"], [[QUOTED]])
        query = f"SELECT ?o {{ ?r {REIFIES} <<( {A} {KNOWS} ?o )>> }}"
        [row] = ask(port, "/sparql", query=query).json["results"]["bindings"]
        assert row["o"] == {
            "type": "literal", "value": "x )>>", "xml:lang": "ar", "its:dir": "rtl",
        }  # fmt: skip
        query = f"SELECT ?t {{ ?r {REIFIES} ?t FILTER(ISTRIPLE(OBJECT(?t))) }}"
        [row] = ask(port, "/sparql", query=query).json["results"]["bindings"]
        assert row["t"]["value"]["object"]["value"]["subject"] == {"type": "uri", "value": A[1:-1]}
        fact = json.dumps({"predicate": "triple", "args": doubts})
        proof = ask(port, "/explain", fact=fact).body
        assert '<<( ex:a ex:knows "x )>>"@ar--rtl )>>' in proof

        await_published(case, produce(case, [triple("_:r", REIFIES, QUOTED, diff=-1)]))
        assert net(changes(case)) == {("inner", (QUOTED,))}
