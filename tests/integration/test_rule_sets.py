"""A rule set of SPARQL-RL in a running pipeline."""

from __future__ import annotations

import json
import uuid

from free_ports import free_port
from pipelines import (
    DEADLINE_SECONDS,
    await_published,
    changes,
    eventually,
    net,
    new_case,
    produce,
    triple,
)
from serving import ask, await_ready
from spark_jvm import MARKS
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.service.assemble import pipeline

pytestmark = MARKS

EX = "http://example.org/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
POLICY = f"""
PREFIX ex: <{EX}>
PREFIX rdf: <{RDF}>
IMPORTS <staff.srl>
RULE ex:mayRead {{ ?who ex:mayRead ?doc }}
WHERE {{ ?who ex:worksFor/ex:owns ?doc NOT {{ ?doc ex:private true }} }}
RULE ex:claimed {{ ?s ex:claimed ?o {{| ex:by ?who |}} }}
WHERE DATA {{ ?r rdf:reifies <<( ?s ex:owns ?o )>> ; ex:by ?who }}
"""
STAFF = f"PREFIX ex: <{EX}> DATA {{ ex:alice ex:worksFor ex:acme }}"


def iri(name):
    """An IRI of the example."""
    return f"<{EX}{name}>"


CLAIM = f"<<( {iri('acme')} {iri('owns')} {iri('e')} )>>"
OWNS = (iri("acme"), iri("owns"), iri("d"))
TRIPLES = [
    OWNS,
    (iri("r"), f"<{RDF}reifies>", CLAIM),
    (iri("r"), iri("by"), iri("alice")),
]


def command(case, *arguments):
    """Run a command of `rules`, which has to succeed."""
    wait = ("--wait", "--timeout", str(DEADLINE_SECONDS), "--config", str(case.file))
    result = CliRunner().invoke(app, ["rules", *arguments, *wait])
    assert result.exit_code == 0, result.output


def derived(case):
    """The triples that the output topic sums to."""
    return {fact for _, fact in net(changes(case))}


def test_a_rule_set_is_added_explained_and_removed(broker, tmp_path):
    """Its consequences come to the topic, an explanation has the rule's IRI, and all leave."""
    port = free_port()
    control = {"control_topic": f"control-{uuid.uuid4().hex[:12]}"}
    server = {"port": port, "facts": True}
    case = new_case(broker, tmp_path, "p(1) .\n", rules=control, server=server)
    policy = case.directory / "policy.srl"
    policy.write_text(POLICY)
    (case.directory / "staff.srl").write_text(STAFF)
    with pipeline(case.config):
        await_published(case, produce(case, [triple(*each) for each in TRIPLES]))
        command(case, "add", str(policy))
        found = derived(case)
        reads = (iri("alice"), iri("mayRead"), iri("d"))
        assert {reads, (iri("acme"), iri("claimed"), iri("e"))} < found
        assert len(found) == 5
        (node,) = {subject for subject, verb, _ in found if verb == f"<{RDF}reifies>"}
        assert (node, iri("by"), iri("alice")) in found
        await_ready(port)
        fact = json.dumps(dict(zip("spo", reads, strict=True)))
        eventually(lambda: f"{EX}mayRead" in ask(port, "/explain", fact=fact).body, True)  # noqa: FBT003
        await_published(case, produce(case, [triple(*OWNS, diff=-1)]))
        assert reads not in derived(case)
        await_published(case, produce(case, [triple(*OWNS)]))
        assert derived(case) == found
        command(case, "remove", str(policy))
        assert derived(case) == set()
