"""Takes a part of some versions of an ontology. Invariant: a patch leads from each to the next.

A part has the classes below a root, with all that are above them: so the ancestors of each class
are complete. A deprecated class is in it if it is below the root in another of the versions.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from package import PREFIXES, Ontology, edges, iri, patch, read

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Write a file of triples and one of ancestors for each version, and patches between them."""
    parser = argparse.ArgumentParser(description="Extract classes of versions of an ontology.")
    parser.add_argument("data", type=Path, help="the folder cellxgene_ontology_guide/data")
    parser.add_argument("versions", nargs="+", help="in this order, such as v2025-02-13")
    parser.add_argument("--ontology", default="CL", help="default: CL")
    parser.add_argument("--root", default="CL:0000099", help="default: CL:0000099, interneuron")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "versions")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    read_ones = [read(options.data, options.ontology, version) for version in options.versions]
    ever = {term for each in read_ones for term in _below(options.root, each)}
    before: set[str] = set()
    for version, ontology in zip(options.versions, read_ones, strict=True):
        part = _part(ever, options.root, ontology)
        triples = {triple for term in part for triple in _triples(term, ontology)}
        head = "".join(f"@prefix {name}: <{space}> .\n" for name, space in PREFIXES.items())
        lines = "".join(f"{triple} .\n" for triple in sorted(triples))
        _write(options.output / f"{version}.ttl", f"{head}\n{lines}")
        _write(options.output / f"{version}.ancestors.txt", _ancestors(part, ontology))
        if before:
            _write(options.output / f"{version}.rdfp", patch(before, triples))
        before = triples


def _below(root: str, ontology: Ontology) -> set[str]:
    return {term for term, about in ontology.items() if term == root or root in about["ancestors"]}


def _part(ever: set[str], root: str, ontology: Ontology) -> set[str]:
    """The classes below the root, those above them, and those that are deprecated by now."""
    below = _below(root, ontology)
    above = {parent for term in below for parent in ontology[term]["ancestors"]}
    return below | above | {term for term in ever & {*ontology} if ontology[term]["deprecated"]}


def _triples(term: str, ontology: Ontology) -> Iterator[str]:
    """What is said about a class, with the properties that ontologies of OBO have for it."""
    about = ontology[term]
    yield f"{iri(term)} rdfs:label {json.dumps(about['label'], ensure_ascii=False)}"
    yield from edges(term, ontology)
    if about["deprecated"]:
        yield f"{iri(term)} owl:deprecated true"
    if "replaced_by" in about:
        yield f"{iri(term)} obo:IAO_0100001 {iri(about['replaced_by'])}"


def _ancestors(part: set[str], ontology: Ontology) -> str:
    """A line for each class that has ancestors: itself, and they."""
    lines = (
        f"{' '.join([term, *sorted(ontology[term]['ancestors'])])}\n"
        for term in sorted(part)
        if ontology[term]["ancestors"]
    )
    return "".join(lines)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
