"""A process that applies numbered epochs to a state, and tells each that is durable.

Epoch n is the same in every process: it depends on n alone.
"""

from __future__ import annotations

import random
import sys

from streamreasoner import Reasoner, Update

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
reached(?x, count(?y)) :- path(?x, ?y) .
named(?x, concat("node ", str(?x))) :- edge(?x, _) .
"""
MORE = "back(?y, ?x) :- edge(?x, ?y) ."
_NODES = 12


def apply(reasoner, number):
    """Apply epoch `number`; every tenth one changes the rules."""
    if number % 10 == 5:
        return reasoner.add_rules(MORE)
    if number % 10 == 9:
        return reasoner.remove_rules(MORE)
    draw = random.Random(number)
    updates = []
    for _ in range(draw.randrange(1, 6)):
        edge = draw.randrange(_NODES), draw.randrange(_NODES)
        updates.append(Update("edge", edge, draw.choice((1, 1, -1))))
    return reasoner.apply(updates)


def main(directory):
    """Apply epochs without end; tells how many are durable, first when the state is open."""
    with Reasoner.open(directory, None) as reasoner:
        while True:
            sys.stdout.write(f"{reasoner.epochs}\n")
            sys.stdout.flush()
            apply(reasoner, reasoner.epochs)


if __name__ == "__main__":
    main(sys.argv[1])
