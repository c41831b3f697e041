"""A folder of an object store. Invariant: an object that exists is never replaced."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from streamreasoner.errors import EnvironmentSetupError
from streamreasoner.system.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from obstore.store import ClientConfig, RetryConfig

_KEY: Final = "state.object_store"
# Without encryption only where the endpoint of the environment is an address of http.
_CLIENT: Final[ClientConfig] = {"allow_http": True, "connect_timeout": "5s", "timeout": "2m"}
_RETRIES: Final[RetryConfig] = {"max_retries": 12, "retry_timeout": timedelta(minutes=3)}
_FEW_RETRIES: Final[RetryConfig] = {"max_retries": 3, "retry_timeout": timedelta(seconds=15)}
_NO_BUCKET: Final = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")
_NO_RIGHTS: Final = (
    "401 ",
    "403 ",
    "AccessDenied",
    "AuthorizationFailure",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "credential",
)
_SETTINGS: Final = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role of the pod",
    "gs": "GOOGLE_SERVICE_ACCOUNT, or the service account of the pod",
    "az": "AZURE_STORAGE_ACCOUNT_KEY, or the identity of the pod",
    "abfs": "AZURE_STORAGE_ACCOUNT_KEY, or the identity of the pod",
    "abfss": "AZURE_STORAGE_ACCOUNT_KEY, or the identity of the pod",
}
_NETWORK: Final = "HTTP error"
_PATIENCE_SECONDS: Final = 180.0
_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 10.0
_CHUNK: Final = 1 << 22
T = TypeVar("T")


class Bucket:
    """The objects under one address.

    The environment configures the client, by the variables of each store's own tools.

    Args:
        url: The address, such as `s3://bucket/folder`.

    Raises:
        EnvironmentSetupError: The extra is not installed, or the client refuses its settings.
    """

    def __init__(self, url: str) -> None:
        require("objects", _KEY)
        from obstore.exceptions import BaseError  # noqa: PLC0415 - an extra
        from obstore.store import from_url  # noqa: PLC0415

        self.url = url
        self._failure = BaseError
        with self._explained():
            self._store = from_url(url, client_options=_CLIENT, retry_config=_RETRIES)
            self._impatient = from_url(url, client_options=_CLIENT, retry_config=_FEW_RETRIES)

    def check(self) -> None:
        """Ask for a list, without patience.

        Raises:
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        import obstore  # noqa: PLC0415

        with self._explained():
            for _ in obstore.list(self._impatient, "journal"):
                return

    def create(self, key: str, data: bytes) -> bool:
        """Create an object, unless there is one; returns whether it was created.

        If an answer is lost, a second try finds what the first one has created: false.

        Raises:
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        import obstore  # noqa: PLC0415
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415

        def create() -> bool:
            try:
                obstore.put(self._store, key, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

        return self._patiently(create)

    def upload(self, key: str, file: Path) -> None:
        """Write a file to a new key.

        Raises:
            EnvironmentSetupError: The store does not answer, or refuses.
            FileNotFoundError: The file does not exist.
        """
        import obstore  # noqa: PLC0415

        with file.open("rb") as data:

            def upload() -> None:
                data.seek(0)
                obstore.put(self._store, key, data)

            self._patiently(upload)

    def read(self, key: str) -> bytes | None:
        """The content of a small object, None if there is none.

        Raises:
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        import obstore  # noqa: PLC0415

        def read() -> bytes | None:
            try:
                return bytes(obstore.get(self._store, key).bytes())
            except FileNotFoundError:
                return None

        return self._patiently(read)

    def download(self, key: str, file: Path) -> bool:
        """Write an object to a file; false if there is none.

        Raises:
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        import obstore  # noqa: PLC0415

        def download() -> bool:
            try:
                found = obstore.get(self._store, key)
            except FileNotFoundError:
                return False
            with file.open("wb") as target:
                target.writelines(found.stream(min_chunk_size=_CHUNK))
            return True

        return self._patiently(download)

    def keys(self, folder: str) -> list[str]:
        """The keys in a folder, in order.

        Raises:
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        import obstore  # noqa: PLC0415

        return self._patiently(
            lambda: sorted(
                each["path"] for page in obstore.list(self._store, folder) for each in page
            )
        )

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects, which need not exist.

        Raises:
            EnvironmentSetupError: The store does not answer, or refuses.
        """
        import obstore  # noqa: PLC0415

        if listed := sorted(keys):
            self._patiently(lambda: obstore.delete(self._store, listed))

    def _patiently(self, act: Callable[[], T]) -> T:
        """Repeat what fails because of the network; the client does not, where it may be done."""
        deadline, pause = time.monotonic() + _PATIENCE_SECONDS, _PAUSE_SECONDS
        with self._explained():
            while True:
                try:
                    return act()
                except self._failure as error:
                    if _NETWORK not in str(error) or time.monotonic() > deadline:
                        raise
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what is wrong with the store, and what to do."""
        try:
            yield
        except (self._failure, FileNotFoundError, PermissionError) as error:
            raise EnvironmentSetupError(self._explanation(str(error))) from None

    def _explanation(self, text: str) -> str:
        scheme = self.url.partition(":")[0]
        where, said = f"{self.url} ({_KEY})", _said(text)
        if any(word in text for word in _NO_BUCKET):
            return f"{where}: there is no such bucket. Create it, or correct the address. ({said})"
        if any(word in text for word in _NO_RIGHTS):
            return (
                f"{where} refuses access. Give this process credentials ({_SETTINGS[scheme]}) that "
                f"may list, read, write and delete objects there. ({said})"
            )
        return (
            f"{where} does not answer as it should. Check the address, and the variables of the "
            f"environment with the endpoint and the region. ({said})"
        )


def _said(text: str) -> str:
    """What the client says, on one line and without its debugging output."""
    return " ".join(text.partition("\n\nDebug source")[0].split())[:400].rstrip(".")
