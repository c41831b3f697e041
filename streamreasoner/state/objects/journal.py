"""The journal: which files a state in an object store has. Invariant: one writer, and no gap.

The journal is a sequence of objects `journal/0`, `journal/1`, ... Each says how the files have
changed since the one before. Creating the next one is the only step that changes the state, and a
store creates an object only if there is none. So a process that has missed an entry of another one
cannot write any more:

- A process reads the journal, and then *claims* it with an entry of its own, which is the next one
  if nothing has been written since. From then on every entry of an earlier process fails.
- If the answer to a request is lost, the entry is there and is the same, byte for byte. Each entry
  names its writer, so no other process has the same bytes.
- An entry that is `whole` lists all files. Entries before the newest such one are deleted, except
  claims: an earlier process would find the number of its next entry free again.

Small files are in the entries, others are objects with random names that are never used again:
what a process uploads without an entry is in no one's way.
"""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import msgspec

from streamreasoner.errors import StateError
from streamreasoner.state.delta import seal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamreasoner.state.objects.bucket import Bucket

FORMAT: Final = 1
FOLDER: Final = "journal"
FILES: Final = "files"
ENTRIES_BETWEEN_WHOLE: Final = 128
REQUESTS: Final = 16
"""How many requests are under way at a time."""
_TRIES: Final = 5
_DIGITS: Final = 20


class Content(msgspec.Struct, frozen=True, array_like=True):
    """The content of one file.

    Attributes:
        digest: SHA-256 of its bytes.
        key: The object that it is, empty if it is small.
        data: Its bytes if it is small.
    """

    digest: str
    key: str = ""
    data: bytes = b""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """How the files have changed.

    Attributes:
        number: Its place in the journal.
        writer: The process that has written it.
        claim: Whether the process begins with it; then nothing has changed.
        whole: Whether it lists all files.
        ended: Whether the process will not write any more.
        files: Path, relative to the state directory, to new content.
        gone: Paths of files that are deleted.
        claims: If it is whole, the numbers of all claims before it.
        format: How it is written.
    """

    number: int
    writer: str
    claim: bool = False
    whole: bool = False
    ended: bool = False
    files: dict[str, Content] = {}
    gone: list[str] = []
    claims: list[int] = []
    format: int = FORMAT


