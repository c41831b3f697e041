"""The server: each answer is of one whole epoch that it names, and every mistake has an answer."""

from __future__ import annotations

import base64
import http.client
import json
import threading
import time
from contextlib import closing
from datetime import timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from serving import ask, configuration, events, serving
from stored_epochs import BEGINNING, StoredReasoner
from thorough import THOROUGH

from streamreasoner.config.secrets import Secret
from streamreasoner.errors import ConfigError, EnvironmentSetupError
from streamreasoner.facts import Fact
from streamreasoner.server.listening import listen
from streamreasoner.server.web import following
from streamreasoner.server.web.negotiation import preferred
from streamreasoner.server.web.routes import changes
from streamreasoner.state.maintenance.prune import prune

EX = "<http://example.org/{}>".format
RULES = """@prefix ex: <http://example.org/> .
@input edge/2, node/1 .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
[?x, ex:reaches, ?y] :- path(?x, ?y), not node(?x) .
least(?x, min(?y)) :- path(?x, ?y) .
"""
NODES = [EX(name) for name in "abcd"]


def chain(directory, nodes=NODES):
    """Tables in which each epoch but the last adds an edge of a chain, and the last removes one."""
    with closing(StoredReasoner(directory, RULES, closure=True)) as stored:
        edges = list(pairwise(nodes))
        for edge in edges:
            stored.run([("edge", edge, 1)])
        stored.run([("edge", edges[0], -1)])
    return stored


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A server of the chain, whose last epoch is 3."""
    directory = tmp_path_factory.mktemp("chain")
    chain(directory)
    with serving(directory) as found:
        yield found


@settings(
    max_examples=20 if THOROUGH else 2,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from([-1, 1])),
            max_size=4,
        ),
        min_size=1,
        max_size=12,
    )
)
def test_each_answer_is_what_held_at_the_epoch_it_names(tmp_path_factory, epochs):
    """While epochs come, clients that ask all the time get facts, proofs and changes of each."""
    directory = tmp_path_factory.mktemp("law")
    with closing(StoredReasoner(directory, RULES, closure=True)) as stored:
        stored.run([("edge", (NODES[0], NODES[1]), 1)])
        with serving(directory) as port:
            clients = Clients(port, len(epochs) + 1)
            for edges in epochs:
                stored.run([("edge", (x, y), sign) for x, y, sign in edges])
            stored.run([("node", (EX("end"),), 1)])
            clients.stop()
    assert clients.answers
    for epoch, predicate, facts in clients.answers:
        held = {fact.arguments for fact in stored.present[epoch] if fact.predicate == predicate}
        assert set(map(tuple, facts)) == held
        assert len(facts) == len(held)
    assert clients.proofs
    for epoch, is_proof in clients.proofs:
        assert is_proof == (Fact("path", (NODES[0], NODES[1])) in stored.present[epoch])
    check_changes(clients.events, stored.present)


class Clients:
    """Clients that ask all the time: for facts, for a proof, and for changes up to an epoch.

    Attributes:
        answers: Epoch, predicate and facts.
        proofs: Epoch, and whether path(a, b) is proved.
        events: The events of changes.
    """

    def __init__(self, port, last):
        self.port, self.last = port, last
        self.answers, self.proofs, self.events = [], [], []
        self.stopping = threading.Event()
        targets = [(self.ask, "path"), (self.ask, "least"), (self.doubt,), (self.follow,)]
        self.threads = [threading.Thread(target=each, args=args) for each, *args in targets]
        for thread in self.threads:
            thread.start()

    def ask(self, predicate):
        """Ask for the facts of a predicate."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port)) as connection:
            while not self.stopping.is_set():
                answer = ask(self.port, "/facts", connection=connection, predicate=predicate)
                assert answer.json["epoch"] == answer.epoch
                self.answers.append((answer.epoch, predicate, answer.json["facts"]))

    def doubt(self):
        """Ask why path(a, b) holds."""
        while not self.stopping.is_set():
            answer = ask(self.port, "/explain", fact="path(ex:a, ex:b)", format="json")
            self.proofs.append((answer.epoch, "steps" in answer.json))

    def follow(self):
        """Follow the changes."""
        for event in events(self.port, **{"from": 0}):
            self.events.append(event)
            if event["id"] >= self.last:
                return

    def stop(self):
        """End when all have seen the last epoch."""
        self.threads[-1].join()
        while max(epoch for epoch, *_ in [*self.answers, (0,)]) < self.last:
            time.sleep(0.01)
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def check_changes(found, present):
    """The events add up to what was present at the end of each epoch."""
    by_epoch = {event["id"]: event["changes"] for event in found}
    assert list(by_epoch) == sorted(by_epoch)
    assert len(by_epoch) == len(found)
    before = set()
    for epoch, facts in enumerate(present):
        now = {(fact.predicate, fact.arguments) for fact in facts}
        changed = {
            (each["predicate"], tuple(each["args"]), each["diff"])
            for each in by_epoch.get(epoch, ())
        }
        come, gone = ({(*fact, 1) for fact in now - before}, {(*f, -1) for f in before - now})
        assert changed == come | gone
        before = now


