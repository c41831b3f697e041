"""Parts of the state in Spark's executors. Invariant: Spark places, watches and ends them."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.backends.parts import wire
from streamreasoner.backends.parts.elsewhere import LOST, Team
from streamreasoner.backends.parts.worker import serve
from streamreasoner.errors import (
    EnvironmentSetupError,
    PartsLostError,
    SparkDiedError,
    StreamReasonerError,
)
from streamreasoner.io.spark.session import is_local
from streamreasoner.io.spark.tasks.held import HeldTasks, room, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack

    from streamreasoner.io.spark.session import RunningSession
    from streamreasoner.rdf.dictionary import Dictionary

_KEY_BYTES = 32
_ENCRYPTS = "spark.network.crypto.enabled"
_VARIES = "spark.dynamicAllocation.enabled"
# How long executors may take to join: Kubernetes may have to start a machine first.
_PATIENCE_SECONDS = 120.0
_POLL_SECONDS = 0.05


def gather(running: RunningSession, parts: int, dictionary: Dictionary, stack: ExitStack) -> Team:
    """Start a task for each part, and wait until all have joined.

    Args:
        running: Spark.
        parts: The number of parts.
        dictionary: Gives ids to terms.
        stack: Ends the tasks.

    Raises:
        EnvironmentSetupError: Spark has no room for them, or encrypts what they would not.
        PartsLostError: An executor is lost meanwhile, or Spark.
    """
    try:
        return _gathered(running, parts, dictionary, stack)
    except SparkDiedError as error:
        raise PartsLostError(LOST) from error


def _gathered(
    running: RunningSession, parts: int, dictionary: Dictionary, stack: ExitStack
) -> Team:
    context = running.spark.sparkContext
    conf = settings(context)
    _check(conf)
    key = secrets.token_bytes(_KEY_BYTES)
    host = conf.get("spark.driver.host", "localhost")
    with wire.listen(conf.get("spark.driver.bindAddress", host), key, parts) as listener:
        port = wire.port(listener)

        def ended(said: str | None) -> None:
            # Once all have joined, the port is closed: then their connections tell.
            with suppress(*wire.LOST):
                wire.connect((host, port), key).send(_why_ended(parts, said))

        _await_room(partial(room, context), parts, varies=not is_local(str(context.master)))
        tasks = HeldTasks(context, parts, partial(serve, (host, port), key), ended)
        stack.callback(tasks.close)
        team = Team.gathered(listener, parts, dictionary)
    stack.callback(team.close)
    return team


def _check(conf: Mapping[str, str]) -> None:
    """Refuse settings of Spark that parts cannot have.

    Raises:
        EnvironmentSetupError: Names the setting.
    """
    if conf.get(_ENCRYPTS, "false") == "true":
        raise EnvironmentSetupError(
            f'{_ENCRYPTS} is set, and with pipeline.backend = "executors" parts of the state send '
            "each other facts without encryption. Encrypt the network between executors instead, "
            "and unset it."
        )
    if conf.get(_VARIES, "false") == "true":
        raise EnvironmentSetupError(
            f'{_VARIES} is set, and with pipeline.backend = "executors" parts of the state take '
            "cores for as long as the pipeline runs. Unset it, and set the number of executors."
        )


def _await_room(room: Callable[[], int], parts: int, *, varies: bool) -> None:
    """Wait for executors with a core for each part, and one to read input.

    Raises:
        EnvironmentSetupError: They do not come.
        SparkDiedError: Spark does not answer.
    """
    deadline = time.monotonic() + (_PATIENCE_SECONDS if varies else 0.0)
    while (cores := room()) <= parts:
        if time.monotonic() >= deadline:
            raise EnvironmentSetupError(
                f"Spark has {cores} cores for tasks, and each of the {parts} parts of the state "
                "(pipeline.parts) takes one: none is left to read input. Add an executor, or "
                "lower pipeline.parts."
            )
        time.sleep(_POLL_SECONDS)


def _why_ended(parts: int, said: str | None) -> StreamReasonerError:
    if said is None:
        return PartsLostError(LOST)
    return EnvironmentSetupError(
        f"Spark does not hold {parts} parts of the state (pipeline.parts): {said}"
    )
