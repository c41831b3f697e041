"""The parts that the epochs of a pipeline pass through, once its state is restored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.io.kafka.reread import reread
from streamreasoner.io.observer import timed
from streamreasoner.pipeline.attempts import AttemptsFile
from streamreasoner.pipeline.batch import Parts
from streamreasoner.pipeline.evaluator import Evaluator
from streamreasoner.pipeline.failing.last_resort import LastResort
from streamreasoner.pipeline.pressure.outage import Outage
from streamreasoner.pipeline.published import Published
from streamreasoner.pipeline.slots.evaluator import SlotEvaluator
from streamreasoner.service.options import input_options, reread_group
from streamreasoner.service.recover import last_marker

if TYPE_CHECKING:
    from streamreasoner.backends.choice import BackendKind
    from streamreasoner.config import Config
    from streamreasoner.engine.session import Session
    from streamreasoner.io.observer import PipelineObserver
    from streamreasoner.io.spark.offsets import Checkpoint
    from streamreasoner.service.checks import Checked
    from streamreasoner.service.recover import Output, Progress, Recovered


@dataclass(frozen=True, slots=True)
class Restored:
    """A pipeline whose state is restored.

    Attributes:
        config: Its configuration.
        place: Where its state is.
        checked: What the checks of its start have opened.
        output: What it publishes with.
        recovered: Where it goes on.
        checkpoint: Spark's checkpoint, without a batch that is planned anew.
        session: Its state.
        progress: How far event time has come; None where batches are epochs.
        observer: Told of its batches.
    """

    config: Config
    place: BackendKind
    checked: Checked
    output: Output
    recovered: Recovered
    checkpoint: Checkpoint
    session: Session
    progress: Progress | None
    observer: PipelineObserver

    def parts(self) -> Parts:
        """What an epoch passes through."""
        progress = self.progress
        return self.parts_with(
            self.last_resort(self.evaluator()) if progress is None else self._slots(progress)
        )

    def parts_with(self, evaluation: LastResort | SlotEvaluator) -> Parts:
        """The same with this evaluation."""
        return Parts(
            checkpoint=self.checkpoint,
            topics=self.checked.topics,
            schemas=self.checked.schemas,
            evaluation=evaluation,
            dictionary=self.session.dictionary,
            tables=self.recovered.tables,
            upload=self._upload if self.config.state.object_store else lambda: None,
            encoder=self.output.encoder,
            sink=self.output.sink,
            marker=partial(last_marker, self.config),
            observer=self.observer,
            outage=Outage(self.observer),
            semantics=self.config.semantics,
        )

    def _upload(self) -> None:
        with timed(self.observer, "upload"):
            self.checked.upload.upload()

    def evaluator(self) -> Evaluator:
        """Evaluates batches as epochs."""
        config = self.config
        return Evaluator(
            self.session,
            self.recovered.in_effect,
            config.rules.control_topic,
            input_options(config, self.checked.schemas),
            Published.of(config.output),
            self.observer,
            lateness=config.time.allowed_lateness,
        )

    def last_resort(self, evaluator: Evaluator) -> LastResort:
        """The same, without the messages that epochs fail with."""
        return LastResort(
            evaluator,
            AttemptsFile(self.config.state.attempts, self.checked.upload.upload),
            self.checkpoint.replayed,
            self.recovered.tables.has_begun,
        )

    def _slots(self, progress: Progress) -> SlotEvaluator:
        config = self.config
        return SlotEvaluator(
            self.session,
            self.recovered.in_effect,
            input_options(config, self.checked.schemas),
            Published.of(config.output),
            self.observer,
            progress.watermarks,
            progress.waiting,
            partial(reread, config.kafka, reread_group(config), if_there=True),
        )
