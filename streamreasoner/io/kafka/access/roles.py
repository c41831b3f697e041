"""Who connects to a cluster with access control. Invariant: each role has rights of its own.

| role       | is the user of                                |
|------------|-----------------------------------------------|
| `run`      | a pipeline                                    |
| `produce`  | the command `produce`, to the input topics    |
| `consume`  | the command `consume`, from the output topic  |
| `rules`    | the commands `rules`, with `--wait`           |
| `topics`   | the command `topics create`                   |
| `snapshot` | the command `snapshot`                        |
| `reset`    | the commands `reset` and `topics delete`      |
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A role, called like the command."""

    RUN = "run"
    PRODUCE = "produce"
    CONSUME = "consume"
    RULES = "rules"
    TOPICS = "topics"
    SNAPSHOT = "snapshot"
    RESET = "reset"
