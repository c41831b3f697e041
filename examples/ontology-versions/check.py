"""Compares what is derived with the ancestors of the package. Invariant: by the example's rules.

There is one cell for each class. The versions of an ontology follow each other, each as the epoch
of its differences, so that deletions are compared too; in the end all is retracted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow.compute as pc
from package import PREFIXES, Ontology, edges, iri, patch, read, versions

from streamreasoner.api.reasoner import Reasoner

if TYPE_CHECKING:
    from collections.abc import Iterator

_CELL = "http://example.org/cells#of-"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def main() -> None:
    """Print a line for each version; exit with 1 if types differ from what the package has."""
    parser = argparse.ArgumentParser(description="Compare derived types with known ancestors.")
    parser.add_argument("data", type=Path, help="the folder cellxgene_ontology_guide/data")
    parser.add_argument("ontology", nargs="*", default=["CL"], help="default: CL")
    parser.add_argument("--hierarchies", default="encoded", choices=("encoded", "stored"))
    options = parser.parse_args()
    right = [_check(options.data, name, options.hierarchies) for name in options.ontology]
    sys.exit(0 if all(right) else 1)


def _check(data: Path, name: str, hierarchies: Literal["encoded", "stored"]) -> bool:
    reasoner = Reasoner.from_rules(Path(__file__).with_name("rules.dl"), hierarchies=hierarchies)
    before: set[str] = set()
    right = True
    for version in versions(data, name):
        ontology = read(data, name, version)
        after = {triple for term in ontology for triple in _triples(term, ontology)}
        seconds = _apply(reasoner, before, after)
        derived = _types(reasoner)
        known = {
            (term, above)
            for term, about in ontology.items()
            for above in (term, *about["ancestors"])
        }
        elsewhere, more = known - derived, derived - known
        right = right and not more and all(_is_detour(*pair, ontology) for pair in elsewhere)
        sys.stdout.write(
            f"{name} {version}: {len(ontology):,} classes, {len(after - before):,} triples added,"
            f" {len(before - after):,} deleted, {seconds:.1f} s; {len(derived & known):,} types"
            f" derived as known, {len(elsewhere):,} by way of other ontologies, {len(more):,}"
            " wrong\n"
        )
        before = after
    _apply(reasoner, before, set())
    left = sum(1 for _ in reasoner.facts())
    sys.stdout.write(f"{name}: {left} facts are left after all is retracted\n")
    return right and not left


def _triples(term: str, ontology: Ontology) -> Iterator[str]:
    """The edges of a class, and a cell of it."""
    yield from edges(term, ontology)
    yield f"<{_CELL}{term}> {_TYPE} {iri(term)}"


def _apply(reasoner: Reasoner, before: set[str], after: set[str]) -> float:
    """One epoch that leads from some triples to others, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "difference.rdfp"
        path.write_text(patch(before, after), encoding="utf-8")
        start = time.perf_counter()
        reasoner.load(path)
        return time.perf_counter() - start


def _types(reasoner: Reasoner) -> set[tuple[str, str]]:
    """The class that each cell was given, with each class that it has."""
    table = reasoner.facts().to_arrow()
    types = table.filter(pc.equal(table["p"], _TYPE))
    begin, obo = f"<{_CELL}", f"<{PREFIXES['obo']}"
    return {
        (cell.removeprefix(begin)[:-1], above.removeprefix(obo)[:-1].replace("_", ":"))
        for cell, above in zip(types["s"].to_pylist(), types["o"].to_pylist(), strict=True)
    }


def _is_detour(term: str, above: str, ontology: Ontology) -> bool:
    """Whether an ancestor is above no direct parent in the ontology itself."""
    seen, left = set(), [term]
    while left:
        each = left.pop()
        if each not in seen:
            seen.add(each)
            left += [up for up, distance in ontology[each]["ancestors"].items() if distance == 1]
    return above not in seen


if __name__ == "__main__":
    main()
