"""The rules and shapes of Brick and of 223P on a model of a building, next to pySHACL.

    python benchmarks/brick.py [--ontologies FOLDER] [--rooms 20] [--limit 3600] [--json FILE]

The folder is `ontologies/1.5` of the package `brickschema` (0.8.0), where Brick has 6,074 rules of
triples; nothing of the package is imported, so it needs none of its dependencies. The models are
made up. An ontology is both the shapes and a part of the data, as its users have it. Each engine
infers until nothing is new and validates, in a process of its own; pySHACL repeats its rules, as
they depend on each other. The triples without blank nodes, the number of all triples and the number
of results are compared. Times are processor seconds; an edit is one triple that comes or goes, the
median of ten. Claim: an edit takes at most a hundredth of what pySHACL takes to infer.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pyshacl
import rdflib
from rdflib import RDF, SH

from benchmarks import harness
from benchmarks.driver import cpu
from streamreasoner import Reasoner, Update
from streamreasoner.api.nodes import to_ntriples
from streamreasoner.rdf.term_kind import is_blank_node

if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.connection import Connection

MOST = 0.01  # the claim
EDITS = 5
PASSES = 10
HERE = rdflib.Namespace("http://example.org/building#")


@dataclass(frozen=True, slots=True)
class Ontology:
    """An ontology with rules and shapes.

    Attributes:
        file: Its path in the folder of ontologies.
        namespace: Of its classes and properties.
        room: A room of the model, in Turtle, where `N` is its number.
        edit: The property of the triple that comes and goes, from one `:box` to the next `:room`.
    """

    file: str
    namespace: rdflib.Namespace
    room: str
    edit: str


ONTOLOGIES = {
    "Brick": Ontology(
        "Brick.ttl",
        rdflib.Namespace("https://brickschema.org/schema/Brick#"),
        """
:roomN a o:HVAC_Zone .
:boxN a o:Variable_Air_Volume_Box ; o:feeds :roomN ; o:hasPoint :temperatureN .
:temperatureN a o:Zone_Air_Temperature_Sensor .
:supplyN a o:Supply_Air_Temperature_Sensor ; o:isPointOf :boxN .
:meterN a o:Electrical_Meter ; o:meters :building .
""",
        "feeds",
    ),
    "223P": Ontology(
        "extensions/223p.ttl",
        rdflib.Namespace("http://data.ashrae.org/standard223#"),
        """
:boxN a o:TerminalUnit ; o:hasConnectionPoint :inN ; o:contains :fanN ; o:hasProperty :flowN .
:inN a o:InletConnectionPoint ; o:hasMedium o:Fluid-Air .
:ductN a o:Duct ; o:hasMedium o:Fluid-Air ; o:connectsAt :inN , :outN .
:outN a o:OutletConnectionPoint ; o:hasMedium o:Fluid-Air ; o:isConnectionPointOf :sourceN .
:sourceN a o:AirHandlingUnit .
:fanN a o:Fan .
:flowN a o:QuantifiableObservableProperty .
:roomN a o:PhysicalSpace .
""",
        "hasPhysicalLocation",
    ),
}


def main() -> int:
    """Measure, print the tables, and fail if results differ or the claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--ontologies", type=Path, default=packaged(), metavar="FOLDER")
    arguments.add_argument("--rooms", type=int, default=20)
    arguments.add_argument("--limit", type=float, default=3600, help="seconds of pySHACL at most")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    if options.ontologies is None or not options.ontologies.exists():
        print(
            "The ontologies are absent. Install the package that has them by `pip install"
            " --no-deps brickschema==0.8.0`, or name the folder of its Brick.ttl by --ontologies.",
            file=sys.stderr,
        )
        return harness.ABSENT
    figures = harness.machine() | {"tables": []}
    failed = False
    for name, ontology in ONTOLOGIES.items():
        shapes = options.ontologies / ontology.file
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.ttl"
            model.write_text(building(ontology, options.rooms), encoding="utf-8")
            own = harness.apart(ours, shapes, model, name)
            peer = within(options.limit, shapes, model)
        figures["tables"].append(table(name, own, peer, options.limit))
        figures[name] = {"streamreasoner": own, "pySHACL": peer}
        if peer:
            failed |= own["edit"] > MOST * peer["infer"]
            failed |= any(own[key] != peer[key] for key in ("triples", "named", "results"))
    harness.save(options.json, figures)
    return int(failed)


