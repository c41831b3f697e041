"""What a start needs of Kafka. Invariant: no group is joined, and nothing is written or fenced."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from streamreasoner.counts import counted
from streamreasoner.errors import BrokerError, StateError
from streamreasoner.io.kafka import topic_checks
from streamreasoner.io.kafka.owners.claims import check_changes, check_claims, claims_of
from streamreasoner.io.kafka.owners.presence import listed, processes
from streamreasoner.io.kafka.progress_topic import ProgressTopic
from streamreasoner.io.kafka.topic_ids import TopicIds
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.state.lock import holder
from streamreasoner.upkeep.finding import examine, has_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamreasoner.config import Config
    from streamreasoner.upkeep.finding import Finding


def examine_cluster(config: Config, last: int | None) -> Iterator[Finding]:
    """What is found of the brokers, and of the topics, rights and owners that they know.

    Args:
        config: The configuration.
        last: The last epoch of the state: -1 before the first, None if there is no state.
    """
    cluster = _Cluster(config)
    found = [*examine("brokers", cluster.brokers)]
    yield from found
    if has_error(found):
        return
    yield from examine("rights", cluster.rights)
    yield from examine("app_id", cluster.owner)
    found = [*examine("topics", cluster.topics)]
    yield from found
    if not has_error(found):
        yield from examine("published", lambda: cluster.published(last))


class _Cluster:
    """The cluster of a configuration; each check is a method."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._kafka, self._control = config.kafka, config.rules.control_topic

    def brokers(self) -> str:
        """How many brokers answer."""
        self._admin = topic_checks.admin_client(self._kafka)
        number = topic_checks.brokers(self._admin, self._kafka)
        return f"{counted(number, 'broker')} at {self._kafka.bootstrap_servers}"

    def rights(self) -> str:
        """Whether the user has all rights on topics."""
        answers = topic_checks.describe(self._admin, self._kafka, self._control)
        topic_checks.check_rights(self._kafka, self._control, answers)
        return "this user may read and write what it has to"

    def topics(self) -> str:
        """Whether all topics exist, fit their roles, and are those that the state began with."""
        config, kafka = self._config, self._kafka
        answers = topic_checks.describe(self._admin, kafka, self._control)
        found = topic_checks.check_exist(kafka, self._control, answers)
        upsert = config.output.upsert
        topic_checks.check_settings(self._admin, kafka, self._control, found, upsert=upsert)
        self._ids = TopicIds(self._admin, kafka, self._control, config.state.topics)
        self._ids.resume(begun=Checkpoint.read(config.state.checkpoint_directory).begun)
        return f"{counted(len(found), 'topic')}, set up for their roles"

    def owner(self) -> str:
        """Whether another process uses the application id."""
        app_id, directory = self._config.pipeline.app_id, self._config.state.directory
        found = processes(self._kafka, app_id)
        others = [each for each in found if each.directory != str(directory.absolute())]
        if others:
            raise BrokerError(
                f"pipeline.app_id {app_id} is in use by {listed(others)}. Stop it, or give this "
                "pipeline a kafka.output_topic and a state.directory of its own, and a "
                "pipeline.app_id where it is set."
            )
        running = holder(directory)
        return f"{app_id}, in use by process {running}" if running else f"{app_id}, not in use"

    def published(self, last: int | None) -> str:
        """Whether the state has what is published, and the topics belong to the application."""
        kafka, app_id = self._kafka, self._config.pipeline.app_id
        with closing(ProgressTopic(kafka, app_id)) as progress:
            progress.read()
        for key, claim in claims_of(kafka, app_id, self._ids.id).items():
            check_claims(claim, progress.claims, kafka.progress_topic, key)
            check_changes(kafka, claim, key, new=last in {None, -1})
        marker = progress.marker()
        if marker is None:
            return "nothing yet"
        if last is None or marker.epoch > last:
            raise StateError(
                f"Epoch {marker.epoch} is published, but the state in "
                f"{self._config.state.directory} ends with {'none' if last is None else last}: it "
                "is older, or another one. Restore it, or begin from nothing with: streamreasoner "
                "reset --config FILE"
            )
        return f"up to epoch {marker.epoch}"
