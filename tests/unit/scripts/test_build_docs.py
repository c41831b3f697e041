"""Laws of the site: pages need nothing from elsewhere, and every document has a place in it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import build_docs
import pytest

ROOT = Path(__file__).parents[3]
SITE = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]


def in_navigation(entry: object) -> list[str]:
    """The documents that an entry of the navigation names."""
    match entry:
        case str():
            return [entry]
        case dict():
            return [name for each in entry.values() for name in in_navigation(each)]
        case list():
            return [name for each in entry for name in in_navigation(each)]
    raise AssertionError(entry)


def test_every_document_is_in_the_navigation() -> None:
    """The navigation names the documents of the folder, each once; decisions have a list."""
    documents = {
        path.relative_to(ROOT).as_posix()
        for path in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]
        if path.parent.name != "decisions"
    }
    named = in_navigation(SITE["nav"])

    assert sorted(named) == sorted({*documents, "docs/decisions/README.md"})


def test_the_site_is_configured_to_load_nothing() -> None:
    """Fonts are those of the system, and the one script that stands in for another is ours."""
    assert SITE["theme"]["font"] is False
    for polyfill in SITE["extra"]["polyfills"]:
        assert (ROOT / polyfill["path"]).is_file()


PLANTED = {
    "a script of a network": ('<script src="https://cdn.example/x.js"></script>', "loads"),
    "a script without a scheme": ('<script src="//cdn.example/x.js"></script>', "loads"),
    "a font": ('<link rel="stylesheet" href="https://fonts.example/css">', "loads"),
    "a picture of a network": ('<img src="http://example.org/x.png">', "loads"),
    "a picture that is missing": ('<img src="x.png">', "does not exist"),
    "a page that is missing": ('<a href="missing.html">x</a>', "does not exist"),
    "a heading that is missing": ('<a href="other.html#no">x</a>', "no such heading"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_problem_is_found(planted: str, tmp_path: Path) -> None:
    """What would need a network, and what leads nowhere, is named with its page."""
    text, expected = PLANTED[planted]
    (tmp_path / "index.html").write_text(text, "utf-8")
    (tmp_path / "other.html").write_text('<h2 id="yes">x</h2>', "utf-8")

    (found,) = build_docs.problems(tmp_path)

    assert found.startswith("index.html ")
    assert expected in found


def test_styles_are_read_too(tmp_path: Path) -> None:
    """A font that a style sheet loads from a network is found."""
    (tmp_path / "a.css").write_text("@font-face{src:url(https://fonts.example/a.woff2)}", "utf-8")
    (tmp_path / "b.css").write_text("a{background:url(data:image/png;base64,AAAA)}", "utf-8")

    assert list(build_docs.problems(tmp_path)) == ["a.css loads https://fonts.example/a.woff2"]


def test_what_is_in_the_site_is_accepted(tmp_path: Path) -> None:
    """Links to pages, headings and other sites are not problems."""
    text = '<img src="x.png"><a href="other.html#yes">x</a><a href="https://example.org">y</a>'
    (tmp_path / "index.html").write_text(text, "utf-8")
    (tmp_path / "other.html").write_text('<h2 id="yes">x</h2>', "utf-8")
    (tmp_path / "x.png").write_bytes(b"")

    assert list(build_docs.problems(tmp_path)) == []


def test_the_list_of_decisions_names_each(tmp_path: Path) -> None:
    """The page of decisions links to every decision by its title."""
    build_docs.assemble(ROOT, tmp_path)
    index = (tmp_path / "docs/decisions/README.md").read_text("utf-8")

    for path in ROOT.glob("docs/decisions/0*.md"):
        assert f"]({path.name})" in index
    assert "- 0001: [" in index
