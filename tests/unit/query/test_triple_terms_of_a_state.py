"""A copy of a state that follows it answers patterns with triple terms as of each epoch."""

from __future__ import annotations

from streamreasoner import Reasoner
from streamreasoner.history.replica import Replica
from streamreasoner.query.sparql.evaluate import evaluate
from streamreasoner.query.sparql.facts import facts_of_snapshot

PREFIX = "PREFIX : <http://e/> "
QUERY = f"{PREFIX}SELECT ?s ?m ?o {{ ?s ?p <<( ?k ?l <<( ?m ?n ?o )>> )>> }}"


def test_parts_are_found_before_and_after_they_are_terms_of_the_state(tmp_path):
    """Also those of triple terms that no fact has by themselves."""
    reasoner = Reasoner.open(tmp_path, "@input triple/3 .")
    reasoner.update(f"{PREFIX}INSERT DATA {{ :s :p <<( :k :l <<( :m :n :x )>> )>> }}")
    tables = next(path.parent for path in tmp_path.rglob("terms"))
    replica = Replica.open(tables)
    assert answers(replica) == [("<http://e/s>", "<http://e/m>", "<http://e/x>")]
    reasoner.update(
        f"{PREFIX}DELETE DATA {{ :s :p <<( :k :l <<( :m :n :x )>> )>> }} ;"
        "INSERT DATA { :x :p :m . :t :p <<( :k :l <<( :m :n :x )>> )>> }"
    )
    replica.follow()
    assert answers(replica) == [("<http://e/t>", "<http://e/m>", "<http://e/x>")]
    replica.close()


def answers(replica):
    """The solutions of the query in the last epoch."""
    snapshot = replica.snapshot()
    found = [*evaluate(QUERY, facts_of_snapshot(snapshot))]
    snapshot.close()
    return found
