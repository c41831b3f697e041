"""Input of every malformed kind, between good input, on a real pipeline."""

from __future__ import annotations

from control_builders import CONTROL_REASONS
from kafka import KafkaAdminClient
from pipelines import await_published, changes, committed, fact, net, new_case, produce, triple
from spark_jvm import MARKS

from streamreasoner.io.formats.rejected import Reason
from streamreasoner.io.kafka.topics import create_topics
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
[?x, <http://example.org/q>, ?y] :- [?x, <http://example.org/p>, ?y] .
within(?x, ?g) :- quad(?x, _, _, ?g) .
!loop(?x) :- edge(?x, ?x) .
[?x, ?b, ?y] :- [?x, ?a, ?y], [?a, <http://example.org/under>, ?b] .
[?x, <http://example.org/may>, ?y] :- path(?x, ?y), not [?x, <http://example.org/mayNot>, _] .
"""
CIRCULAR = b"""<http://example.org/may> <http://example.org/under> <http://example.org/mayNot> .
<http://example.org/may> <http://example.org/under> <http://example.org/can> .
"""

MAY = "<http://example.org/may>"
S, P, OBJECT = "<http://example.org/s>", "<http://example.org/p>", "<http://example.org/o>"

MALFORMED = {
    "no value": (None, Reason.EMPTY_VALUE),
    "empty value": (b"", Reason.NOT_JSON),
    "too long": (triple(S, P, '"' + "x" * 950_000 + '"'), Reason.OVERSIZED),
    "a term too long": (triple(S, P, '"' + "x" * 200_000 + '"'), Reason.OVERSIZED_TERM),
    "another content type": (
        (triple(S, P, OBJECT), [("content-type", b"text/plain")], None),
        Reason.CONTENT_TYPE,
    ),
    "a bad line": (
        (f"{S} {P} .".encode(), [("content-type", b"application/n-triples")], None),
        Reason.MALFORMED_LINE,
    ),
    "rows without a mapping": (
        (b"id,name\n1,x\n", [("content-type", b"text/csv")], None),
        Reason.NO_MAPPING,
    ),
    "a bad document": (
        (f"{S} {P}".encode(), [("content-type", b"text/turtle")], None),
        Reason.MALFORMED_DOCUMENT,
    ),
    "not UTF-8": (b'{"s":"\xff\xfe"}', Reason.NOT_UTF8),
    "not JSON": (b"{s:1}", Reason.NOT_JSON),
    "cut short": (triple(S, P, OBJECT)[:-5], Reason.NOT_JSON),
    "two documents": (triple(S, P, OBJECT) * 2, Reason.NOT_JSON),
    "nested too deeply": (b"[" * 100_000, Reason.NOT_JSON),
    "raw NUL": (b'{"s":"\0"}', Reason.NOT_JSON),
    "half a surrogate pair": (
        b'{"s":"<http://e/\\ud800>","p":"<http://e/p>","o":"<http://e/o>","diff":1}',
        Reason.LONE_SURROGATE,
    ),
    "an array": (b"[1]", Reason.NOT_AN_OBJECT),
    "a string": (b'"<http://e/s>"', Reason.NOT_AN_OBJECT),
    "unknown field": (triple(S, P, OBJECT, graph="<http://e/g>"), Reason.UNKNOWN_FIELD),
    "no object": (b'{"s":"<http://e/s>","p":"<http://e/p>","diff":1}', Reason.MISSING_FIELD),
    "no diff": (b'{"predicate":"edge","args":["<http://e/s>",1]}', Reason.MISSING_FIELD),
    "both shapes": (triple(S, P, OBJECT, predicate="edge", args=[]), Reason.MIXED_SHAPES),
    "number as subject": (triple(1, P, OBJECT), Reason.WRONG_TYPE),
    "null argument": (fact("edge", S, None), Reason.WRONG_TYPE),
    "nested argument": (fact("edge", S, [OBJECT]), Reason.WRONG_TYPE),
    "diff as text": (triple(S, P, OBJECT, diff="1"), Reason.WRONG_TYPE),
    "diff with a fraction": (triple(S, P, OBJECT, diff=1.5), Reason.WRONG_TYPE),
    "diff as boolean": (triple(S, P, OBJECT, diff=True), Reason.WRONG_TYPE),
    "infinite number": (
        b'{"predicate":"edge","args":["<http://e/s>",1e999],"diff":1}',
        Reason.NUMBER_OUT_OF_RANGE,
    ),
    "diff zero": (triple(S, P, OBJECT, diff=0), Reason.DIFF_ZERO),
    "diff too large": (triple(S, P, OBJECT, diff=1_000_001), Reason.DIFF_OUT_OF_RANGE),
    "diff of many digits": (triple(S, P, OBJECT, diff=10**40), Reason.DIFF_OUT_OF_RANGE),
    "time without zone": (triple(S, P, OBJECT, ts="2026-01-01T00:00:00"), Reason.BAD_TIMESTAMP),
    "no such day": (triple(S, P, OBJECT, ts="2026-02-30T00:00:00Z"), Reason.BAD_TIMESTAMP),
    "time after year 9999": (triple(S, P, OBJECT, ts=10**15), Reason.BAD_TIMESTAMP),
    "a violation": (fact("loop", S), Reason.CONSTRAINT),
    "unknown predicate": (fact("edgy", S, OBJECT), Reason.UNKNOWN_PREDICATE),
    "wrong arity": (fact("edge", S), Reason.WRONG_ARITY),
    "bare word": (triple("s", P, OBJECT), Reason.NOT_A_TERM),
    "empty term": (triple("", P, OBJECT), Reason.NOT_A_TERM),
    "relative IRI": (triple("<s>", P, OBJECT), Reason.INVALID_IRI),
    "IRI with a blank": (triple("<http://e/a b>", P, OBJECT), Reason.INVALID_IRI),
    "IRI as injection": (triple(S, P, "<http://e/o> . <http://e/x>"), Reason.INVALID_IRI),
    "blank node without label": (triple("_:", P, OBJECT), Reason.INVALID_BLANK_NODE),
    "open literal": (triple(S, P, '"abc'), Reason.INVALID_LITERAL),
    "bad language tag": (triple(S, P, '"abc"@1'), Reason.INVALID_LITERAL),
    "bad escape": (triple(S, P, r'"a\qb"'), Reason.INVALID_LITERAL),
    "literal as subject": (triple('"s"', P, OBJECT), Reason.SUBJECT_KIND),
    "literal as predicate": (triple(S, '"p"', OBJECT), Reason.PREDICATE_KIND),
    "literal as graph": (fact("quad", S, P, S, '"g"'), Reason.GRAPH_KIND),
    "blank node as predicate": (triple(S, "_:p", OBJECT), Reason.PREDICATE_KIND),
}


ENDS = [
    *(f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>' for n in range(len(MALFORMED) + 1)),
    r'"a\u0000b"',
]
"""The ends of all edges."""
ELSEWHERE = {Reason.NO_KEY, Reason.RETRACTION, Reason.EXPIRING, Reason.UNKNOWN_SCHEMA}
"""Reasons for messages of topics with keys, which are tested with the codec of their messages, and
of those with a schema registry, which are tested with one."""
TOO_LATE = (253_402_300_800_000, 2**62)
"""Kafka timestamps in the year 10000, and beyond Spark's range."""


def timeless_case(broker, directory):
    """A case whose input topic takes any timestamp, as brokers before Kafka 4 do."""
    case = new_case(broker, directory, RULES, topics=False)
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    configs = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    topic = {"num_partitions": 2, "replication_factor": 1, "configs": configs}
    admin.create_topics({case.kafka.input_topics[0]: topic}, wait_for_metadata=True)
    admin.close()
    create_topics(case.kafka, 2, 1)
    return case


def test_malformed_input_goes_to_the_dead_letter_topic(broker, tmp_path):
    """Every malformed message goes there raw, with its reason and place; the rest is evaluated."""
    case = timeless_case(broker, tmp_path)
    key = b"\x00any key\xff"
    messages, kinds = [], []
    for number, (value, reason) in enumerate(MALFORMED.values()):
        message = value if isinstance(value, tuple) else (value, [("trace-id", b"7")], key)
        messages += [message, fact("edge", S, number)]
        kinds += [(message, reason), None]
    with pipeline(case.config):
        # What is odd, and is taken: the character NUL, and a document without triples.
        messages += [fact("edge", S, '"a\0b"'), (b"", [("content-type", b"text/turtle")], None)]
        kinds += [None, None]
        sent = produce(case, messages)
        await_published(case, sent)
        # After the others: Spark cannot deliver a batch with the second timestamp.
        late = [(fact("edge", S, time), [("trace-id", b"7")], key, time) for time in TOO_LATE]
        kinds += [(message[:3], Reason.BAD_TIMESTAMP) for message in late]
        circular = CIRCULAR, [("content-type", b"application/n-triples")], key
        kinds += [(circular, Reason.EPOCH_FAILED), None]
        sent += produce(case, [*late, circular, fact("edge", S, len(MALFORMED))])
        await_published(case, sent)
    assert (
        {changed for changed, *_ in changes(case)}
        == net(changes(case))
        == {derived for end in ENDS for derived in (("path", (S, end)), ("triple", (S, MAY, end)))}
    )
    letters = {
        (int(headers["partition"]), int(headers["offset"])): (record, headers)
        for record in committed(case, case.kafka.dead_letter_topic)
        if (headers := dict(record.headers))
    }
    assert len(letters) == len(committed(case, case.kafka.dead_letter_topic)) == len(MALFORMED) + 3
    for record, kind in zip(sent, kinds, strict=True):
        if kind is None:
            assert (record.partition, record.offset) not in letters
            continue
        (value, headers_sent, message_key), reason = kind
        letter, headers = letters[record.partition, record.offset]
        assert headers["class"].decode() == reason.value, headers
        assert headers["topic"].decode() == case.kafka.input_topics[0]
        assert headers["reason"].decode()
        assert letter.value == value
        assert letter.key == message_key
        assert letter.headers[: len(headers_sent)] == headers_sent
    (why,) = (h["reason"].decode() for _, h in letters.values() if h["class"] == b"epoch-failed")
    assert "needs not [_, <http://example.org/mayNot>, _]" in why
    assert "by [<http://example.org/may>, <http://example.org/under>," in why
    assert {reason for _, reason in MALFORMED.values()} == set(Reason) - CONTROL_REASONS - ELSEWHERE
