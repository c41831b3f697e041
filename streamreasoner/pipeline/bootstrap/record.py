"""What is known of a bootstrap, in a file of the state directory.

Invariant: what decides its epochs is on the disk before the first of them, so a run that goes on
after a crash has the same epochs, whatever has become of the sources.

| the file says | the next run |
|---|---|
| nothing | reads the sources |
| which pieces there are | goes on with the one after the last committed one |
| that it is done | is refused; `run` goes on from the topics |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from streamreasoner.counts import counted
from streamreasoner.errors import StateError
from streamreasoner.system import disk

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.config.process import StateConfig

_NAME = "bootstrap.json"


class Source(msgspec.Struct, frozen=True):
    """A source of facts.

    Attributes:
        name: As it was named.
        size: Bytes of a file; 0 for a table or a state, which may be written to meanwhile.
        digest: SHA-256 of a file, empty for a table or a state.
    """

    name: str
    size: int = 0
    digest: str = ""


class Request(msgspec.Struct, frozen=True):
    """What a user asks for.

    Attributes:
        sources: The sources, in their order.
        starting_offsets: Where the input begins, as the user says it.
        facts_per_epoch: Most facts in an epoch.
        ts: Event time of all facts, milliseconds since 1970; None if they have none.
        topic: The input topic that counts as having asserted the facts; empty for none.
        publish: Whether changes are published.
        header: Whether CSV files begin with a header line.
        base: What relative IRIs are resolved against; empty for the address of each file.
    """

    sources: tuple[Source, ...]
    starting_offsets: str
    facts_per_epoch: int
    ts: int | None = None
    topic: str = ""
    publish: bool = True
    header: bool = False
    base: str = ""


class Bootstrap(msgspec.Struct, frozen=True):
    """A bootstrap.

    Attributes:
        request: What was asked for.
        now: When it began, milliseconds since 1970: the time of its epochs if facts have none.
        starts: Where the input begins: topic -> partition -> offset.
        pieces: The digest of the facts of each epoch.
        facts: How many facts they have together.
        done: Whether all of them are committed.
    """

    request: Request
    now: int
    starts: dict[str, dict[str, int]]
    pieces: tuple[str, ...]
    facts: int
    done: bool = False

    @property
    def epochs(self) -> int:
        """How many epochs it has."""
        return len(self.pieces)

    @property
    def ts(self) -> int:
        """The event time of its epochs, milliseconds since 1970."""
        return self.now if self.request.ts is None else self.request.ts

    def finished(self) -> Bootstrap:
        """The same after the last epoch."""
        return msgspec.structs.replace(self, done=True)


_decode = msgspec.json.Decoder(Bootstrap).decode


class BootstrapFile:
    """The file.

    Args:
        directory: The state directory.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / _NAME

    def read(self) -> Bootstrap | None:
        """The bootstrap of the state, None if it has none.

        Raises:
            StateError: The file cannot be read.
        """
        try:
            return _decode(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StateError(
                f"{self._path} cannot be read ({error}). Restore it from a backup of the state "
                "directory."
            ) from None

    def interrupted(self, request: Request) -> Bootstrap | None:
        """The bootstrap that a request goes on with, None if the state has none.

        Raises:
            StateError: It is done, or is that of another request.
        """
        found = self.read()
        if found is None:
            return None
        if found.done:
            raise StateError(
                f"The state has been loaded already ({self._path}). Go on with: streamreasoner run "
                "--config CONFIG."
            )
        others = [
            f"{name.replace('_', ' ')}: {_shown(before)}, not {_shown(now)}"
            for name in Request.__struct_fields__
            if (before := getattr(found.request, name)) != (now := getattr(request, name))
        ]
        if others:
            raise StateError(
                f"Another bootstrap of this state was interrupted ({self._path}): "
                f"{'; '.join(others)}. Run it again as it was, or delete the state directory and "
                "the checkpoint and choose another pipeline.app_id."
            )
        return found

    def write(self, bootstrap: Bootstrap) -> None:
        """Replace the content; it is on the disk on return."""
        disk.write(self._path, msgspec.json.format(msgspec.json.encode(bootstrap)))
        disk.sync(self._path.parent)


def check_finished(state: StateConfig) -> None:
    """Refuse a state whose bootstrap is not done, or whose backup is not restored to its end.

    Raises:
        StateError: It was interrupted.
    """
    directory = state.directory
    if state.restoring.exists():
        raise StateError(
            f"The restore of this state ({directory}) was interrupted or refused. Run it again: "
            "streamreasoner restore BACKUP --config CONFIG"
        )
    found = BootstrapFile(directory).read()
    if found is None and state.pieces.exists():
        raise StateError(
            f"A first load of this state ({directory}) was interrupted while it read its sources. "
            f"Run streamreasoner bootstrap again, or delete {state.pieces} to begin without it."
        )
    if found is not None and not found.done:
        names = " ".join(source.name for source in found.request.sources)
        raise StateError(
            f"The first load of this state ({directory}) was interrupted. Run it again: "
            f"streamreasoner bootstrap {names} --config CONFIG, with the same options."
        )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(
            f"{each.name} ({counted(each.size, 'byte')}, SHA-256 {each.digest[:12]})"
            if each.digest
            else each.name
            for each in value
        )
    return "none" if value in (None, "") else str(value)
