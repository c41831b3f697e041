"""Reads the ontologies of cellxgene-ontology-guide. Invariant: a problem is told in one message.

The package has a file for each version of an ontology: per class its label, whether it is
deprecated, what replaces it, and its ancestors with their distance, along `is_a` and `part_of`.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Ontology: TypeAlias = dict[str, dict[str, Any]]
"""What the package has of a class, by its id, such as `CL:0000540`."""

PREFIXES: Final = {
    "obo": "http://purl.obolibrary.org/obo/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
}


def versions(data: Path, ontology: str) -> list[str]:
    """The versions that the folder *data* has of an ontology, in alphabetical order."""
    found = sorted(data.glob(f"{ontology}-ontology-*.json.zst"))
    if not found:
        sys.exit(
            f"{data} has no file {ontology}-ontology-VERSION.json.zst. Give it the folder"
            " cellxgene_ontology_guide/data of the package, and the name of an ontology there."
        )
    return [path.name.removesuffix(".json.zst").split("-ontology-")[1] for path in found]


def read(data: Path, ontology: str, version: str) -> Ontology:
    """A version of an ontology."""
    there = versions(data, ontology)
    if version not in there:
        sys.exit(f"{ontology} has no version {version} in {data}, but {', '.join(there)}.")
    path = data / f"{ontology}-ontology-{version}.json.zst"
    with pa.input_stream(str(path), compression="zstd") as file:
        classes: Ontology = json.loads(file.read())
    return classes


def iri(term: str) -> str:
    """The id of a class as a prefixed name: `obo:CL_0000540`."""
    return f"obo:{term.replace(':', '_')}"


def edges(term: str, ontology: Ontology) -> Iterator[str]:
    """The triples from a class to those directly above it, as in Turtle, without the dot."""
    for parent, distance in ontology[term]["ancestors"].items():
        if distance == 1:
            yield f"{iri(term)} rdfs:subClassOf {iri(parent)}"


def patch(before: set[str], after: set[str]) -> str:
    """What leads from some triples to others, as a patch."""
    lines = [f'PA "{prefix}" <{namespace}> .' for prefix, namespace in PREFIXES.items()]
    lines += [f"D {triple} ." for triple in sorted(before - after)]
    lines += [f"A {triple} ." for triple in sorted(after - before)]
    return "\n".join(["TX .", *lines, "TC .", ""])
