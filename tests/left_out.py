"""Tests that a machine cannot run. Invariant: they are named with what to install; CI runs all."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def leave_out(why: str) -> NoReturn:
    """Leave out the test, or the tests of a fixture; where CI is set, they fail."""
    if os.environ.get("CI"):
        pytest.fail(f"{why} CI runs all tests.", pytrace=False)
    pytest.skip(why)
