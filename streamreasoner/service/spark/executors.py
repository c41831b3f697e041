"""Parts of the state in Spark's executors. Invariant: Spark places, watches and ends them."""

from __future__ import annotations

import secrets
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.backends.parts import wire
from streamreasoner.backends.parts.elsewhere import Team
from streamreasoner.backends.parts.worker import serve
from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.io.spark.tasks.held import HeldTasks

if TYPE_CHECKING:
    from contextlib import ExitStack

    from streamreasoner.io.spark.session import RunningSession
    from streamreasoner.rdf.dictionary import Dictionary

_KEY_BYTES = 32
_ENCRYPTS = "spark.network.crypto.enabled"


def gather(running: RunningSession, parts: int, dictionary: Dictionary, stack: ExitStack) -> Team:
    """Start a task for each part, and wait until all have joined.

    Args:
        running: Spark.
        parts: The number of parts.
        dictionary: Gives ids to terms.
        stack: Ends the tasks.

    Raises:
        EnvironmentSetupError: Spark has no room for them, or encrypts what they would not.
    """
    context = running.spark.sparkContext
    conf = context.getConf()
    if conf.get(_ENCRYPTS, "false") == "true":
        raise EnvironmentSetupError(
            f'{_ENCRYPTS} is set, and with pipeline.backend = "executors" parts of the state send '
            "each other facts without encryption. Encrypt the network between executors instead, "
            "and unset it."
        )
    key = secrets.token_bytes(_KEY_BYTES)
    host = conf.get("spark.driver.host", "localhost")
    with wire.listen(conf.get("spark.driver.bindAddress", host), key, parts) as listener:
        port = wire.port(listener)

        def ended(said: str) -> None:
            error = EnvironmentSetupError(
                f"Spark does not hold {parts} parts of the state (pipeline.parts): {said}"
            )
            # Once all have joined, the port is closed: then their connections tell.
            with suppress(*wire.LOST):
                wire.connect((host, port), key).send(error)

        tasks = HeldTasks(context, parts, partial(serve, (host, port), key), ended)
        stack.callback(tasks.close)
        team = Team.gathered(listener, parts, dictionary)
    stack.callback(team.close)
    if context.defaultParallelism <= parts:
        raise EnvironmentSetupError(
            f"Spark has {context.defaultParallelism} cores, and each of the {parts} parts of the "
            "state (pipeline.parts) takes one: none is left to read input. Add an executor, or "
            "lower pipeline.parts."
        )
    return team