def test_facts_come_in_every_format(port):
    """By `Accept` or `format`, all with the same facts; pages follow each other."""
    found = ask(port, "/facts", predicate="path")
    pairs = [(x, y) for i, x in enumerate(NODES[1:]) for y in NODES[i + 2 :]]
    assert sorted(map(tuple, found.json["facts"])) == sorted(pairs)
    assert found.json["time"] == found.headers["streamreasoner-time"] == "2026-01-01T03:00:00.000Z"
    lines = ask(port, "/facts", headers={"Accept": "application/jsonl"}, predicate="path").body
    assert [tuple(json.loads(line)["args"]) for line in lines.splitlines()] == [
        tuple(row) for row in found.json["facts"]
    ]
    assert ask(port, "/facts", predicate="edge", format="text").body == (
        "edge(ex:b, ex:c)\nedge(ex:c, ex:d)\n"
    )
    csv = ask(port, "/facts", predicate="edge", format="csv")
    assert csv.body == f"{EX('b')},{EX('c')}\r\n{EX('c')},{EX('d')}\r\n"
    triples = ask(port, "/facts", pattern="[ex:b, ?p, ?y]", format="ntriples").body
    assert triples.splitlines() == [f"{EX('b')} {EX('reaches')} {EX(y)} ." for y in "cd"]
    pages, target = [], "/facts?predicate=path&limit=2"
    while target is not None:
        page = ask(port, target)
        pages += page.json["facts"]
        target = page.headers.get("link", "<>").partition("<")[2].partition(">")[0] or None
    assert pages == found.json["facts"]


def test_predicates_and_rules_are_listed(port):
    """`/facts` has the number of facts of each predicate, `/rules` the program with its hash."""
    listed = ask(port, "/facts").json["predicates"]
    assert {each["predicate"]: each["facts"] for each in listed} == {
        "edge": 2, "least": 2, "node": 0, "path": 3, "triple": 3,
    }  # fmt: skip
    program = ask(port, "/rules").json
    assert (program["since"], program["epoch"]) == (-1, 3)
    assert len(program["hash"]) == 64
    assert program["text"] == ask(port, "/rules", headers={"Accept": "text/*"}).body
    assert {"predicate": "edge", "arity": 2, "input": True, "published": True,
            "constraint": False} in program["predicates"]  # fmt: skip


def test_explanations_are_those_of_the_command(port):
    """A proof or what is missing, as text, JSON, SVG and DOT; a message names a fact too."""
    text = ask(port, "/explain", fact="path(ex:b, ex:d)")
    assert text.body.startswith("path(ex:b, ex:d)\n│ program in effect:4:")
    message = json.dumps({"predicate": "path", "args": [EX("b"), EX("d")], "diff": 1})
    assert ask(port, "/explain", fact=message).body == text.body
    absent = ask(port, "/explain", fact="path(ex:a, ex:d)").body
    assert absent.startswith("path(ex:a, ex:d) is absent")
    beaten = ask(port, "/explain", fact="least(ex:b, ex:d)").body
    assert "least(ex:b, ex:c) is the better candidate" in beaten
    proof = ask(port, "/explain", fact="path(ex:b, ex:d)", format="json").json
    assert proof["epoch"] == 3
    for name, start in [("svg", "<svg"), ("dot", "digraph"), ("prov", "VERSION")]:
        assert ask(port, "/explain", fact="path(ex:b, ex:d)", format=name).body.startswith(start)
    turtle = ask(port, "/explain", fact="path(ex:b, ex:d)", headers={"Accept": "text/turtle"})
    assert turtle.body.startswith("VERSION")
    assert "is not present" in ask(port, "/explain", fact="path(ex:a, ex:d)", format="prov").body
    assert "is cut off here" in ask(port, "/explain", fact="path(ex:b, ex:d)", depth=0).body


