"""Build the site of the documents into build/site/html.

Invariant: pages load nothing from elsewhere, and every link inside the site leads somewhere.

The sources keep their places relative to each other, so that one link serves the repository and
the site. `make docs` runs this file in the environment that has the generator.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES: Final = ("*.md", "docs/**/*", "examples/**/*.md", "tests/*/README.md")
_NOT_COPIED: Final = "docs/benchmarks/results"
_REPOSITORY_ONLY: Final = frozenset({".stderr", ".py", ".ipynb", ".toml", ""})
# Elements that make a browser load what their attribute names.
_LOADED: Final = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "video": "src",
}
_STYLE: Final = re.compile(
    r"url\(\s*['\"]?((?:https?:)?//[^'\")]+)|@import\s+['\"](https?:[^'\"]+)"
)


@dataclass
class Page(HTMLParser):
    """What a page loads, links to, and can be linked to by."""

    loaded: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin to parse."""
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the element refers to, and its anchor."""
        values = dict(attrs)
        self.anchors |= {str(values[name]) for name in ("id", "name") if values.get(name)}
        if address := values.get(_LOADED.get(tag, "")):
            self.loaded.append(address)
        if tag == "a" and (address := values.get("href")):
            self.links.append(address)


def read(path: Path) -> Page:
    """A page that is parsed."""
    page = Page()
    page.feed(path.read_text("utf-8"))
    return page


def assemble(root: Path, source: Path) -> None:
    """Copy the documents, and write the list of decisions below their introduction."""
    shutil.rmtree(source, ignore_errors=True)
    for pattern in SOURCES:
        for path in root.glob(pattern):
            if path.is_file() and not path.is_relative_to(root / _NOT_COPIED):
                copy = source / path.relative_to(root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    decisions = source / "docs/decisions"
    lines = [
        f"- {path.stem[:4]}: [{title(path)}]({path.name})\n"
        for path in sorted(decisions.glob("0*.md"))
    ]
    with (decisions / "README.md").open("a", encoding="utf-8") as index:
        index.write("\n" + "".join(lines))


def title(path: Path) -> str:
    """The first heading of a document, without its number."""
    heading = path.read_text("utf-8").partition("\n")[0]
    return re.sub(r"^#+\s*(\d+[.:]?\s*)?", "", heading)


def complete(root: Path, site: Path) -> None:
    """Copy files of the repository that a page links to, such as the output of a mistake."""
    for path in site.rglob("*.html"):
        for link in read(path).links:
            target = _target(path, link)
            if target is None or target.exists() or not target.is_relative_to(site):
                continue
            file = root / target.relative_to(site)
            if file.is_file() and file.suffix in _REPOSITORY_ONLY:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)


def problems(site: Path) -> Iterator[str]:
    """What a reader without a network would miss: foreign assets, broken links and anchors."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for address in page.loaded:
            if sentence := _load_problem(path, address):
                yield f"{name} loads {address}{sentence}"
        for link in page.links:
            if sentence := _link_problem(path, link, pages):
                yield f"{name} links to {link}, which {sentence}"
    for path in sorted(site.rglob("*.css")):
        for found in _STYLE.finditer(path.read_text("utf-8")):
            yield f"{path.relative_to(site).as_posix()} loads {found[1] or found[2]}"


def _load_problem(path: Path, address: str) -> str | None:
    target = _target(path, address)
    if target is None:
        return None if address.startswith("data:") else " from elsewhere"
    return None if target.is_file() else ", which does not exist"


def _link_problem(path: Path, link: str, pages: dict[Path, Page]) -> str | None:
    target = _target(path, link)
    if target is None:
        return None
    if not target.is_file():
        return "does not exist"
    anchor = unquote(urlsplit(link).fragment)
    known = not anchor or target not in pages or anchor in pages[target].anchors
    return None if known else "has no such heading"


def _target(page: Path, address: str) -> Path | None:
    """The file that an address on a page names; None if it is elsewhere."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    named = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return named / "index.html" if named.is_dir() else named


def main() -> int:
    """Build and check the site."""
    root = Path.cwd()
    source, site = root / "build/site/source", root / "build/site/html"
    assemble(root, source)
    shutil.rmtree(site, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    if subprocess.run(command, check=False).returncode:
        return 1
    (site / "404.html").unlink()  # a server's page: its addresses begin at the root
    complete(root, site)
    found = list(problems(site))
    for problem in found:
        print(problem)
    print(f"Site: {len(found)} problems. Open {site.relative_to(root)}/index.html.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
