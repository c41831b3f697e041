"""Prepares for the first batch: kernels, and a small epoch. Invariant: no state stays.

The first start on a machine compiles the kernels, which takes longer than starting Spark, and runs
in parallel to it. Later starts load them from the cache. The epoch runs what Python does once.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.parallel import Threads
from streamreasoner.backends.store import columnar
from streamreasoner.engine.session import Session
from streamreasoner.errors import EngineError
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.native.image import ensure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamreasoner.program.checked import CheckedProgram

_ITERATIONS = 100
_MESSAGES = (
    b'{"s":"<a:B>","p":"<http://www.w3.org/2000/01/rdf-schema#subClassOf>","o":"<a:C>","diff":%d}',
    b'{"s":"<a:x>","p":"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>","o":"<a:B>","diff":%d}',
    b'{"s":"<a:x>","p":"<a:name>","o":"\\"x\\"@EN","diff":%d}',
)


def prepare(
    program: CheckedProgram, report: Callable[[int, int], None] = lambda _done, _all: None
) -> None:
    """Compile all kernels, or load them from the cache, and run them on a few facts.

    Args:
        program: The program of the epochs.
        report: Called before each kernel, with the number of those that are done and of all.
    """
    ensure(report)
    # A program that does not converge on them will fail, with its message, in a real epoch.
    with suppress(EngineError):
        _run(program, ColumnarBackend)
    if Threads.allowed():
        with suppress(EngineError):
            _run(program, _Shared)


class _Shared(ColumnarBackend):
    """A backend whose epochs are all large."""

    large = 1


def _run(program: CheckedProgram, kind: type[ColumnarBackend]) -> None:
    session = Session(program, columnar(kind=kind), recursion_limit=_ITERATIONS)
    options = InputOptions(max_message_bytes=1024, max_term_bytes=1024)
    codec = Codec(session.dictionary, program.arities, options)
    for epoch, batch in enumerate(_batches()):
        result = session.engine.apply(epoch, codec.decode(batch).updates)
        for changes in result.derived:
            session.dictionary.decode(changes.args[:, 0])
    session.dictionary.terms(0, len(session.dictionary))
    session.engine.statistics()
    Session(program, columnar(), recursion_limit=_ITERATIONS).engine.restore(
        [session.engine.trace(TRIPLE)], before=2
    )


def _batches() -> Iterator[pa.Table]:
    for diff in (1, -1):
        yield pa.table(
            {
                "value": pa.array([message % diff for message in _MESSAGES], pa.binary()),
                "timestamp": pa.array([0] * len(_MESSAGES), pa.timestamp("us", "UTC")),
                "headers": pa.nulls(len(_MESSAGES)),
            }
        )
