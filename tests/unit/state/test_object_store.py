"""A state directory and its object store. Invariant: a start finds what was acknowledged last."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from object_store import Fault, object_store
from obstore.store import from_url
from thorough import THOROUGH

from streamreasoner.errors import EnvironmentSetupError, StateError
from streamreasoner.state.objects import journal
from streamreasoner.state.objects.bucket import Bucket
from streamreasoner.state.objects.held import check_copy
from streamreasoner.state.objects.journal import Journal
from streamreasoner.state.objects.mirror import INLINE, MARK, Mirror, check_directory

PATHS = (
    "app-id",
    "attempts.json",
    "checkpoint/offsets/0",
    "tables/trace/_delta_log/00000000000000000000.json",
    "tables/trace/part-0.parquet",
    "tables/trace/part-1.parquet",
)
TRANSIENT = (Fault.ERROR, Fault.BUSY, Fault.CUT, Fault.LOST)
LOCAL = ("lock", "spark.log", MARK)


@pytest.fixture(scope="module")
def store():
    """A server for all tests of the module."""
    with object_store() as running:
        yield running


@pytest.fixture(autouse=True)
def _without_faults(store):
    yield
    store.fault = lambda _method, _path: None


def content(directory):
    """Path to bytes of all files that are not the machine's own."""
    files = (path for path in Path(directory).rglob("*") if path.is_file())
    named = ((str(path.relative_to(directory)), path) for path in files)
    return {name: path.read_bytes() for name, path in named if name not in LOCAL}


def write(directory, path, data):
    """Write a file as a pipeline does: readers never see a part of it."""
    file = Path(directory) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f"_{file.name}.tmp")
    partial.write_bytes(data)
    partial.replace(file)


