"""What a pipeline publishes of a program. Invariant: a replay selects the same changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.engine.blocks import of_predicates
from streamreasoner.engine.updates import Changes
from streamreasoner.errors import ConfigError
from streamreasoner.io.formats.registry import JSON, message_writer, of_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.config.messages import OutputConfig
    from streamreasoner.engine.epoch import Engine, EpochResult
    from streamreasoner.io.formats.reading.format import Format
    from streamreasoner.program.checked import CheckedProgram


@dataclass(frozen=True, slots=True)
class Published:
    """What is published, and how.

    Attributes:
        closure: Whether the changes of all facts, or of derived facts only.
        format: The format of messages.
        direct: Whether facts are left out that are there only as copies along hierarchies.
        upsert: Whether the output topic holds the facts of the published predicates, and not
            the changes of predicates while they are published.
    """

    closure: bool = False
    format: Format = JSON
    direct: bool = False
    upsert: bool = False

    @classmethod
    def of(cls, output: OutputConfig) -> Published:
        """What the configuration says."""
        closure, direct = output.include == "all", output.inherited == "direct"
        return cls(closure, of_name(output.format), direct, output.upsert)

    def check(self, program: CheckedProgram, advice: str = "") -> None:
        """Refuse a program with changes that the format of the output cannot say.

        Raises:
            ConfigError: Names the predicates, and ends with the advice.
        """
        why = self.refusal(program)
        if why is not None:
            raise ConfigError(why + advice)

    def changes(
        self, result: EpochResult, before: CheckedProgram, program: CheckedProgram
    ) -> Iterable[Changes]:
        """Changes of the program's published predicates.

        With a new program, also those of the old program's, so readers see what the change
        retracts. If the topic holds facts, only those of both: see `leaving` and `entering`.
        """
        published = before.published | program.published
        if self.upsert:
            published = before.published & program.published
        changed = result.direct(before.copied, program.copied) if self.direct else result
        return of_predicates(changed.closure if self.closure else changed.derived, published)

    def leaving(
        self, engine: Engine, before: CheckedProgram, program: CheckedProgram
    ) -> tuple[Changes, ...]:
        """Facts of predicates that will not be published, -1 each; call before their last epoch."""
        return self._all(engine, before, before.published - program.published, -1)

    def entering(
        self, engine: Engine, before: CheckedProgram, program: CheckedProgram
    ) -> tuple[Changes, ...]:
        """Facts of predicates that were not published, +1 each; call after their first epoch."""
        return self._all(engine, program, program.published - before.published, 1)

    def _all(
        self, engine: Engine, program: CheckedProgram, predicates: Iterable[str], sign: int
    ) -> tuple[Changes, ...]:
        """The facts that a topic of facts has of these predicates, as changes."""
        found = []
        for predicate in sorted(predicates) if self.upsert else ():
            args = engine.facts(predicate)
            if not self.closure:
                args = args[engine.asserted(predicate, args) <= 0]
            if self.direct:
                args = args[engine.direct(program.copied, predicate, args)]
            found.append(Changes(predicate, args, np.full(len(args), sign, np.int8)))
        return tuple(found)

    def refusal(self, program: CheckedProgram) -> str | None:
        """Why the changes of a program cannot be published in this format; None if they can."""
        known = message_writer(self.format).predicates
        if known is None:
            return None
        predicates = set(program.published)
        if not self.closure:
            predicates &= {rule.head.predicate for rule in program.rules}
        others = sorted(predicates - set(known))
        if not others:
            return None
        return (
            f"The program publishes facts of {', '.join(others)}, but output.format is "
            f'"{self.format.name}", which has triples and quads only. Declare what to publish, for '
            'example with "@output triple .", or set output.format to "json".'
        )
