"""What a pipeline publishes of a program. Invariant: a replay selects the same changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.engine.blocks import filter_blocks
from streamreasoner.io.formats.registry import JSON, message_writer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.engine.epoch import EpochResult
    from streamreasoner.engine.updates import Changes
    from streamreasoner.io.formats.reading.format import Format
    from streamreasoner.program.checked import CheckedProgram


@dataclass(frozen=True, slots=True)
class Published:
    """What is published, and how.

    Attributes:
        closure: Whether the changes of all facts, or of derived facts only.
        format: The format of messages.
    """

    closure: bool = False
    format: Format = JSON

    def changes(
        self, result: EpochResult, before: CheckedProgram, program: CheckedProgram
    ) -> Iterable[Changes]:
        """Changes of the program's published predicates.

        With a new program, also those of the old program's, so readers see what the change
        retracts.
        """
        published = before.published | program.published
        changes = result.closure if self.closure else result.derived
        return filter_blocks(changes, lambda each: each.predicate in published)

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
