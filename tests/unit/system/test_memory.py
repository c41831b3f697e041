"""A process that keeps freed memory does not get it from the system again."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import resource
import threading
from streamreasoner.system.memory import keep_freed_memory

keep_freed_memory()
import pyarrow as pa

assert pa.default_memory_pool().backend_name == "system"

def allocate():
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        b"x" * (100 << 20)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

thread = threading.Thread(target=allocate)
thread.start()
thread.join()
"""


def test_memory_that_a_thread_has_freed_is_used_again() -> None:
    """The last allocation of a thread has no page that the first did not have."""
    output = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    ).stdout
    first, second = map(int, output.split())
    assert second * 10 < first
