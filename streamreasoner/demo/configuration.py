"""The configuration of the demo's pipeline. Invariant: commands can have the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner import config
from streamreasoner.demo.ontology import UNIVERSITY

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.config import Config
    from streamreasoner.demo.page import PageAddress

RULES = "rho-df"
_PROGRAM = f"""\
% The rules of the demo, and the prefix of its data.
@prefix : <{UNIVERSITY}> .
@import "{RULES}" .
"""

_TEXT = """\
# The pipeline of a running `streamreasoner demo`. Its commands take it as --config FILE.

[kafka]
bootstrap_servers = "{servers}"
input_topics = ["university"]
output_topic = "derived"

[rules]
program = "./university.dl"
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
    path.with_name("university.dl").write_text(_PROGRAM, encoding="utf-8")
    text = _TEXT.format(servers=bootstrap_servers, port=page.port)
    path.write_text(text, encoding="utf-8")
    return config.load(path, {})
