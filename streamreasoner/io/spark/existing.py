"""A Spark session that someone else made. Invariant: it stays as it is, and so does its context.

A pipeline runs in a session of its own within the same context, with settings, functions and
queries of its own. What applies to a context as a whole must be there already.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.io.spark import session
from streamreasoner.io.spark.series import CONNECTOR
from streamreasoner.io.spark.session import RunningSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamreasoner.errors import StreamReasonerError

_PACKAGES = "spark.jars.packages"
_TOO_LOUD = "org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer"
# The process does not end with the query. Kafka's client waits for minutes if Kafka is away.
_PATIENCE = {"spark.sql.streaming.stopTimeout": "10s"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExistingSession:
    """A session to run pipelines in.

    Args:
        spark: The session.

    Raises:
        EnvironmentSetupError: It is not a classic session, or has ended.
    """

    spark: SparkSession

    def __post_init__(self) -> None:
        if not isinstance(self.spark, SparkSession):
            kind = f"{type(self.spark).__module__}.{type(self.spark).__qualname__}"
            raise EnvironmentSetupError(
                f"A pipeline runs in a classic Spark session, in the process of its driver; this "
                f"is {kind}. Spark Connect has no access to that process. Use "
                "SparkSession.builder.master(...), without remote(...)."
            )
        if session.has_ended(self.spark):
            raise EnvironmentSetupError(
                "The Spark session has ended. Make a new one with "
                "SparkSession.builder.getOrCreate()."
            )

    def check(self) -> None:
        """Refuse a session without the jars of the connector, which Spark takes when it starts.

        Raises:
            EnvironmentSetupError: Names what is missing, as it is written in Python and for
                spark-submit.
        """
        if session.is_connected(self.spark):
            return
        present = self.spark.conf.get(_PACKAGES, None)
        packages = ",".join((*([present] if present else ()), CONNECTOR))
        raise EnvironmentSetupError(
            "The Spark session does not have what a pipeline needs, and Spark takes it at its "
            "start only. In a new process, make the session with SparkSession.builder\n"
            f'  .config("{_PACKAGES}", "{packages}")\n'
            f"or start the program with\n  spark-submit --packages {packages}"
        )

    def adopt(self, settings: Mapping[str, str], options: Mapping[str, str]) -> RunningSession:
        """A new session for a pipeline, which nothing needs to stop.

        Args:
            settings: Settings for the location of the state.
            options: `spark.options` of the configuration; they override those chosen here.
        """
        own = self.spark.newSession()
        _set(own, {**session.TUNING, **_PATIENCE, **settings})
        late = _set(own, options)
        if late:
            _log.warning(
                "In a session that exists these spark.options have no effect: %s.", ", ".join(late)
            )
        _quieten(own)
        return RunningSession(own, own.sparkContext._gateway)  # noqa: SLF001 - PySpark exposes none

    def forget_thread(self) -> None:
        """Close the connection of this thread to Java, which Py4J would leave open."""
        client: Any = SparkContext._gateway  # noqa: SLF001 - PySpark exposes no connections
        connection = None if client is None else client._gateway_client.get_thread_connection()  # noqa: SLF001
        if connection is not None:
            connection.close()


@dataclass(frozen=True, slots=True)
class Guest:
    """How a pipeline runs in a process that is someone else's, and which it never ends.

    Attributes:
        session: Spark's session.
        ready: Called when the pipeline reads.
        overdue: Called with an error if a batch does not end in time; it goes on meanwhile.
    """

    session: ExistingSession
    ready: Callable[[], None]
    overdue: Callable[[StreamReasonerError], None]


def _quieten(spark: SparkSession) -> None:
    """Log no warning for each batch that the driver reads, by threads that no one interrupts."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark exposes no logger but the root
    log4j = java.org.apache.logging.log4j
    with suppress(Py4JError, TypeError):
        log4j.core.config.Configurator.setLevel(_TOO_LOUD, log4j.Level.ERROR)


def _set(spark: SparkSession, settings: Mapping[str, str]) -> list[str]:
    """Set what a running session lets be set; the names of the others that differ."""
    late = []
    for name, value in settings.items():
        try:
            spark.conf.set(name, value)
        except (Py4JError, PySparkException):
            if spark.conf.get(name, None) != value:
                late.append(name)
    return late
