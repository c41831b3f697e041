"""A real Chromium without a window: found on PATH, or unpacked from Debian's packages.

Invariant: it begins with an empty profile, and its requests and errors are recorded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from debian_packages import UnavailableError, unpacked
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.remote.webelement import WebElement

FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_LIBRARIES: Final = ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu")
_BROWSER, _DRIVER = "usr/lib/chromium/chromium", "usr/bin/chromedriver"


def programs() -> tuple[str, str, dict[str, str]]:
    """The paths of Chromium and its driver, and the environment that they need.

    Raises:
        UnavailableError: The machine has neither them nor packages of them.
    """
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser and driver and _version(browser) == _version(driver):
        return browser, driver, dict(os.environ)
    try:
        # A driver is for the browser of its version only, so that both come from one place.
        root = unpacked(("chromium", "chromium-driver"), (_BROWSER, _DRIVER))
    except UnavailableError as error:
        raise UnavailableError(
            f"Chromium and a driver of its version are not on PATH, and {error} Install the "
            "packages chromium and chromium-driver (the programs chromium and chromedriver)."
        ) from None
    folders = [root / each for each in _LIBRARIES]
    folders += [folder / "pulseaudio" for folder in folders]
    paths = os.pathsep.join(map(str, folders))
    return str(root / _BROWSER), str(root / _DRIVER), {**os.environ, "LD_LIBRARY_PATH": paths}


def _version(program: str) -> str | None:
    """The major version of a program; None if it does not say so."""
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)\.\d+\.\d+", run.stdout)
    return None if found is None else found[1]


@contextmanager
def chromium(profile: Path, width: int = 1280, height: int = 900) -> Iterator[Chrome]:
    """A browser with a new profile in an empty folder.

    Raises:
        UnavailableError: There is none.
    """
    browser, driver, environment = programs()
    options = ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    with Chrome(options, Service(driver, env=environment)) as found:
        yield found


def visible(browser: Chrome, selector: str) -> list[WebElement]:
    """The visible elements that a selector of CSS matches, at one moment."""
    seen = "e => e.getClientRects().length > 0"
    found: list[WebElement] = browser.execute_script(
        f"return [...document.querySelectorAll(arguments[0])].filter({seen})", selector
    )
    return found


def requests(browser: Chrome) -> list[str]:
    """The addresses that the browser has asked since the last call."""
    log = browser.get_log("performance")  # type: ignore[no-untyped-call]
    messages = (json.loads(each["message"])["message"] for each in log)
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
