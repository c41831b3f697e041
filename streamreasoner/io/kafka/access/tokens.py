"""Tokens for kafka-python, by the grant of client credentials (RFC 6749, section 4.4).

Invariant: a token that is handed out is valid for a while yet. Java and librdkafka fetch their own.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from kafka.net.sasl.oauth import AbstractTokenProvider

from streamreasoner.errors import BrokerError

if TYPE_CHECKING:
    from streamreasoner.config.security import SecurityConfig

_ANSWER_SECONDS = 10.0
# Servers that do not say how long a token is valid give it for an hour; a minute is less than any.
_DEFAULT_SECONDS = 60.0
_USED_SHARE = 0.8


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Tokens of the client that `[kafka.security]` names; the first is fetched at once.

    Args:
        security: The section; its mechanism is OAUTHBEARER.

    Raises:
        BrokerError: The endpoint gives no token.
    """

    def __init__(self, security: SecurityConfig) -> None:
        self._security = security
        self._lock = threading.Lock()
        self._token, self._until = "", 0.0
        self.token()

    def token(self) -> str:
        """A token, which kafka-python asks for at each connection.

        Raises:
            BrokerError: The endpoint gives no token.
        """
        with self._lock:
            if time.monotonic() >= self._until:
                self._token, seconds = self._fetch()
                self._until = time.monotonic() + seconds * _USED_SHARE
            return self._token

    def _fetch(self) -> tuple[str, float]:
        security = self._security
        assert security.token_endpoint is not None  # noqa: S101 - of a checked configuration
        assert security.login_secret is not None  # noqa: S101 - of a checked configuration
        form = {"grant_type": "client_credentials"}
        if security.scope is not None:
            form["scope"] = security.scope
        client = f"{security.username}:{security.login_secret.reveal()}"
        request = Request(  # noqa: S310 - the configuration allows http and https only
            security.token_endpoint,
            urlencode(form).encode(),
            {"Authorization": f"Basic {base64.b64encode(client.encode()).decode()}"},
        )
        try:
            with urlopen(request, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310 - as above
                found = json.load(answer)
            return str(found["access_token"]), float(found.get("expires_in", _DEFAULT_SECONDS))
        except HTTPError as error:
            why = f"answers {error.code}"
        except OSError as error:
            why = f"cannot be reached ({getattr(error, 'reason', error)})"
        except (ValueError, KeyError, TypeError, AttributeError):
            why = "answers without a token in JSON"
        raise BrokerError(
            f"The token endpoint {security.token_endpoint} (kafka.security.token_endpoint) {why}. "
            "Check the address, username, password and scope in kafka.security."
        )
