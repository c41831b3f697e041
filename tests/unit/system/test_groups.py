"""Limits of control groups, as files that an operating system writes."""

from __future__ import annotations

import os

import pytest

from streamreasoner.system.memory import physical_memory
from streamreasoner.system.processors import processors

SECOND = "0::/system.slice/reasoner.service\n"
FIRST = (
    "9:name=systemd:/system.slice\n4:memory:/docker/0d448b\n"
    "3:cpu,cpuacct:/docker/0d448b\n0::/system.slice\n"
)


def written(folder, own, files):
    """A folder of control groups, and the file with the groups of a process."""
    for name, content in files.items():
        path = folder / "mounted" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / "own").write_text(own)
    return folder / "mounted", folder / "own"


@pytest.mark.parametrize(
    ("own", "files", "allowed"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}, 8),
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "1600000 100000\n"}, 8),
        ("", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ("", {"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        (SECOND, {"system.slice/reasoner.service/cpu.max": "200000 100000\n"}, 2),
        (SECOND, {"system.slice/cpu.max": "300000 100000\n"}, 3),
        (
            SECOND,
            {
                "system.slice/cpu.max": "100000 50000\n",
                "system.slice/reasoner.service/cpu.max": "400000 100000\n",
            },
            2,
        ),
        (SECOND, {"other.slice/cpu.max": "100000 100000\n"}, 8),
        (
            FIRST,
            {
                "cpu/docker/0d448b/cpu.cfs_quota_us": "400000\n",
                "cpu/docker/0d448b/cpu.cfs_period_us": "100000\n",
            },
            4,
        ),
        ("", {"cpu/cpu.cfs_quota_us": "300000\n"}, 8),
        ("", {}, 8),
    ],
)
def test_a_quota_limits_processors(tmp_path, monkeypatch, own, files, allowed):
    """The least quota of a control group and those around it limits processors as affinity does."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))

    assert processors(*written(tmp_path, own, files)) == allowed


def test_processors_without_control_groups(tmp_path):
    """Without quotas, affinity decides."""
    assert processors(tmp_path / "none", tmp_path / "nowhere") == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("own", "files", "allowed"),
    [
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {"memory.max": "67108864\n"}, 67108864),
        ("", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        (FIRST, {"memory/docker/memory.limit_in_bytes": "67108864\n"}, 67108864),
        (SECOND, {"system.slice/memory.max": "67108864\n"}, 67108864),
        ("", {}, None),
    ],
)
def test_a_limit_of_memory(tmp_path, own, files, allowed):
    """The least limit of memory counts, and the machine's memory where there is none."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    assert physical_memory(*written(tmp_path, own, files)) == (allowed or machine)
