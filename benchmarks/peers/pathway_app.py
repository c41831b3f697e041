"""Types and their superclasses, from Kafka to Kafka with Pathway: a join and a distinct.

    python pathway_app.py SERVERS INPUT OUTPUT SCHEMA.nt COMMIT_MILLISECONDS

Messages in and out are JSON; one that goes out has its subject as its key. Runs without the
project, in an environment that has Pathway.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pathway as pw

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUBCLASS = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"


class Triple(pw.Schema):
    """A message."""

    s: str
    p: str
    o: str


class Edge(pw.Schema):
    """A class below another one, directly or not."""

    below: str
    above: str


def main() -> None:
    """Run until the process is ended."""
    servers, source, target, schema, commit = sys.argv[1:]
    read = {
        "bootstrap.servers": servers,
        "group.id": f"pathway-{target}",
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": "5",
    }
    triples = pw.io.kafka.read(
        read, topic=source, schema=Triple, format="json", autocommit_duration_ms=int(commit)
    )
    classes = pw.debug.table_from_rows(Edge, sorted(hierarchy(Path(schema).read_text("utf-8"))))
    types = triples.filter(pw.this.p == TYPE)
    found = types.join(classes, types.o == classes.below).select(types.s, o=classes.above)
    result = found.groupby(pw.this.s, pw.this.o).reduce(pw.this.s, pw.this.o)
    write = {"bootstrap.servers": servers, "linger.ms": "0"}
    pw.io.kafka.write(result, write, topic_name=target, format="json", key=result.s)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def hierarchy(text: str) -> set[tuple[str, str]]:
    """The transitive closure of the subclasses between IRIs in N-Triples."""
    pattern = rf"^(\S+) {re.escape(SUBCLASS)} (<\S+>) \.$"
    edges = set(re.findall(pattern, text, re.MULTILINE))
    while more := {(a, d) for a, b in edges for c, d in edges if b == c} - edges:
        edges |= more
    return edges


if __name__ == "__main__":
    main()
