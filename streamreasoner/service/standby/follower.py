"""An engine that follows the state of another process. Invariant: it has whole, finished epochs.

The rows of a trace at iteration 0 are what the other process has added, and all others follow from
them: so they are added here too, and the rest is derived. Terms come from the table, with their
ids. What cannot be followed step by step, because the program has changed, tables were summed,
erased or replaced, or this engine has given an id to another term, is loaded anew.

Only epochs that Spark has committed are taken: a start replays what comes after them.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.store import in_memory, restored
from streamreasoner.engine.updates import added_by
from streamreasoner.errors import StateError
from streamreasoner.history.epochs import Past
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline.recovery import check_file
from streamreasoner.service.options import sources
from streamreasoner.service.recover import session_of
from streamreasoner.service.size import cores
from streamreasoner.state import TRACE, schemas
from streamreasoner.state.in_effect import ProgramInEffect

if TYPE_CHECKING:
    from streamreasoner.config import Config
    from streamreasoner.engine.session import Session
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.service.recover import Recovered

_log = logging.getLogger(__name__)


class Follower:
    """A session in memory that is in step with the tables of a running pipeline.

    Args:
        config: The configuration of the pipeline.
        program: The configured program.

    Attributes:
        epoch: The last epoch that it has, -1 before the first.
    """

    def __init__(self, config: Config, program: CheckedProgram) -> None:
        self._config = config
        self._configured = program
        self._past: Past | None = None
        self._session: Session | None = None
        self._program = ""
        self._terms = 0
        self.epoch = -1

    def follow(self) -> None:
        """Take the epochs that are finished by now.

        Raises:
            StateError: The state is damaged, or belongs to another application or program.
            EngineError: An epoch cannot be evaluated here.
        """
        # Read before the tables, which are never behind.
        last = Checkpoint.last_committed(self._config.state.checkpoint_directory)
        if last >= 0:
            past = self._newest()
            self._advance(past, min(last, past.last))

    def session_before(self, recovered: Recovered) -> Session | None:
        """The session with the epochs before the next one, None if it has to be restored.

        Args:
            recovered: Where the pipeline goes on; this process holds its lock.
        """
        last = recovered.point.before - 1
        if last < 0:
            return None
        self._advance(self._newest(), last)
        fits = (self.epoch, self._program, self._terms) == (
            last,
            recovered.in_effect.text.hash,
            recovered.tables.terms_stored,
        )
        return self._session if fits else None

    def _newest(self) -> Past:
        """The tables as they are now; they have an epoch."""
        if self._past is not None:
            return self._past.newer() or self._past
        past = Past(self._config.state.tables)
        self._check(past)
        return past

    def _check(self, past: Past) -> None:
        """Refuse the state of another application, or one that never had the program."""
        app_id = self._config.pipeline.app_id
        owner = past.tables[TRACE].snapshot().properties.get(schemas.APP_ID)
        if owner != app_id:
            raise StateError(
                f"The state in {self._config.state.directory} belongs to the application {owner}, "
                f"and pipeline.app_id is {app_id}. A standby needs the configuration of the "
                "pipeline that it stands by for."
            )
        programs = past.programs_until(past.last)
        check_file(programs, programs[-1], self._configured, self._config.rules.program)

    def _advance(self, past: Past, last: int) -> None:
        """Take the epochs up to one, of this version of the tables."""
        if past is self._past and last <= self.epoch:
            return
        follows = past is self._past or (past.follows and past.oldest <= self.epoch)
        session, self._past = self._session, past
        if session is None or not follows or past.programs_until(last)[-1][0] > self.epoch:
            self._load(past, last)
        elif not self._has_terms(session, past):
            _log.info("A term has another id in the state, which is loaded anew.")
            self._load(past, last)
        elif last > self.epoch:
            session.follow(last, added_by(past.trace_after(self.epoch, last=last)))
            self.epoch = last

    def _has_terms(self, session: Session, past: Past) -> bool:
        """Whether the new terms of the tables have their ids here, too."""
        terms = past.new_terms(self._terms)
        ids = np.arange(self._terms, self._terms + len(terms))
        self._terms += len(terms)
        return bool(np.array_equal(session.dictionary.encode(terms), ids))

    def _load(self, past: Past, last: int) -> None:
        """Restore the state at the end of an epoch."""
        config = self._config
        # The memory of what was followed before goes first.
        self._session, self.epoch = None, -1
        width = past.tables[TRACE].max_arity - bool(sources(config).keyed)
        in_effect = ProgramInEffect.restored(past.programs_until(last), width)
        store = restored(past, last + 1, empty=partial(in_memory, cores(config)))
        self._terms, self._program = len(store.dictionary), in_effect.text.hash
        record = past.tables[TRACE].snapshot().record(last)
        self._session = session_of(config, in_effect, store, record)
        self._session.resume_before(last + 1, None)
        self.epoch = last