def table(name: str, own: dict[str, Any], peer: dict[str, Any], limit: float) -> dict[str, Any]:
    """The table of an ontology."""
    rows = [
        (title, own[step], peer.get(step, ""), peer[step] / own[step] if step in peer else "")
        for step, title in (
            ("compile", "read the shapes"),
            ("infer", "read the data, and infer"),
            ("validate", "validate"),
            ("edit", "one triple comes or goes"),
        )
    ]
    note = "" if peer else f"pySHACL has not ended within {limit:,.0f} seconds."
    triples, results = own["triples"], own["results"]
    title = f"{name}: {own['rules']:,} rules, {triples:,} triples, {results:,} results; CPU s"
    return harness.print_table(title, ("step", "streamreasoner", "pySHACL", "ratio"), rows, note)


def packaged() -> Path | None:
    """The ontologies in the package `brickschema`, which is found without being imported."""
    found = importlib.util.find_spec("brickschema")
    folders = (found.submodule_search_locations or []) if found is not None else []
    return next((Path(each) / "ontologies/1.5" for each in folders), None)


def building(ontology: Ontology, rooms: int) -> str:
    """A model of a building, in Turtle."""
    head = f"@prefix o: <{ontology.namespace}> .\n@prefix : <{HERE}> .\n"
    parts = (ontology.room.replace("N ", f"{n} ") for n in range(rooms))
    return head + "".join(parts)


def outcome(triples: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """The number of triples, and a digest of those without blank nodes."""
    rows = sorted(triples)
    named = (" ".join(row) for row in rows if not any(map(is_blank_node, row)))
    return {"triples": len(rows), "named": sha256("\n".join(named).encode()).hexdigest()}


def ours(shapes: Path, model: Path, name: str) -> dict[str, Any]:
    """What streamreasoner takes."""
    ontology = ONTOLOGIES[name]
    made: list[Reasoner] = []
    found: dict[str, Any] = {"compile": cpu(lambda: made.append(Reasoner.from_rules(shapes)))}
    [reasoner] = made
    found["rules"] = len(reasoner.program.rules)
    found["infer"] = cpu(lambda: reasoner.load(shapes, model))
    rows = reasoner.facts().to_arrow().to_pylist()
    found |= outcome((row["s"], row["p"], row["o"]) for row in rows)
    found["validate"] = cpu(reasoner.validate)
    found["results"] = len(reasoner.validate().results)
    edits = [
        Update.triple(
            HERE[f"box{number}"], ontology.namespace[ontology.edit], HERE[f"room{number + 1}"], sign
        )
        for number in range(EDITS)
        for sign in (1, -1)
    ]
    found["edit"] = median(cpu(partial(reasoner.apply, [edit])) for edit in edits)
    return found


def within(limit: float, shapes: Path, model: Path) -> dict[str, Any]:
    """What pySHACL takes; empty if that is more than the limit."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=theirs, args=(sender, shapes, model))
    process.start()
    found: dict[str, Any] = receiver.recv() if receiver.poll(limit) else {}
    process.terminate()
    process.join()
    return found


def theirs(sender: Connection, shapes: Path, model: Path) -> None:
    """Send what pySHACL takes: reading, inference until nothing is new, validation."""
    graphs: list[rdflib.Graph] = []
    found: dict[str, Any] = {"compile": cpu(lambda: graphs.append(rdflib.Graph().parse(shapes)))}
    [rules] = graphs
    data = rdflib.Graph()
    found["infer"] = cpu(lambda: infer(data.parse(shapes).parse(model), rules))
    found |= outcome((to_ntriples(s), to_ntriples(p), to_ntriples(o)) for s, p, o in data)
    reports: list[rdflib.Graph] = []
    found["validate"] = cpu(lambda: reports.append(report(data, rules)))
    found["results"] = len([*reports[0].subjects(RDF.type, SH.ValidationResult)])
    sender.send(found)


def infer(data: rdflib.Graph, rules: rdflib.Graph) -> None:
    """Apply the rules until nothing is new."""
    for _ in range(PASSES):
        before = len(data)
        pyshacl.shacl_rules(data, shacl_graph=rules, advanced=True, inplace=True, inference="none")
        if len(data) == before:
            return


def report(data: rdflib.Graph, rules: rdflib.Graph) -> rdflib.Graph:
    """The validation report."""
    _, found, _ = pyshacl.validate(data, shacl_graph=rules, advanced=True, inference="none")
    assert isinstance(found, rdflib.Graph)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
