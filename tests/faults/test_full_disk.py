"""A disk that is full or read-only: a write ends with one message, and a restart loses nothing.

A limit on the size of files fails at each place that writes, and needs no rights. A small file
system of its own is really full or read-only, and needs user namespaces.
"""

from __future__ import annotations

import random
import re
import resource
import shlex
import subprocess

import pytest
from storage_writer import COMMAND, ENVIRONMENT, check_state
from thorough import THOROUGH

LIMITS = 50 if THOROUGH else 4
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"]


def written(output, before=-1):
    """The last epoch that a writer acknowledged."""
    return max([before, *map(int, output.split())])


def run_limited(directory, limit):
    """A writer whose files may have so many bytes."""
    return subprocess.run(
        [*COMMAND, directory, "40"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


def in_namespace(script):
    """Run a script with mounts of its own; skips where users may not have namespaces."""
    try:
        subprocess.run([*NAMESPACE, "mount -t tmpfs none /mnt"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs user namespaces with mounts (unshare --user --mount): {error}")
    return subprocess.run(
        [*NAMESPACE, script], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


def test_each_write_may_fail(tmp_path):
    """Whichever file cannot be written, acknowledged epochs stay, and the next process goes on."""
    rng, last, refused = random.Random(4), -1, 0
    for number in range(LIMITS):
        limit = 1_000 if number == 0 else rng.randrange(1_500, 12_000)
        process = run_limited(tmp_path, limit)
        last = written(process.stdout, last)
        assert "Traceback" not in process.stderr, process.stderr
        if process.returncode:
            refused += 1
            assert re.search("cannot be (created|written): .*File too large", process.stderr)
            assert "Fix the cause, then restart" in process.stderr
        last = check_state(tmp_path, last)
    process = run_limited(tmp_path, resource.RLIM_INFINITY)
    assert process.returncode == 0, process.stderr
    assert check_state(tmp_path, last + 40) == last + 40
    assert refused
    print(f"{LIMITS} limits, {refused} refusals, {last + 41} epochs")  # noqa: T201


def test_a_full_disk_that_is_freed(tmp_path):
    """Epochs are acknowledged until the disk is full, and again when it has room."""
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    writer = shlex.join([*COMMAND, str(disk / "state")])
    process = in_namespace(f"""
        mount -t tmpfs -o size=2m none {disk}
        head -c 1600000 /dev/zero > {disk}/ballast
        {writer} && exit 3
        rm {disk}/ballast
        {writer} 20
        cp -r {disk}/state {copy}
    """)
    assert process.returncode == 0, process.stderr
    assert "No space left" in process.stderr
    assert "Traceback" not in process.stderr
    epochs = [int(word) for word in process.stdout.split()]
    # The epoch that did not fit may be complete, although it was not acknowledged.
    assert len(epochs) == len(set(epochs))
    assert check_state(copy, epochs[-1]) == epochs[-1]


def test_a_read_only_disk(tmp_path):
    """A writer is refused with the cause, and goes on when the disk can be written."""
    state = tmp_path / "state"
    before = written(run_limited(state, resource.RLIM_INFINITY).stdout)
    process = in_namespace(f"""
        mount --bind {state} {state}
        mount -o remount,bind,ro {state}
        {shlex.join([*COMMAND, str(state), "1"])}
    """)
    assert process.returncode == 1
    assert process.stdout == ""
    assert "Read-only file system" in process.stderr
    assert "Traceback" not in process.stderr
    assert check_state(state, before) == before
    assert written(run_limited(state, resource.RLIM_INFINITY).stdout) == before + 40
