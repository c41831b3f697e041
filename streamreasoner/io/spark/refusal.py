"""Why Spark did not start, for its user. Invariant: settings are named, and never their values.

Spark says it in the log of its process and in the exception of a call, neither of which names a
setting in each case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

_LINES = 6
_NOISE = re.compile(
    r"\s*$|\s*at |\s*\.\.\. |JVM stacktrace:|WARNING: Using incubator|Setting default log level"
    r"|To adjust logging level|.*Error initializing SparkContext\.$"
)
_PREFIX = re.compile(r'^(\S+ (ERROR|WARN) |Exception in thread "[^"]*" |Caused by: )')
# A value that stands in many messages by chance.
_COMMON = {"", "true", "false"}
_SHORTEST = 3


def refusal(
    said: str, options: Mapping[str, str], own: Collection[str], log_file: Path | None = None
) -> EnvironmentSetupError:
    """The error of a start that Spark has refused.

    Args:
        said: What Spark said.
        options: All settings that were passed to the start.
        own: Names of those that a pipeline adds itself.
        log_file: Where there is more, None for the log of spark-submit.
    """
    users = [name for name in options if name not in own]
    named = [name for name in options if name in said]
    blamed = named or [name for name in options if _has(said, options[name])]
    if blamed:
        advice = f"Correct or remove {', '.join(blamed)} in spark.options. "
    elif users:
        advice = (
            "If it refuses one of your settings, correct or remove it in spark.options, which has "
            f"{', '.join(users)}. "
        )
    else:
        advice = ""
    more = "the log of spark-submit" if log_file is None else str(log_file)
    return EnvironmentSetupError(f"Spark does not start. It says:\n{said}\n{advice}See {more}.")


def last_words(log: str) -> str:
    """The last lines of a log that say something, without times and stack frames."""
    lines = (_PREFIX.sub("", line) for line in log.splitlines() if _NOISE.match(line) is None)
    return "\n".join([*dict.fromkeys(lines)][-_LINES:]) or "nothing"


def _has(said: str, value: str) -> bool:
    return len(value) >= _SHORTEST and value not in _COMMON and value in said
