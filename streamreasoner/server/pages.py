"""What the pipeline's process answers to its server alone. Invariant: others have no token for it.

Its port has no login, and what is asked for here may quote messages.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    Page: TypeAlias = Callable[[Mapping[str, str]], str]
    """A document in JSON, by the parameters of a request; called on a thread of its own."""


class Upstream(NamedTuple):
    """Where the server asks the pipeline's process.

    Attributes:
        port: A port of this machine.
        token: What its requests have as bearer token.
    """

    port: int
    token: str


class Pages:
    """Pages by path, for those who have the token.

    Attributes:
        token: The token, another one in each process.

    Args:
        pages: The pages.
    """

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self.token = secrets.token_urlsafe(32)
        self._pages = pages

    def find(self, path: str, authorization: str) -> Page | None:
        """The page of a path, if the header of the request has the token."""
        expected = f"Bearer {self.token}"
        if not hmac.compare_digest(authorization.encode(), expected.encode()):
            return None
        return self._pages.get(path)
