"""The order of the files of tests. Invariant: a worker that waits has one that computes next to it.

Tests of processes wait for starts, deadlines and signals; all others keep a core busy. If every
worker ran the tests that wait first, cores would be idle until the end of these. Files that take
long are not last, so that all workers end at the same time.
"""

from __future__ import annotations

import pytest
from kernels import EARLY

_WAIT = ("tests/integration/", "tests/faults/")
_FIRST, _LAST = 0.04, 0.85
"""Where the tests that wait are, among those that compute: the first JVMs find archives."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with the tests that need few kernels; then mix, file by file."""
    files = [*dict.fromkeys(map(_file, items))]
    waiting = [file for file in files if file.startswith(_WAIT)]
    computing = [file for file in files if not file.startswith(_WAIT)]
    places = {file: at / len(computing) for at, file in enumerate(computing)}
    step = (_LAST - _FIRST) / max(len(waiting), 1)
    places |= {file: _FIRST + step * at for at, file in enumerate(waiting)}
    places |= dict.fromkeys(set(EARLY) & set(files), -1.0)
    items.sort(key=lambda item: (places[_file(item)], _file(item)))


def _file(item):
    return item.nodeid.split("::", maxsplit=1)[0]
