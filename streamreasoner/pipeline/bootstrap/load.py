"""The epochs of a bootstrap. Invariant: they are recorded as those that Spark runs.

Each is planned in Spark's checkpoint, stored (durable step 1), published (2) and committed in the
checkpoint (3), so a crash leaves nothing that recovery does not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamreasoner.errors import ConfigError, DataError
from streamreasoner.io.files.documents import Reading
from streamreasoner.pipeline.bootstrap.sources import blocks_of

if TYPE_CHECKING:
    from streamreasoner.config import Config
    from streamreasoner.io.spark.planting import PlantedCheckpoint
    from streamreasoner.pipeline.batch import EpochRunner
    from streamreasoner.pipeline.bootstrap.pieces import Pieces
    from streamreasoner.pipeline.bootstrap.record import Bootstrap, Request
    from streamreasoner.pipeline.evaluator import Evaluator
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.rdf.dictionary import Dictionary


@dataclass(frozen=True, slots=True)
class Load:
    """Loads pieces.

    Attributes:
        bootstrap: What to load.
        pieces: Its facts.
        runner: The durable steps.
        evaluator: Evaluates an epoch.
        planted: Records the epochs as batches of Spark.
        dictionary: That of the state.
        source: The source that the facts are of, if the state keeps it apart; else empty.
    """

    bootstrap: Bootstrap
    pieces: Pieces
    runner: EpochRunner
    evaluator: Evaluator
    planted: PlantedCheckpoint
    dictionary: Dictionary
    source: str

    def run(self, epoch: int) -> None:
        """Run one epoch.

        Raises:
            StreamReasonerError: It failed.
        """
        asked, request = self.bootstrap, self.bootstrap.request
        self.planted.plan(epoch)
        digest = asked.pieces[epoch]
        updates = self.pieces.read(epoch, digest, self.dictionary, request.ts, self.source)
        self.runner.load(
            epoch,
            lambda: self.evaluator.load(
                updates, epoch, asked.ts, request.ts, publish=request.publish
            ),
        )
        self.planted.commit(epoch)


def read_sources(
    request: Request, program: CheckedProgram, pieces: Pieces, max_term_bytes: int
) -> tuple[tuple[str, ...], int]:
    """Read all sources into pieces.

    Returns:
        The digest of each piece, and how many facts there are.

    Raises:
        DataError: A source cannot be read, or does not fit the program.
    """
    paths = [Path(source.name) for source in request.sources]
    how = Reading(header=request.header, base=request.base or None)
    blocks = blocks_of(paths, program, how, timed=request.ts is not None)
    digests, facts = pieces.write(blocks, request.facts_per_epoch, max_term_bytes)
    if not facts:
        pieces.delete()
        named = ", ".join(map(str, paths)) or "The files"
        raise DataError(f"{named}: there is no fact to load.")
    return digests, facts


def check_request(request: Request, config: Config, now: int) -> None:
    """Refuse what a pipeline with this configuration cannot load.

    Args:
        request: What is asked for.
        config: The configuration.
        now: Milliseconds since 1970.

    Raises:
        ConfigError: Names the option and the way out.
    """
    topic, semantics = request.topic, config.semantics
    if topic and topic not in config.kafka.input_topics:
        names = ", ".join(config.kafka.input_topics)
        raise ConfigError(f"--topic {topic} is not one of kafka.input_topics: {names}.")
    if semantics.get(topic) == "upsert":
        raise ConfigError(
            f"--topic {topic} has the semantics upsert, and facts of files have no keys. Send them "
            "to the topic instead, each under its key."
        )
    if not topic and len(semantics) == len(config.kafka.input_topics):
        sets = [name for name, kind in semantics.items() if kind == "set"]
        advice = (
            f"Name the one that counts as having asserted them: --topic {sets[0]}."
            if sets
            else "Send the facts to a topic instead, each under its key."
        )
        raise ConfigError(
            "No input topic has the semantics multiset, so no message could retract facts that no "
            f"topic has asserted. {advice}"
        )
    if config.time.granularity is not None:
        raise ConfigError(
            "time.granularity is set, and facts of files belong to no slot of event time. Send "
            "them to an input topic instead: streamreasoner produce FILES --config CONFIG."
        )
    if config.output.upsert and not request.publish:
        raise ConfigError(
            f"--no-publish: the topic {config.kafka.output_topic} (kafka.output_topic) holds facts "
            '(output.envelope = "upsert"), and would be missing those of the first load. Omit it.'
        )
    if request.ts is not None and request.ts > now + config.time.max_ahead:
        raise ConfigError("--ts is in the future: everything earlier would expire at once.")
