"""Which files of a bucket are merged: the latest, while those before are not much larger."""

from __future__ import annotations

import pytest

from streamreasoner.backends.spark.tables.bucket_files import File, tail


@pytest.mark.parametrize(
    ("sizes", "count", "before"),
    [
        ([5], 1, -1),
        ([5, 5, 5], 3, -1),
        ([1_000, 5, 5, 5], 3, 0),
        ([1_000, 300, 100, 5, 5], 2, 2),
        ([1_000, 300, 100, 20, 10], 5, -1),
        ([5, 1_000], 2, -1),
    ],
)
def test_a_much_larger_file_is_left_alone(sizes, count, before):
    """Files of one epoch each, in any order: how many are one, and the epoch before them."""
    files = [File(f"{epoch}", size, 1, epoch) for epoch, size in enumerate(sizes)]

    assert tail(files) == tail(files[::-1]) == (count, before)


def test_files_of_an_epoch_are_as_one():
    """A large epoch is in several files because it is large, so they need not be one."""
    parts = [File(f"{part}", 100, 1, 0) for part in range(20)]

    assert tail(parts) == (1, -1)
    assert tail([*parts, File("later", 5, 1, 1)]) == (1, 0)


def test_rows_are_written_again_a_few_times_only():
    """As a bucket grows by small files that are merged by 16, it is written some times over."""
    files, written = [], 0
    for epoch in range(10_000):
        files.append(File("", 1, 1, epoch))
        count, before = tail(files)
        if count >= 16:
            kept = [file for file in files if file.epoch <= before]
            size = sum(file.size for file in files[len(kept) :])
            files = [*kept, File("", size, 1, epoch)]
            written += size

    assert len(files) < 40
    assert written < 20 * 10_000
