"""The pipeline's page in the demo. Invariant: a demo starts whatever else uses the usual port."""

from __future__ import annotations

import dataclasses
import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from streamreasoner.config.server import ServerConfig
from streamreasoner.demo.ontology import name, sentence
from streamreasoner.rdf import vocabulary

if TYPE_CHECKING:
    from streamreasoner.demo.ontology import Triple

WATCHED: Final[Triple] = (
    name("Professor"),
    f"<{vocabulary.RDFS_SUB_CLASS_OF}>",
    name("LibraryUser"),
)
"""A fact that changes of the schema derive and take away, through a chain of classes."""


@dataclasses.dataclass(frozen=True, slots=True)
class PageAddress:
    """Where the page is.

    Attributes:
        port: The server's port on this machine.
    """

    port: int

    @property
    def url(self) -> str:
        """The page."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def watched(self) -> str:
        """The page's view of a fact that is worth watching."""
        fact = ", ".join(WATCHED)
        return f"{self.url}#fact?{urlencode({'fact': f'[{fact}]'})}"

    @property
    def watched_sentence(self) -> str:
        """That fact for display."""
        return sentence(WATCHED)


def choose_address() -> PageAddress:
    """The usual port, or a free one if that is in use."""
    usual = next(each for each in dataclasses.fields(ServerConfig) if each.name == "port")
    with socket.socket() as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind(("127.0.0.1", usual.metadata["default"]))
        except OSError:
            place.bind(("127.0.0.1", 0))
        return PageAddress(place.getsockname()[1])
