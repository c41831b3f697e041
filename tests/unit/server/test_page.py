"""The files of the page: a browser takes them from this server alone, and keeps them."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from serving import ask, serving

from streamreasoner.config.secrets import Secret
from streamreasoner.server.web.routes.page import FOLDER

ROOT = Path(__file__).parents[3]
FILES = sorted(path.name for path in FOLDER.iterdir())


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A server without a state: the page is there before the state is."""
    with serving(tmp_path_factory.mktemp("none"), ready=False) as found:
        yield found


def test_the_page_is_served_with_a_strict_policy_and_kept_by_browsers(port):
    """Each file with its type; asked again with its tag, nothing is sent."""
    types = {"css": "text/css", "html": "text/html", "js": "text/javascript", "svg": "image/svg"}
    for path in ("/", *(f"/page/{name}" for name in FILES)):
        found = ask(port, path)
        kind = types["html" if path == "/" else path.rpartition(".")[2]]
        assert found.headers["content-type"].startswith(kind)
        assert found.headers["content-security-policy"].startswith("default-src 'none';")
        assert "unsafe" not in found.headers["content-security-policy"]
        assert found.headers["cache-control"] == "no-cache"
        tag = found.headers["etag"]
        for held in (tag, f'"other", W/{tag}'):
            again = ask(port, path, headers={"If-None-Match": held})
            assert (again.status, again.body, again.headers["etag"]) == (304, "", tag)
        assert ask(port, path, headers={"If-None-Match": '"other"'}).body == found.body


def test_only_files_of_the_page_are_served(port):
    """Nothing besides them, whatever the path says."""
    for path in ("/page/", "/page/none.js", "/page/..%2fserve.py", "/page/../serve.py"):
        assert ask(port, path).status == 404
    assert ask(port, "/", method="POST").status == 405


def test_the_page_needs_the_login(tmp_path):
    """As every other path does."""
    with serving(tmp_path, ready=False, user="ann", password=Secret("geheim")) as port:
        for path in ("/", "/page/main.js"):
            assert ask(port, path).status == 401


def test_files_name_what_is_there_and_nothing_elsewhere():
    """Modules and links are files of the page, and no file has an address of another host."""
    for name in FILES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        for used in re.findall(r'(?:from "\./|(?:src|href)="page/)([^"]+)"', text):
            assert used in FILES, (name, used)
        addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`]*", text)
        assert all(each.startswith("http://www.w3.org/") for each in addresses), (name, addresses)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_no_module_makes_markup_of_text(name):
    """Terms come from anybody: what would read them as HTML or as a program is not used."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    dangerous = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|Function\("
    )
    assert re.findall(dangerous, text) == []


def test_the_wheel_has_the_page(tmp_path):
    """A package that is installed from a wheel serves it too."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"streamreasoner/server/web/page/{name}" for name in FILES} <= names