class Journal:
    """The journal of one state.

    Args:
        bucket: Where it is.

    Attributes:
        files: The files of the state, by path.
        last: The newest entry that was read or written, None before the first.
        claimed: Whether this process may write.
    """

    def __init__(self, bucket: Bucket) -> None:
        self.claimed = False
        self._bucket = bucket
        self._writer = uuid.uuid4().hex
        self._since_whole = 0
        self._claims: list[int] = []
        self.files: dict[str, Content] = {}
        self.last: Entry | None = None

    def read(self) -> None:
        """Read the journal to its end.

        Raises:
            StateError: An entry is missing or damaged.
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        for _ in range(_TRIES):
            try:
                entries = self._newest()
            except FileNotFoundError:
                # Deleted after it was listed, so there is a newer one that is whole.
                continue
            self.files, self.last = {}, None
            for entry in entries:
                self._apply(entry)
            return
        raise StateError(
            f"The journal of {self._bucket.url} changes faster than it can be read. Try again."
        )

    def claim(self, *, ended: bool = False) -> None:
        """Become the only writer.

        Args:
            ended: What the entry says of the process.

        Raises:
            StateError: Another process has written since `read`, or the store replaces objects.
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        uploaded = self._bucket.keys(FILES)
        entry = Entry(
            number=self._next,
            writer=self._writer,
            claim=True,
            whole=self.last is None,
            ended=ended,
        )
        self._write(entry)
        if self._bucket.create(_key(entry.number), _encoded(entry)):
            raise StateError(
                f"{self._bucket.url} (state.object_store) replaces objects that exist, so two "
                "processes could write one state. Use a store with conditional writes "
                "(If-None-Match), as S3, Azure and Google have."
            )
        # Long after `read`, the entry may have taken a number whose entry was deleted.
        if max(map(_number, self._bucket.keys(FOLDER))) != entry.number:
            raise self._rival()
        self.claimed = True
        used = {content.key for content in self.files.values()}
        self._bucket.delete(key for key in uploaded if key not in used)

    def append(
        self,
        files: Mapping[str, Content],
        gone: Sequence[str],
        *,
        ended: bool = False,
        alone: bool = False,
    ) -> None:
        """Change the state, in one step; then delete what no entry needs any more.

        Args:
            files: Path to new content, whose objects are uploaded.
            gone: Paths of files that are deleted.
            ended: Whether nothing will be written any more.
            alone: Whether no trace of deleted files may be left.

        Raises:
            StateError: Another process has claimed the state.
            EnvironmentSetupError: The store does not answer, or refuses; the entry may be there.
        """
        before = dict(self.files)
        after = {path: content for path, content in before.items() if path not in set(gone)}
        after |= files
        whole = alone or self._since_whole >= ENTRIES_BETWEEN_WHOLE
        entry = Entry(
            number=self._next,
            writer=self._writer,
            whole=whole,
            ended=ended,
            files=after if whole else dict(files),
            gone=[] if whole else list(gone),
            claims=self._claims if whole else [],
        )
        self._write(entry)
        used = {content.key for content in after.values()}
        self._bucket.delete(
            content.key for content in before.values() if content.key and content.key not in used
        )
        if whole:
            self._bucket.delete(self._entries_before(entry.number))

    def unused(self) -> list[str]:
        """The keys of objects that the state does not need, once a whole entry was written.

        Raises:
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        used = {content.key for content in self.files.values()}
        objects = [key for key in self._bucket.keys(FILES) if key not in used]
        return [*self._entries_before(self._next - 1), *objects]

    def _entries_before(self, number: int) -> list[str]:
        """The keys of entries before a whole one, without claims, which have no content."""
        needed = {*map(_key, (*self._claims, number))}
        return [key for key in self._bucket.keys(FOLDER) if key not in needed]

    @property
    def _next(self) -> int:
        return 0 if self.last is None else self.last.number + 1

    def _write(self, entry: Entry) -> None:
        """Create the next entry."""
        key, data = _key(entry.number), _encoded(entry)
        if not self._bucket.create(key, data) and self._bucket.read(key) != data:
            raise self._rival()
        self._apply(entry)

    def _apply(self, entry: Entry) -> None:
        if entry.whole:
            self.files, self._since_whole = dict(entry.files), 0
            self._claims = list(entry.claims)
        else:
            for path in entry.gone:
                self.files.pop(path, None)
            self.files |= entry.files
            self._since_whole += 1
        if entry.claim:
            self._claims = [*self._claims, entry.number]
        self.last = entry

    def _newest(self) -> list[Entry]:
        """The newest entry that is whole, and all after it."""
        numbers = sorted(map(_number, self._bucket.keys(FOLDER)), reverse=True)
        found: list[Entry] = []
        with ThreadPoolExecutor(REQUESTS) as requests:
            for start in range(0, len(numbers), REQUESTS):
                for entry in requests.map(self._entry, numbers[start : start + REQUESTS]):
                    if found and found[-1].number != entry.number + 1:
                        raise self._damage(entry.number + 1, "is missing")
                    found.append(entry)
                    if entry.whole:
                        return found[::-1]
        if numbers:
            raise self._damage(numbers[-1] - 1, "is missing")
        return []

    def _entry(self, number: int) -> Entry:
        data = self._bucket.read(_key(number))
        if data is None:
            raise FileNotFoundError
        digest, _, body = data.partition(b"\n")
        if digest.decode("latin-1") != seal.digest(body):
            raise self._damage(number, "is damaged")
        form = _decode_form(body).format
        if form > FORMAT:
            raise StateError(
                f"The state in {self._bucket.url} has a journal of format {form}; this release "
                f"reads up to {FORMAT}. Use the release that wrote it, or a later one."
            )
        return _decode(body)

    def _rival(self) -> StateError:
        return StateError(
            f"Another process has written to the state in {self._bucket.url} "
            "(state.object_store) since this one has read it. If it was to take over, this one is "
            "no longer needed. Otherwise stop it, and restart this one."
        )

    def _damage(self, number: int, what: str) -> StateError:
        return StateError(
            f"The object {_key(number)} in {self._bucket.url} {what}, so the state there is not "
            "known. Restore the objects; or delete that folder, and begin from nothing with: "
            "streamreasoner reset --config FILE"
        )


class _Form(msgspec.Struct):
    """What is read of an entry of any release."""

    format: int


_decode = msgspec.msgpack.Decoder(Entry).decode
_decode_form = msgspec.msgpack.Decoder(_Form).decode


def _key(number: int) -> str:
    return f"{FOLDER}/{number:0{_DIGITS}}"


def _number(key: str) -> int:
    name = key.rpartition("/")[2]
    # Nothing else is there, unless somebody has put it there: it has no part in the order.
    return int(name) if name.isdigit() else -1


def _encoded(entry: Entry) -> bytes:
    body = msgspec.msgpack.encode(entry)
    return f"{seal.digest(body)}\n".encode() + body