@pytest.mark.parametrize(
    ("path", "query", "status", "says"),
    [
        (
            "/facts",
            {"predicate": "pth"},
            404,
            "At epoch 3: The program has no predicate 'pth'. Did you mean 'path'?",
        ),
        ("/facts", {"pattern": "path(ex:a"}, 400, "SR102"),
        ("/facts", {"pattern": "path(ex:a)"}, 400, "has 2 arguments in the program, not 1"),
        ("/facts", {"predicate": "path", "pattern": "path"}, 400, "leave one out"),
        ("/facts", {"predicate": "path", "limit": "0"}, 400, "from 1 to 100000"),
        ("/facts", {"predicate": "path", "after": "x"}, 400, "after=x is not what an answer gave"),
        ("/facts", {"predicate": "path", "after": "1"}, 400, "path has 2 arguments"),
        ("/facts", {"predicate": "path", "format": "xml"}, 400, "use one of json, json-lines"),
        ("/facts", {"predicate": "path", "format": "ntriples"}, 400, "Use json or json-lines"),
        ("/facts", {"predicat": "path"}, 400, "The parameter predicat is unknown here"),
        ("/explain", {}, 400, "fact= is missing"),
        ("/explain", {"fact": "path(ex:a, ?x)"}, 400, "variable '?x' in a fact"),
        ("/explain", {"fact": '{"no": 1}'}, 400, "The message contains no fact"),
        ("/changes", {"from": "9"}, 400, "later than the last epoch, 3"),
        ("/changes", {"from": "-1"}, 400, "not an epoch"),
        ("/profile", {"epochs": "257"}, 400, "epochs=257 is not a whole number from 1 to 256"),
        ("/profile", {"epoch": "7"}, 400, "The parameter epoch is unknown here; there is epochs"),
        ("/profile", {}, 404, "This server reads tables only, without a pipeline"),
        ("/dead-letters", {}, 404, "(server.facts = true) for /dead-letters"),
        ("/sesame", {}, 404, "There is no /sesame. Paths: /, /facts"),
    ],
)
def test_a_mistake_is_answered_with_what_to_do(port, path, query, status, says):
    """As text, and as a problem document for clients of JSON; never with a traceback."""
    found = ask(port, path, **query)
    assert (found.status, says in found.body) == (status, True), found.body
    document = ask(port, path, headers={"Accept": "application/json"}, **query)
    assert document.headers["content-type"] == "application/problem+json"
    assert says in document.json["detail"]


def test_the_server_measures_itself(port):
    """In both formats of Prometheus, by path and status; its own parser reads them."""
    assert ask(port, "/explain").status == 400
    text = ask(port, "/metrics").body
    open_metrics = ask(port, "/metrics", headers={"Accept": "application/openmetrics-text"})
    assert open_metrics.body.endswith("# EOF\n")
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["streamreasoner_server_epoch",] == 3
    assert found["streamreasoner_server_following",] == 1
    assert found["streamreasoner_server_answers_total", "/explain", "400"] >= 1


def test_nothing_is_written_and_nothing_unacceptable_sent(port):
    """Other methods are refused, and so is an `Accept` that nothing can be sent for."""
    assert ask(port, "/facts", method="POST").status == 405
    assert ask(port, "/facts", method="HEAD").status == 200
    assert ask(port, "/facts", headers={"Accept": "image/png"}, predicate="path").status == 406
    assert ask(port, "/rules", headers={"Accept": "text/*;q=0"}).status == 406


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "a/x"),
        ("*/*", "a/x"),
        ("b/*, a/x;q=0.5", "b/y"),
        ("a/*;q=0.2, */*;q=0.1", "a/x"),
        ("B/Y", "b/y"),
        ("a/*, a/x;q=0", None),
        ("c/z;q=nonsense, b/y;q=0.1", "b/y"),
        ("*/*, a/x;q=0", "b/y"),
        ("c/z", None),
    ],
)
def test_the_type_that_a_client_prefers_is_sent(accept, expected):
    """The most exact range of a type decides its weight (RFC 9110, 12.5.1)."""
    assert preferred(accept, ["a/x", "b/y"]) == expected


def test_changes_go_on_after_the_last_event(port):
    """From an epoch, after an id, and of some predicates."""
    assert [event["id"] for event in islice(events(port, **{"from": 1}), 3)] == [1, 2, 3]
    resumed = events(port, headers={"Last-Event-ID": "1"}, **{"from": 0})
    assert [event["id"] for event in islice(resumed, 2)] == [2, 3]
    shown = list(islice(events(port, **{"from": 0, "predicate": ["edge", "least"]}), 4))
    assert {each["predicate"] for event in shown for each in event["changes"]} == {"edge", "least"}


