"""Configuration files: every key is checked at the start, and what is accepted can be used.

An input is lines `VARIABLE=value` of the environment, an empty line, and the file.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.target import ACCEPTED

from streamreasoner.config import load
from streamreasoner.errors import ConfigError
from streamreasoner.io.kafka.access import security

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MINIMAL = """
[kafka]
bootstrap_servers = "localhost:9092"
input_topics = ["in"]
output_topic = "out"
[rules]
program = "rho-df"
[state]
directory = "state"
"""
_VARYING = re.compile(r"found .*?, allowed|\d+|'[^']*'|\"[^\"]*\"|[^\x20-\x7e]+")


class Configuration:
    """A file and the environment; see `Target`."""

    batch = 50

    def __init__(self) -> None:
        pages = sorted(_ROOT.glob("docs/**/*.md"))
        documented = [each for page in pages for each in _BLOCK.findall(page.read_text())]
        files = [path.read_text() for path in sorted(_ROOT.glob("examples/*/pipeline.toml"))]
        texts = [_MINIMAL, *files, *(_MINIMAL + each for each in documented), *documented]
        self.seeds = [f"\n{text}".encode() for text in texts]
        self.seeds.append(f"STREAMREASONER_LOG__LEVEL=debug\n\n{_MINIMAL}".encode())
        lines = {line for text in texts for line in text.splitlines() if line.strip()}
        self.tokens = [f"\n{line}\n".encode() for line in sorted(lines)]
        self.tokens += [b"STREAMREASONER_INPUT__MAP=", b"STREAMREASONER_PIPELINE__APP_ID=", b"'''"]

    def check(self, inputs: Sequence[bytes]) -> list[str]:
        """See `Target`."""
        with tempfile.TemporaryDirectory(prefix="fuzz-configuration-") as folder:
            path = Path(folder, "pipeline.toml")
            return [self._outcome(path, data) for data in inputs]

    def _outcome(self, path: Path, data: bytes) -> str:
        head, _, text = data.partition(b"\n\n") if not data.startswith(b"\n") else (b"", b"", data)
        pairs = (line.partition("=") for line in head.decode("utf-8", "replace").splitlines())
        path.write_bytes(text)
        try:
            config = load(path, {name: value for name, _, value in pairs})
        except ConfigError as error:
            str(error).encode()
            shown = str(error).replace(str(path), "")
            return _VARYING.sub("", shown)[:120]
        repr(config).encode()
        security.java(config.kafka.security)
        security.librdkafka(config.kafka.security)
        kinds = sorted({*config.semantics.values(), config.output.format, config.output.envelope})
        return f"{ACCEPTED}{kinds} {len(config.input.map)} {config.kafka.security.protocol}"
