"""A power cut: what is not flushed is kept, old, absent, empty, cut or zeroed, and nothing is lost.

Real calls of fsync are observed. After one of them, a copy of the tables is made in which every
file whose bytes or whose entry in its directory was not flushed is lost in one of these ways.
"""

from __future__ import annotations

import os
import random
import stat
import threading
from pathlib import Path

from storage_builders import commit_one, open_tables, restored, terms, trace_rows
from thorough import THOROUGH

from streamreasoner.state.maintenance import maintain

IMAGES = 500 if THOROUGH else 25
EPOCHS = 12 * IMAGES // 10


class Disk:
    """What is durable below a directory.

    Attributes:
        acknowledged: The last epoch that the writer knows to be durable.
        images: (folder, acknowledged epoch) of each power cut.
    """

    def __init__(self, root, images, rng):
        self.root, self.folder, self.rng = root, images, rng
        self.acknowledged, self.images, self.lost = -1, [], 0
        self._fsync, self._lock = os.fsync, threading.Lock()
        self._contents, self._entries = {}, {}

    def fsync(self, descriptor):
        """Flush, note what is durable now, and now and then cut the power."""
        with self._lock:
            self._fsync(descriptor)
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            if self.root not in (path, *path.parents):
                return
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                self._entries[path] = {file.name: file.inode() for file in os.scandir(path)}
            else:
                self._contents[status.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()
            if self.acknowledged >= 0 and self.rng.random() < 0.2 and len(self.images) < IMAGES:
                self._cut()

    def _cut(self):
        image = self.folder / str(len(self.images))
        self.images.append((image, self.acknowledged))
        for folder, _, names in os.walk(self.root):
            target = image / Path(folder).relative_to(self.root)
            target.mkdir(parents=True)
            for name in names:
                try:
                    content = self._survives(Path(folder, name))
                except FileNotFoundError:
                    continue
                if content is not None:
                    (target / name).write_bytes(content)

    def _survives(self, path):
        """The content of a file after the power cut, None if it is gone."""
        inode, data = path.stat().st_ino, path.read_bytes()
        entry = self._entries.get(path.parent, {}).get(path.name)
        whole = self._contents.get(inode) == data
        if whole and entry == inode:
            return data
        self.lost += 1
        outcomes = [data]
        if not whole:
            outcomes += [b"", data[: len(data) // 2], bytes(len(data))]
        if entry != inode:
            outcomes.append(self._contents.get(entry))
        return self.rng.choice(outcomes)


def test_acknowledged_epochs_survive(tmp_path, monkeypatch):
    """After each power cut the tables have all acknowledged epochs, and go on from there."""
    state = tmp_path / "state"
    disk = Disk(state, tmp_path / "images", random.Random(6))
    monkeypatch.setattr(maintain, "EPOCHS_BETWEEN_RUNS", 8)
    monkeypatch.setattr("os.fsync", disk.fsync)
    with open_tables(state, log_entries=4, unused_files=4) as tables:
        for epoch in range(EPOCHS):
            commit_one(tables, epoch, trace=trace_of(epoch), new_terms=[f"t{epoch}"])
            disk.acknowledged = epoch
            tables.maintain_if_due()
    monkeypatch.undo()
    assert len(disk.images) == IMAGES
    assert disk.lost
    for image, acknowledged in disk.images:
        check(image, acknowledged)
    print(f"{IMAGES} power cuts in {EPOCHS} epochs, {disk.lost} files not flushed")  # noqa: T201


def trace_of(epoch):
    """The rows of one epoch."""
    return [trace_rows("p", ((epoch,), 0, 1))]


def check(image, acknowledged):
    """Start from an image, and repeat the epoch that may be there in part."""
    with open_tables(image) as tables:
        version = tables.version()
        assert version in {acknowledged, acknowledged + 1}
        following = version + 1
        trace, dictionary = restored(tables, following)
        assert trace == {"p": {((n,), 0): 1 for n in range(following)}}
        assert dictionary.terms(0, following) == terms(*(f"t{n}" for n in range(following)))
        commit_one(
            tables, following, trace=trace_of(following), new_terms=new_terms(tables, following)
        )
    with open_tables(image) as tables:
        assert tables.version() == following
        assert restored(tables, following + 1)[0]["p"].keys() == {
            ((n,), 0) for n in range(following + 1)
        }


def new_terms(tables, epoch):
    """The terms of an epoch that the table lacks."""
    return [f"t{number}" for number in range(tables.terms_stored, epoch + 1)]
