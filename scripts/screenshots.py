"""Pictures of the page. Invariant: they show the demo's pipeline, not a drawing of one.

`make picture` runs the demo and writes each view, light and dark, to `docs/images/page-*.png`.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from chromium import chromium, visible
from PIL import Image
from selenium.webdriver import Keys

from streamreasoner.demo.ontology import UNIVERSITY, name
from streamreasoner.demo.plain import PlainView
from streamreasoner.demo.run import run
from streamreasoner.demo.stream import Options
from streamreasoner.rdf import vocabulary

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

    from streamreasoner.demo.page import PageAddress

FOLDER: Final = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT = 1120, 660
COLOURS: Final = 128
"""Of a page with few colours, which make a small file."""
SECONDS: Final = 30.0
QUERY: Final = f"""PREFIX : <{UNIVERSITY}>
CONSTRUCT {{ ?who ?p ?what }}
WHERE {{ ?who :worksFor :Physics ; ?p ?what FILTER(?p IN (:teacherOf, :leadAuthorOf)) }}
LIMIT 24"""
FACT: Final = [name("FullProfessor"), f"<{vocabulary.RDFS_SUB_CLASS_OF}>", name("Agent")]
READY: Final = {
    "changes": "#view-changes tbody tr",
    "fact": "#view-fact .tree li",
    "query": "#view-query .graph svg",
    "rules": "#view-rules .stacked",
    "state": "#view-state .spark",
}
"""What a view shows as soon as it is complete."""


class Photographer(PlainView):
    """A view of the demo that takes the pictures when the stream ends, while the pipeline runs.

    Args:
        folder: Where they go.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._address: PageAddress | None = None

    def open(self, address: PageAddress, configuration: Path) -> None:
        """Remember where the page is."""
        super().open(address, configuration)
        self._address = address

    def finish(self, reason: str) -> None:
        """Take the pictures."""
        super().finish(reason)
        if self._address is None:
            return
        with (
            TemporaryDirectory() as profile,
            chromium(Path(profile), WIDTH, HEIGHT) as browser,
        ):
            screen = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            for theme in ("light", "dark"):
                preferred = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
                features = [{"name": name, "value": value} for name, value in preferred.items()]
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
                for view in READY:
                    path = self._folder / f"page-{view}-{theme}.png"
                    show(browser, self._address.url, view)
                    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png()))
                    picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
                    print(path)


def show(browser: Chrome, url: str, view: str) -> None:
    """Load a view, and do what a reader would do first."""
    browser.get("about:blank")
    fact = urlencode({"fact": f"[{', '.join(FACT)}]"})
    browser.get(f"{url}#fact?{fact}" if view == "fact" else f"{url}#{view}")
    if view == "fact":
        await_element(browser, READY[view])
        for closed in visible(browser, ".tree [aria-expanded=false]"):
            closed.click()
    if view == "query":
        box = await_element(browser, "#query")
        box.clear()
        box.send_keys(QUERY, Keys.CONTROL, Keys.ENTER)
    await_element(browser, READY[view])


def await_element(browser: Chrome, selector: str, seconds: float = SECONDS) -> WebElement:
    """The first visible element that a selector of CSS matches, as soon as there is one."""
    deadline = time.monotonic() + seconds
    while not (found := visible(browser, selector)):
        if time.monotonic() > deadline:
            sys.exit(f"The page shows no {selector} within {seconds:g} s.")
        time.sleep(0.1)
    return found[0]


def main() -> int:
    """Run the demo and take the pictures; 1 if the demo fails its own comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", type=float, default=40, help="seconds of stream")
    parser.add_argument("--output", type=Path, default=FOLDER)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    options = Options(given.duration, rate=40, seed=0, state=None)
    return 0 if run(options, Photographer(given.output)) else 1


if __name__ == "__main__":
    sys.exit(main())
