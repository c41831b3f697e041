"""An output topic belongs to one application; a second one would publish every fact twice."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from kafka import KafkaProducer
from pipelines import committed, eventually, new_case, open_transaction, produce

from streamreasoner.errors import BrokerError, StateError
from streamreasoner.io.codec.encode import Outgoing
from streamreasoner.io.kafka import progress_topic
from streamreasoner.io.kafka.owners.claims import Claim, check_changes, check_claims
from streamreasoner.io.kafka.progress_topic import ProgressTopic
from streamreasoner.io.kafka.sink import Publication, Sink
from streamreasoner.state.record import EpochRecord


@pytest.fixture
def case(broker, tmp_path):
    """A case whose output topic the tests write to as pipelines do."""
    return new_case(broker, tmp_path, "path(?x, ?y) :- edge(?x, ?y) .\n")


def publish(case, app_id, epochs=1, changes_of_each=1):
    """Publish epochs of an application as a pipeline does."""
    sink = Sink(case.kafka, app_id, 60)
    sink.start()
    for epoch in range(epochs):
        keys = [f"{epoch} {number}".encode() for number in range(changes_of_each)]
        changes = [Outgoing(keys, [b"{}"] * len(keys), [], len(keys))]
        sink.publish(Publication(changes, [], EpochRecord(epoch, {}, "hash")))
    sink.close()
    # A commit returns before its changes are visible; the next start waits until they are.
    sink = Sink(case.kafka, app_id, 60)
    sink.start()
    sink.close()


def check(case, app_id, *, new=False):
    """Check by the changes of the topic whether an application may publish to it."""
    check_changes(case.kafka, Claim(case.kafka.output_topic, "", app_id), new=new)


def test_changes_name_their_application(case):
    """A header of each change names the application that published it."""
    publish(case, "first", changes_of_each=3)
    records = committed(case, case.kafka.output_topic)
    assert [dict(record.headers)["application"] for record in records] == [b"first"] * 3


@pytest.mark.parametrize("changes", [1, 500])
def test_another_application_is_refused_by_the_changes_alone(case, changes):
    """With only the output topic shared, its last changes name the other application."""
    publish(case, "first", changes_of_each=changes)
    topic = case.kafka.output_topic
    with pytest.raises(
        StateError,
        match=rf"application first publishes to the topic {topic}.*offset.*Choose another",
    ):
        check(case, "second", new=True)
    check(case, "first")


def test_the_oldest_change_counts_if_no_change_is_near_the_end(broker, tmp_path):
    """Records of aborted transactions are not changes."""
    case = new_case(broker, tmp_path, "p(?x) :- q(?x) .\n", partitions=1)
    publish(case, "first")
    producer = KafkaProducer(
        bootstrap_servers=case.kafka.bootstrap_servers, transactional_id="aborts"
    )
    producer.init_transactions()
    producer.begin_transaction()
    for _ in range(100):
        producer.send(case.kafka.output_topic, b"{}")
    producer.flush()
    producer.abort_transaction()
    producer.close()
    with pytest.raises(StateError, match="application first"):
        check(case, "second")


def test_an_empty_state_does_not_publish_again(case):
    """Changes of the same application belong to a state that is lost."""
    publish(case, "first")
    with pytest.raises(StateError, match=r"state is empty.*twice.*Restore"):
        check(case, "first", new=True)


def test_foreign_records_are_not_a_claim(case):
    """Changes without the header name no application; an empty topic is free."""
    check(case, "second", new=True)
    produce(case, [b"{}"] * 3, case.kafka.output_topic)
    check(case, "second", new=True)
    publish(case, "first")
    with pytest.raises(StateError, match="application first"):
        check(case, "second")


def test_claims_are_on_the_progress_topic(case):
    """A claim outlives the changes; markers and claims do not disturb each other."""
    claim = Claim(case.kafka.output_topic, "id", "first")
    sink = Sink(case.kafka, "first", 60)
    sink.start()
    sink.claim(claim)
    sink.close()
    publish(case, "first")
    with closing(ProgressTopic(case.kafka, "first")) as progress:
        progress.read_all()
        assert progress.marker() == EpochRecord(0, {}, "hash")
        assert progress.claims == [claim]
        sink = Sink(case.kafka, "second", 60)
        sink.start()
        sink.claim(Claim(case.kafka.output_topic, "id", "second"))
        sink.close()
        progress.read_all()
        assert [claim.app_id for claim in progress.claims] == ["first", "second"]
        assert len({claim.key for claim in progress.claims}) == 2


def test_records_behind_an_open_transaction_are_waited_for(case, caplog):
    """Kafka hides them until the other application ends its transaction."""
    caplog.set_level("INFO")

    def is_told():
        return "Waiting for an open transaction" in caplog.text

    def end_when_told(end):
        eventually(is_told, expected=True)
        end()

    with closing(ProgressTopic(case.kafka, "first")) as progress:
        with open_transaction(case, case.kafka.progress_topic) as end:
            publish(case, "first")
            progress.read()
            assert progress.marker() is None
            ending = threading.Thread(target=end_when_told, args=(end,))
            ending.start()
            progress.read_all()
            ending.join()
        assert progress.marker() == EpochRecord(0, {}, "hash")
    assert is_told()


def test_a_transaction_that_does_not_end_is_named(case, monkeypatch):
    """The message has the command that finds it."""
    monkeypatch.setattr(progress_topic, "_MAX_OPEN_SECONDS", 0.5)
    with (
        open_transaction(case, case.kafka.progress_topic),
        closing(ProgressTopic(case.kafka, "first")) as progress,
        pytest.raises(BrokerError, match=r"has been open for .*kafka-transactions\.sh"),
    ):
        progress.read_all()
    progress.close()


def test_the_oldest_claim_to_a_topic_holds():
    """A later claim stays refused, and a claim to a deleted topic is void."""
    first, second = Claim("out", "1", "first"), Claim("out", "1", "second")
    check_claims(first, [], "progress")
    check_claims(first, [first, second], "progress")
    check_claims(second, [Claim("other", "1", "first"), second], "progress")
    check_claims(Claim("out", "2", "second"), [first, second], "progress")
    for claims in ([first], [first, second]):
        with pytest.raises(StateError, match=r"application first publishes.*topic progress"):
            check_claims(second, claims, "progress")
