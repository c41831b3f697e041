"""RDF libraries: materialising reasoners, and a parser. Invariant: each takes N-Triples files and
returns a number of triples, and seconds of processor time for parsing and for reasoning.

Their rules differ from ours: `reasonable` implements OWL 2 RL, `owlrl` that too, or RDFS with
axiomatic triples. So the numbers of triples differ, and only times are compared.
"""  # noqa: D205

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peers import require
from benchmarks.peers.clock import processor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def reasonable(
    files: Sequence[Path], clock: Callable[[], float] = processor
) -> tuple[int, float, float]:
    """OWL 2 RL in Rust, with Python objects: triples, seconds to parse and to reason."""
    reasoner = require("reasonable").PyReasoner()
    with tempfile.TemporaryDirectory() as folder:
        started = clock()
        for number, file in enumerate(files):
            # It detects formats only by these extensions; N-Triples are N3.
            link = Path(folder) / f"{number}.n3"
            link.symlink_to(file.resolve())
            reasoner.load_file(str(link))
        parsed = clock()
        triples = len(reasoner.reason())
    return triples, parsed - started, clock() - parsed


def owlrl(
    files: Sequence[Path],
    clock: Callable[[], float] = processor,
    semantics: str = "RDFS_Semantics",
) -> tuple[int, float, float]:
    """RDFS or OWL 2 RL in Python: triples after reasoning, seconds to parse and to reason."""
    library = require("owlrl")
    graph = require("rdflib").Graph()
    started = clock()
    for file in files:
        graph.parse(file, format="nt")
    parsed = clock()
    library.DeductiveClosure(getattr(library, semantics)).expand(graph)
    return len(graph), parsed - started, clock() - parsed


def pyoxigraph(
    files: Sequence[Path], clock: Callable[[], float] = processor
) -> tuple[int, float, float]:
    """A Rust parser that creates Python terms: triples, seconds to parse, and none to reason."""
    library = require("pyoxigraph")
    started = clock()
    triples = sum(
        1 for file in files for _ in library.parse(path=file, format=library.RdfFormat.N_TRIPLES)
    )
    return triples, clock() - started, 0.0
