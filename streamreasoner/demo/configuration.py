"""The configuration of the demo's pipeline. Invariant: commands can have the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner import config

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.config import Config
    from streamreasoner.demo.page import PageAddress

RULES = "rho-df"

_TEXT = """\
# The pipeline of a running `streamreasoner demo`. Its commands take it as --config FILE.

[kafka]
bootstrap_servers = "{servers}"
input_topics = ["university"]
output_topic = "derived"

[rules]
program = "{rules}"
control_topic = "rules"

[server]
port = {port}
facts = true

[state]
directory = "pipeline"

[log]
level = "error"  # the server's process would write on the demo's screen
"""


def configure(path: Path, bootstrap_servers: str, page: PageAddress) -> Config:
    """Write the configuration to a file, and read it.

    The demo ignores the environment, whose variables are meant for other pipelines.
    """
    text = _TEXT.format(servers=bootstrap_servers, rules=RULES, port=page.port)
    path.write_text(text, encoding="utf-8")
    return config.load(path, {})
