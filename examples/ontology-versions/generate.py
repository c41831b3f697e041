"""Cells of a lab with classes of the older version. Invariant: the lab watches some classes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from generator import Fact, main

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

EX = "http://example.org/cells#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
OBO = "http://purl.obolibrary.org/obo/"
# Neuron, interneuron; of the cortex, of the forebrain; GABAergic neuron, chandelier cell.
WATCHED = ("0000540", "0000099", "0008031", "0012001", "0000617", "4023083")
INTERNEURON = "CL:0000099"


def facts(size: int, random: random.Random) -> Iterator[Fact]:
    """*size* cells of interneurons, each class once before one comes again; and what is watched."""
    path = Path(__file__).parent / "versions" / "v2025-02-13.ancestors.txt"
    lines = [line.split() for line in path.read_text("utf-8").splitlines()]
    classes = [term for term, *above in lines if INTERNEURON in above]
    for watched in WATCHED:
        yield "triple", (f"<{EX}lab>", f"<{EX}watches>", f"<{OBO}CL_{watched}>")
    random.shuffle(classes)
    for number in range(size):
        term = classes[number % len(classes)].replace(":", "_")
        yield "triple", (f"<{EX}cell{number}>", TYPE, f"<{OBO}{term}>")


if __name__ == "__main__":
    main(facts, size=120)
