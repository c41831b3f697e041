"""Programs from packages: all of a package or nothing, whatever the machine has installed."""

from __future__ import annotations

import shutil

import chromium
import pytest
from debian_packages import UnavailableError, unpacked, without
from left_out import leave_out

from streamreasoner.system import jvm

STATUS = """Package: libc6
Status: install ok installed
Source: glibc

Package: chromium-common
Status: install ok installed
Source: chromium (156.0-1)

Package: chromium
Status: install ok installed

Package: prometheus-node-exporter
Status: install ok installed
"""
APT = """#!/bin/sh
case "$*" in *" update"*) exit 0 ;; esac
mkdir -p deb/DEBIAN deb/usr/bin
printf 'Package: tool\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@e>\\nDescription: x\\n' \\
    > deb/DEBIAN/control
for program in {programs}; do echo '#!/bin/sh' > "deb/usr/bin/$program"; done
chmod 755 deb/usr/bin/*
dpkg-deb -b deb cache/archives/tool.deb
"""
PROGRAMS = ["usr/bin/tool", "usr/bin/driver"]


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """A function that chooses the programs of the package that apt-get downloads."""
    if shutil.which("dpkg-deb") is None:
        leave_out("dpkg-deb, which unpacks packages, is missing. Install dpkg.")
    monkeypatch.setenv(jvm.CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")

    def choose(*programs):
        file = tmp_path / "bin" / "apt-get"
        file.write_text(APT.replace("{programs}", " ".join(programs)))
        file.chmod(0o755)

    return choose


def test_a_package_without_its_program_is_not_kept(apt):
    """The message names what it lacks, and the next attempt fetches it again."""
    apt("tool")
    with pytest.raises(UnavailableError, match=r"have no usr/bin/driver\."):
        unpacked(["tool"], PROGRAMS)
    assert list(jvm.cache_directory().iterdir()) == []
    apt("tool", "driver")
    root = unpacked(["tool"], PROGRAMS)

    assert all((root / program).is_file() for program in PROGRAMS)


def test_a_half_in_the_cache_is_fetched_again(apt):
    """An earlier release kept one, or a cleaner has deleted a file."""
    half = jvm.cache_directory() / "tool-package" / "usr" / "bin"
    half.mkdir(parents=True)
    (half / "driver").touch(0o755)
    apt("tool", "driver")

    assert all((unpacked(["tool"], PROGRAMS) / program).is_file() for program in PROGRAMS)


def test_what_is_installed_counts_as_absent():
    """Otherwise apt leaves it out, and packages of one source need each other's files."""
    assert [line for line in without(STATUS, ["chromium"]).splitlines() if "Package" in line] == [
        "Package: libc6",
        "Package: prometheus-node-exporter",
    ]


def test_a_browser_without_a_driver_of_its_version_is_not_mixed(tmp_path, monkeypatch):
    """A machine without either and without apt-get is told what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(jvm.CACHE_VARIABLE, str(tmp_path / "cache"))
    for name, version in (("chromium", "Chromium 150.0.1"), ("chromedriver", "156.0.2 (x)")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {version!r}\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(UnavailableError, match=r"apt-get .* missing .* Install the packages"):
        chromium.programs()
    (tmp_path / "chromedriver").write_text("#!/bin/sh\necho ChromeDriver 150.0.9\n")
    browser, driver, _ = chromium.programs()

    assert (browser, driver) == (str(tmp_path / "chromium"), str(tmp_path / "chromedriver"))


def test_what_is_left_out_is_named_and_fails_in_ci(monkeypatch):
    """Both say what to install."""
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="Install it"):
        leave_out("Install it.")
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="Install it"):
        leave_out("Install it.")