def opened(directory, url):
    """A mirror of a directory that now has what the store has, and may write."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    mirror = Mirror(Path(directory), url)
    mirror.fill()
    mirror.claim()
    return mirror


def once(store, chosen):
    """Let each request have a fault, and succeed when it is repeated."""
    failed = set()

    def fault(method, path):
        if (method, path) in failed:
            failed.discard((method, path))
            return None
        failed.add((method, path))
        return chosen()

    store.fault = fault


def until(store, requests, last):
    """Lose the connection for good after some requests; the last one is done, or not."""
    counted = iter(range(requests))

    def fault(_method, _path):
        if next(counted, None) is not None:
            return None
        store.fault = lambda _method, _path: Fault.DENIED
        return last

    store.fault = fault


WRITES = st.tuples(
    st.just("write"),
    st.sampled_from(PATHS),
    st.binary(min_size=1, max_size=8),
    st.sampled_from((1, INLINE)),
)
STEPS = st.lists(
    st.one_of(
        WRITES,
        WRITES,
        st.tuples(st.just("delete"), st.sampled_from(PATHS)),
        st.tuples(st.just("upload"), st.sampled_from((None, *TRANSIENT))),
        st.tuples(st.just("crash"), st.integers(0, 6), st.sampled_from((Fault.LOST, Fault.DENIED))),
        st.tuples(st.just("start"), st.booleans()),
    ),
    max_size=24,
)


@settings(max_examples=500 if THOROUGH else 12)
@given(STEPS)
def test_a_start_finds_what_was_uploaded(store, steps):
    """Whatever fails between: the last acknowledged content, or that of the attempt after it."""
    url = store.folder()
    store.fault = lambda _method, _path: None
    with TemporaryDirectory() as root:
        number = 0
        mirror = opened(f"{root}/0", url)
        possible = [{}]
        for step in (*steps, ("start", True)):
            here = f"{root}/{number}"
            match step:
                case ("write", path, data, times):
                    write(here, path, data * times)
                case ("delete", path):
                    (Path(here) / path).unlink(missing_ok=True)
                case ("upload", kind):
                    once(store, lambda kind=kind: kind)
                    mirror.upload()
                    store.fault = lambda _method, _path: None
                    possible = [content(here)]
                case ("crash", requests, last):
                    until(store, requests, last)
                    possible.append(content(here))
                    with suppress(EnvironmentSetupError):
                        mirror.upload()
                        possible = possible[-1:]
                    store.fault = lambda _method, _path: None
                    mirror = opened(here, url)
                    possible = [content(here)] if content(here) in possible else []
                case ("start", is_elsewhere):
                    number += is_elsewhere
                    mirror = opened(f"{root}/{number}", url)
                    assert content(f"{root}/{number}") in possible
            assert possible
        assert set(mirror.erase()) == set()


def test_one_of_two_processes_writes(store, tmp_path):
    """A process that has missed a claim cannot change anything, however late it tries."""
    url = store.folder()
    first = opened(tmp_path / "first", url)
    write(tmp_path / "first", "app-id", b"first")
    first.upload()
    second = opened(tmp_path / "second", url)
    write(tmp_path / "first", "app-id", b"late")
    with pytest.raises(StateError, match="Another process has written"):
        first.upload()
    write(tmp_path / "second", "app-id", b"second")
    second.upload()
    opened(tmp_path / "third", url)
    assert content(tmp_path / "third") == {"app-id": b"second"}


def test_a_process_that_was_overtaken_before_its_claim_is_refused(store, tmp_path):
    """It has not seen the newest state, so it may not begin."""
    url = store.folder()
    first = opened(tmp_path / "first", url)
    (tmp_path / "second").mkdir()
    second = Mirror(tmp_path / "second", url)
    second.fill()
    write(tmp_path / "first", "app-id", b"first")
    first.upload()
    with pytest.raises(StateError, match="Another process has written"):
        second.claim()
    write(tmp_path / "first", "app-id", b"again")
    first.upload()


def test_a_number_that_is_free_again_is_not_taken(store, tmp_path, monkeypatch):
    """Old entries are deleted; a process that stalled before its claim then finds its number."""
    monkeypatch.setattr(journal, "ENTRIES_BETWEEN_WHOLE", 2)
    url = store.folder()
    first = opened(tmp_path / "first", url)
    (tmp_path / "late").mkdir()
    late = Mirror(tmp_path / "late", url)
    late.fill()
    for number in range(8):
        write(tmp_path / "first", "app-id", b"%d" % number)
        first.upload()
    with pytest.raises(StateError, match="Another process has written"):
        late.claim()
    write(tmp_path / "first", "app-id", b"last")
    first.upload()
    opened(tmp_path / "third", url)
    assert content(tmp_path / "third") == {"app-id": b"last"}


def test_what_may_be_seen_while_files_change_can_be_resumed(store, tmp_path):
    """While a table is merged: every file that an uploaded log names was uploaded too."""
    url = store.folder()
    here = tmp_path / "state"
    mirror = opened(here, url)
    began, ended = threading.Event(), threading.Event()

    def merge():
        for number in range(600):
            # A pause now and then, in which a busy machine can upload what has changed.
            if ended.wait(0.002 if number % 5 else 0.1):
                return
            write(here, f"tables/t/part-{number}", b"%d" % number * INLINE)
            write(here, f"tables/t/_delta_log/{number:020}.json", b"part-%d" % number)
            began.set()
            if number:
                (here / f"tables/t/part-{number - 1}").unlink()

    thread = threading.Thread(target=merge)
    thread.start()
    try:
        began.wait()
        for number in range(8):
            mirror.upload()
            opened_again = Mirror(tmp_path / f"{number}", url)
            (tmp_path / f"{number}").mkdir()
            opened_again.fill()
            files = content(tmp_path / f"{number}")
            *_, newest = sorted(name for name in files if "_delta_log" in name)
            assert f"tables/t/{files[newest].decode()}" in files
    finally:
        ended.set()
        thread.join()


def test_erased_content_is_in_no_object(store, tmp_path):
    """Neither in entries of the journal nor in objects that a process left before its entry."""
    url, here = store.folder(), tmp_path / "state"
    mirror = opened(here, url)
    secret, others = b"anna@example.org", [*range(40)]
    write(here, "tables/t/part-0", secret)
    write(here, "tables/t/part-1", secret * INLINE)
    mirror.upload()
    for number in others:
        write(here, "app-id", b"%d" % number)
        mirror.upload()
    until(store, 1, Fault.LOST)
    write(here, "tables/t/part-2", secret * INLINE)
    with pytest.raises(EnvironmentSetupError):
        mirror.upload()
    store.fault = lambda _method, _path: None
    mirror = opened(here, url)
    for path in (here / "tables/t").iterdir():
        path.unlink()
    assert mirror.erase() == []
    bucket = Bucket(url)
    keys = [*bucket.keys("files"), *bucket.keys("journal")]
    assert keys
    assert not any(secret in bucket.read(key) for key in keys)


@pytest.mark.parametrize("kind", ["files", "journal"])
def test_damage_is_named(store, tmp_path, kind):
    """A changed byte, or a missing object, is refused with its key."""
    for is_missing in (False, True):
        url = store.folder()
        mirror = opened(tmp_path / f"{is_missing}", url)
        write(tmp_path / f"{is_missing}", "tables/t/part-0", bytes(2 * INLINE))
        mirror.upload()
        *_, key = Bucket(url).keys(kind)
        if kind == "journal":
            key = f"{kind}/{0:020}" if is_missing else key
        objects = from_url(url)
        if is_missing:
            objects.delete(key)
        else:
            data = bytes(objects.get(key).bytes())
            objects.put(key, bytes([data[0] ^ 1]) + data[1:])
        (tmp_path / f"other-{is_missing}").mkdir()
        with pytest.raises(StateError, match=key.rpartition("/")[2]):
            Mirror(tmp_path / f"other-{is_missing}", url).fill()


def test_leftovers_of_a_crash_are_dropped(store, tmp_path):
    """Files that the store does not have, changed ones and empty folders; not the lock."""
    url, here = store.folder(), tmp_path / "state"
    mirror = opened(here, url)
    write(here, "tables/t/part-0", b"stored")
    mirror.upload()
    expected = content(here)
    write(here, "tables/t/part-0", b"changed")
    write(here, "tables/t/part-1", b"new")
    write(here, "spark/facts/part-0", b"of an epoch that is not in the store")
    write(here, "bootstrap/0", b"new")
    write(here, "lock", b"1")
    opened(here, url)
    assert content(here) == expected
    assert not (here / "bootstrap").exists()
    assert (here / "lock").read_bytes() == b"1"


def test_a_directory_moves_into_a_new_store(store, tmp_path):
    """A state that was local is uploaded; another state in the store is not replaced by it."""
    url, here, other = store.folder(), tmp_path / "state", tmp_path / "other"
    log = "tables/trace/_delta_log/00000000000000000000.json"
    write(here, log, b"{}")
    opened(here, url).upload()
    write(other, log, b"another")
    with pytest.raises(StateError, match=r"has another one\. Name an empty directory"):
        Mirror(other, url).fill()
    assert content(other) == {log: b"another"}
    with pytest.raises(EnvironmentSetupError, match=r"Set state\.object_store to that address"):
        check_directory(here)
    with pytest.raises(StateError, match="may be old"):
        check_copy(here)
    check_directory(other)
    check_copy(other)


def test_a_pipeline_that_has_not_ended_is_not_disturbed(store, tmp_path):
    """A command that changes the state of a stopped pipeline asks for its end first."""
    url = store.folder()
    first = opened(tmp_path / "first", url)
    (tmp_path / "second").mkdir()
    second = Mirror(tmp_path / "second", url)
    second.fill()
    with pytest.raises(StateError, match=r"has not ended\. Stop it with SIGTERM"):
        second.check_ended()
    first.end()
    second.fill()
    second.check_ended()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Fault.DENIED, r"refuses access. Give this process credentials \(AWS_ACCESS_KEY_ID"),
        (Fault.ERROR, "does not answer as it should. Check the address"),
    ],
)
def test_a_store_that_refuses_is_explained(store, kind, said):
    """The message has the address, what the store says, and what to do."""
    store.fault = lambda _method, _path: kind
    url = store.folder()
    with pytest.raises(EnvironmentSetupError, match=said) as raised:
        Bucket(url).check()
    assert str(raised.value).startswith(f"{url} (state.object_store)")


def test_a_missing_bucket_is_explained(store):
    """It is not created."""
    assert store.port
    with pytest.raises(EnvironmentSetupError, match=r"there is no such bucket\. Create it"):
        Bucket("s3://no-such-bucket/folder").check()


def test_a_wrong_endpoint_is_explained(store, monkeypatch):
    """Nothing listens there."""
    assert store.port
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(EnvironmentSetupError, match="Check the address, and the variables"):
        Bucket("s3://bucket/folder").check()


def test_a_store_that_replaces_objects_is_refused(store, tmp_path):
    """Without conditional writes two processes could write."""
    url, seen = store.folder(), []

    def forget(method, path):
        """As a server does that ignores conditions: the object may be written again."""
        if method == "PUT" and path in seen:
            store.fault = lambda _method, _path: None
            from_url(url).delete(f"journal/{path.rpartition('/')[2]}")
        seen.append(path)

    store.fault = forget
    with pytest.raises(StateError, match="replaces objects that exist"):
        opened(tmp_path / "state", url)


def test_the_journal_is_read_while_it_is_cleaned(store, tmp_path, monkeypatch):
    """A reader that lists entries which are then deleted reads again."""
    monkeypatch.setattr(journal, "ENTRIES_BETWEEN_WHOLE", 2)
    url, here = store.folder(), tmp_path / "state"
    mirror = opened(here, url)
    written = []

    def change():
        written.append(b"%d" % len(written))
        write(here, "app-id", written[-1])
        mirror.upload()

    for _ in range(12):
        change()
        first = True

        def clean(method, path):
            nonlocal first
            if method == "GET" and "/journal/" in path and first:
                first = False
                for _ in range(3):
                    change()

        store.fault = clean
        reader = Journal(Bucket(url))
        reader.read()
        store.fault = lambda _method, _path: None
        assert reader.files["app-id"].data in written[-4:]
