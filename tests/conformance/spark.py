"""Stores of replays on Spark. Invariant: a state is written every few steps, small as it is."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from spark_backend import spark_session, stores

from streamreasoner.backends.spark.tables import committed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamreasoner.engine.session import Store

_RECENT = 40
"""Rows that are not in the table yet, at most."""


@contextmanager
def spark_stores() -> Iterator[Callable[[], Store]]:
    """A factory of separate, empty stores in one session."""
    with (
        TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        spark_session(Path(folder)) as spark,
    ):
        patch.setattr(committed, "RECENT", _RECENT)
        yield stores(spark, folder)
