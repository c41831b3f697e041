"""A bootstrap that kills itself: `bootstrap_driver.py CONFIG FILE POINT EPOCH`.

The process sends itself SIGKILL at the named point of the first epoch from EPOCH on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from faults.driver import die, die_within_publish, die_within_store

from streamreasoner import cli
from streamreasoner.io.kafka.sink import Sink
from streamreasoner.io.spark.planting import PlantedCheckpoint
from streamreasoner.pipeline.bootstrap.pieces import Pieces
from streamreasoner.state import Tables, schemas

POINTS = (
    *("reading", "begun", "planned", "within-store", "stored", "within-publish"),
    *("published", "committed", "deleted"),
)
"""In the order in which a bootstrap passes them."""


def die_after(owner, name, epoch):
    """Die when a method has returned for this epoch, or a later one."""
    original = getattr(owner, name)

    def cut(self, *args, **options):
        result = original(self, *args, **options)
        of = args[0] if args else epoch
        of = getattr(of, "marker", of)
        if getattr(of, "epoch", of) >= epoch:
            die()
        return result

    setattr(owner, name, cut)


def main():
    """Run the command with one point armed."""
    config, file, point, epoch = *sys.argv[1:4], int(sys.argv[4])
    match point:
        case "reading":
            die_after(Pieces, "_write", epoch)
        case "begun":
            die_after(PlantedCheckpoint, "begin", 0)
        case "planned":
            die_after(PlantedCheckpoint, "plan", epoch)
        case "within-store":
            die_within_store(epoch, schemas.CHANGES, schemas.TRACE)
        case "stored":
            die_after(Tables, "commit", epoch)
        case "within-publish":
            die_within_publish(epoch)
        case "published":
            die_after(Sink, "publish", epoch)
        case "committed":
            die_after(PlantedCheckpoint, "commit", epoch)
        case "deleted":
            die_after(Pieces, "delete", 0)
    options = ["--facts-per-epoch", "4", *sys.argv[5:]]
    sys.argv = ["streamreasoner", "bootstrap", str(Path(file)), "--config", config, *options]
    cli.main()


if __name__ == "__main__":
    main()
