"""What an image is given at build time. Invariant: a start needs neither network nor compiler.

`prepare.py jars DIRECTORY` puts the jars of Spark's Kafka connector there; `prepare.py kernels`
runs one small epoch, so that the compiled kernels are in numba's cache.
"""

# ruff: noqa: INP001 - a script beside the Dockerfile, not part of a package
from __future__ import annotations

import shutil
import sys
from pathlib import Path

from rdflib import RDF, RDFS, URIRef

from streamreasoner import Reasoner, Update, jvm
from streamreasoner.streaming.session import CONNECTOR


def jars(directory: Path) -> None:
    """Copy the connector's jars, and all they depend on, into a directory."""
    shutil.copytree(jvm.jars("connector", [CONNECTOR]), directory)


def kernels() -> None:
    """Derive something with the ruleset of the configuration, and take it back."""
    a, b, x = (URIRef(f"http://example.org/{name}") for name in "abx")
    reasoner = Reasoner.from_rules("rho-df")
    facts = [(x, RDF.type, a), (a, RDFS.subClassOf, b)]
    for diff in (1, -1):
        reasoner.apply([Update.triple(*fact, multiplicity=diff) for fact in facts])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["jars", directory]:
            jars(Path(directory))
        case ["kernels"]:
            kernels()
        case _:
            sys.exit(__doc__)
