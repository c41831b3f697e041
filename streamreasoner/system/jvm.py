"""Java and its jars: which `java` to run, where jars are downloaded from and cached.

Invariant: a directory of jars that this module returns is complete. An interrupted download is
never visible, because jars are downloaded next to the cache and renamed into it.

Environment variables:
    STREAMREASONER_CACHE_DIR: where jars are kept; default `$XDG_CACHE_HOME/streamreasoner`.
    STREAMREASONER_MAVEN_REPOSITORY: the only repository to download from; default Maven Central.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import html
import importlib.util
import logging
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from streamreasoner.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CACHE_VARIABLE = "STREAMREASONER_CACHE_DIR"
REPOSITORY_VARIABLE = "STREAMREASONER_MAVEN_REPOSITORY"
MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"
OLDEST_JAVA = 17
_LIST = "jars.txt"
_SCRATCH = ".download-"
_SAID = 300

_RESOLVE_SECONDS = 600
# The watcher leads the group; its pipe closes when this process ends, however it ends.
_WATCHER = ("/bin/sh", "-c", "read -r _; kill -9 0")
_log = logging.getLogger(__name__)


def java(*, newest: int | None = None) -> str:
    """Path of the `java` command, from JAVA_HOME or else PATH.

    Args:
        newest: The newest major version that the caller supports; None means any.

    Raises:
        EnvironmentSetupError: Java is missing, or its version is not supported.
    """
    allowed = f"{OLDEST_JAVA} or newer" if newest is None else f"{OLDEST_JAVA} to {newest}"
    advice = f"Install a Java runtime, version {allowed}, and put it on PATH or set JAVA_HOME."
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if command is None:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "no java on PATH"
        raise EnvironmentSetupError(f"Java was not found: {where}. {advice}")
    try:
        result = subprocess.run(
            [command, "-version"], capture_output=True, text=True, check=False, timeout=60
        )
        banner = result.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentSetupError(f"Java at {command} does not run: {error}. {advice}") from None
    version = re.search(r'version "(?:1\.)?(\d+)', banner)
    if version is None:
        # Java that cannot start says why: memory, a library, another machine's program.
        said = " ".join(f"{banner} {result.stdout}".split())[:_SAID] or "nothing"
        raise EnvironmentSetupError(
            f"{command} -version printed no version of Java, but: {said}. Remove what stops it, "
            f"or use another Java, version {allowed}."
        )
    major = int(version[1])
    if major < OLDEST_JAVA or (newest is not None and major > newest):
        raise EnvironmentSetupError(f"Java {major} at {command} is not supported. {advice}")
    return command


class ProcessGroup:
    """A process group that dies with this process, even when SIGKILL ends it.

    Children join it with `Popen(..., process_group=group.id)`.
    """

    def __init__(self) -> None:
        self._watcher = subprocess.Popen(_WATCHER, stdin=subprocess.PIPE, process_group=0)

    @property
    def id(self) -> int:
        """Id to pass as `process_group`."""
        return self._watcher.pid

    def close(self) -> None:
        """Kill the group; a second call does nothing."""
        if self._watcher.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._watcher.pid, signal.SIGKILL)
        self._watcher.wait()
        if self._watcher.stdin is not None:
            self._watcher.stdin.close()


def cache_directory() -> Path:
    """This program's cache directory; it may not exist yet.

    Raises:
        EnvironmentSetupError: None is set, and the user has no home directory.
    """
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen, "streamreasoner")
    try:
        return Path.home() / ".cache" / "streamreasoner"
    except RuntimeError:
        raise EnvironmentSetupError(
            f"This user has no home directory for the cache. Set {CACHE_VARIABLE} to a writable "
            "directory, or HOME."
        ) from None


def ivy_settings() -> Path:
    """An Ivy settings file with a single repository, so that no other can supply a jar.

    Raises:
        EnvironmentSetupError: The cache directory cannot be written.
    """
    repository = os.environ.get(REPOSITORY_VARIABLE, MAVEN_CENTRAL)
    text = (
        '<ivysettings><settings defaultResolver="maven"/><resolvers>'
        f'<ibiblio name="maven" m2compatible="true" root="{html.escape(repository)}"/>'
        "</resolvers></ivysettings>\n"
    )
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = _writable_cache() / f"ivysettings-{digest}.xml"
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(text)
        Path(file.name).replace(path)
    return path


def jars(name: str, coordinates: Sequence[str]) -> Path:
    """A directory with the jars of some Maven modules and of all their dependencies.

    Args:
        name: Readable part of the directory's name.
        coordinates: `organisation:module:revision` of each module.

    Raises:
        EnvironmentSetupError: Java is missing, the repository cannot be reached, or the cache
            directory cannot be written.
    """
    target = jars_directory(name, coordinates)
    if _is_whole(target):
        return target
    cache = _writable_cache()
    with _locked(cache / ".lock"):
        if not _is_whole(target):
            shutil.rmtree(target, ignore_errors=True)
            for unfinished in cache.glob(f"{_SCRATCH}*"):
                shutil.rmtree(unfinished, ignore_errors=True)
            _log.info("Downloading %s and its dependencies into %s.", name, target)
            scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=cache))
            try:
                _retrieve(coordinates, scratch)
                names = sorted(each.name for each in (scratch / "jars").iterdir())
                (scratch / "jars" / _LIST).write_text("\n".join(names))
                (scratch / "jars").rename(target)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return target


def are_downloaded(name: str, coordinates: Sequence[str]) -> bool:
    """Whether `jars` needs no network."""
    return _is_whole(jars_directory(name, coordinates))


def jars_directory(name: str, coordinates: Sequence[str]) -> Path:
    """Where `jars` puts these modules; the directory exists once they have been downloaded."""
    digest = hashlib.sha256(" ".join(coordinates).encode()).hexdigest()[:12]
    return cache_directory() / f"{name}-{digest}"


def _is_whole(directory: Path) -> bool:
    """Whether a directory has every jar of its list; cleaners of caches delete single files."""
    try:
        listed = (directory / _LIST).read_text().splitlines()
    except OSError:
        return directory.is_dir()  # of a release that wrote no list
    return all((directory / name).is_file() for name in listed)


def _retrieve(coordinates: Sequence[str], scratch: Path) -> None:
    modules = [coordinate.split(":") for coordinate in coordinates]
    dependencies = "".join(
        f'<dependency org="{organisation}" name="{module}" rev="{revision}" conf="default"/>'
        for organisation, module, revision in modules
    )
    (scratch / "ivy.xml").write_text(
        '<ivy-module version="2.0"><info organisation="local" module="jars"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>\n"
    )
    command = [java(), "-jar", str(_ivy_jar()), "-settings", str(ivy_settings())]
    command += ["-cache", str(scratch / "cache"), "-ivy", str(scratch / "ivy.xml")]
    command += ["-confs", "default", "-types", "jar", "bundle"]
    command += ["-retrieve", f"{scratch}/jars/[artifact]-[revision](-[classifier]).[ext]"]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_RESOLVE_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentSetupError(
            f"Downloading {', '.join(coordinates)} took more than {_RESOLVE_SECONDS} s."
        ) from None
    if result.returncode != 0 or not (scratch / "jars").is_dir():
        repository = os.environ.get(REPOSITORY_VARIABLE, MAVEN_CENTRAL)
        last = "\n".join((result.stdout + result.stderr).strip().splitlines()[-8:])
        raise EnvironmentSetupError(
            f"Cannot download {', '.join(coordinates)} from {repository}. Check the network, or "
            f"set {REPOSITORY_VARIABLE} to a mirror. Ivy reported:\n{last}"
        )


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    roots = [] if spec is None else list(spec.submodule_search_locations or [])
    ivy = [jar for root in roots for jar in Path(root, "jars").glob("ivy-*.jar")]
    if not ivy:
        raise EnvironmentSetupError("PySpark's jars are missing. Reinstall the package pyspark.")
    return ivy[0]


def _writable_cache() -> Path:
    cache = cache_directory()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            return cache
    except OSError as error:
        raise EnvironmentSetupError(
            f"The cache directory {cache} cannot be written ({error.strerror}). "
            f"Set {CACHE_VARIABLE} to a writable directory."
        ) from None


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