def test_changes_that_are_gone_are_refused(tmp_path, monkeypatch):
    """An epoch before those retained is refused by name; one with too many changes says so."""
    chain(tmp_path)
    with closing(StoredReasoner(tmp_path, RULES)) as stored:
        table = stored.tables._tables["changes"]  # noqa: SLF001 - what maintenance works on
        prune(table, BEGINNING + timedelta(hours=2), 3)
    monkeypatch.setattr(changes, "MOST_CHANGES", 1)
    with serving(tmp_path) as port:
        refused = ask(port, "/changes", **{"from": 1})
        assert refused.status == 410
        assert "they begin with epoch 2. Read /facts" in refused.body
        event = next(events(port, **{"from": 2}))
        assert (event["changes"], event["omitted"] > 1) == ([], True)


def test_an_epoch_of_the_past_is_served(tmp_path):
    """With `at` the answers stay; a stream of changes ends there, and is not begun again."""
    chain(tmp_path)
    with serving(tmp_path, 1) as port:
        assert ask(port, "/rules").epoch == 1
        assert [event["id"] for event in events(port, **{"from": 0})] == [0, 1]
        assert ask(port, "/changes", headers={"Last-Event-ID": "1"}).status == 204


def test_a_state_that_is_not_there_yet_is_waited_for(tmp_path):
    """The server answers before there is a state, and from its first epoch on for facts."""
    with serving(tmp_path, ready=False) as port:
        assert ask(port, "/healthz").status == 200
        assert ask(port, "/readyz").status == 503
        early = ask(port, "/facts")
        assert (early.status, early.headers["retry-after"]) == (503, "5")
        chain(tmp_path)
        while ask(port, "/readyz").body != "ok: epoch 3\n":
            time.sleep(0.05)


def test_a_state_without_an_epoch_is_said_to_be_new(tmp_path, caplog):
    """Nothing has failed: the log and the answer say from when on questions are answered."""
    StoredReasoner(tmp_path, RULES).close()
    said = "The state has no complete epoch yet. Questions are answered from its first epoch on."
    with caplog.at_level("INFO"), serving(tmp_path, ready=False) as port:
        while (answer := ask(port, "/readyz").body) != f"{said}\n":
            assert "loaded" in answer
            time.sleep(0.05)
    assert said in caplog.messages


def test_a_password_guards_all_but_health(tmp_path):
    """Without it, with a wrong one and with nonsense: 401; supervisors need none."""
    chain(tmp_path)
    good = base64.b64encode("reader:péss".encode()).decode()
    login = {"Authorization": f"Basic {good}"}
    with serving(tmp_path, headers=login, user="reader", password=Secret("péss")) as port:
        for headers in ({}, {"Authorization": "Basic eDp5"}, {"Authorization": "Basic é"},
                        {"Authorization": f"Bearer {good}"}):  # fmt: skip
            refused = ask(port, "/facts", headers=headers)
            assert refused.status == 401
            assert refused.headers["www-authenticate"].startswith("Basic realm=")
        assert ask(port, "/facts", headers=login).status == 200
        assert ask(port, "/healthz").status == 200


def test_a_page_of_another_site_cannot_ask(port):
    """A name that is made to point to this machine is refused; addresses and localhost are not."""
    for host, status in [("evil.example:80", 403), (f"127.0.0.1:{port}", 200), ("[::1]", 200),
                         ("localhost", 200)]:  # fmt: skip
        assert ask(port, "/rules", headers={"Host": host}).status == status


def test_a_question_that_takes_too_long_is_refused(tmp_path, monkeypatch):
    """The limit is named; so is that of questions that wait."""
    chain(tmp_path)
    with serving(tmp_path, question_timeout=0.1) as port:
        with monkeypatch.context() as patch:
            patch.setattr(following, "WAITING", -following.QUESTIONS)
            refused = ask(port, "/rules")
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        big = "WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t"
        monkeypatch.setattr(
            "streamreasoner.history.replica.snapshot.Snapshot.count",
            lambda self, _: self.query(big),
        )
        slow = ask(port, "/facts")
        assert slow.status == 503
        assert "longer than 0.1 s (server.question_timeout)" in slow.body


def test_a_server_that_cannot_start_says_why(tmp_path, port):
    """A port in use, and files that are not certificates, are named with their keys."""
    with pytest.raises(EnvironmentSetupError, match=rf"127\.0\.0\.1:{port} .*server\.port"):
        listen(configuration(port=port))
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    with pytest.raises(ConfigError, match=r"wrong\.pem .*server\.certificate_file"):
        listen(configuration(certificate_file=wrong, key_file=wrong))
