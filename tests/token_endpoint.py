"""A token endpoint (OAuth 2.0, client credentials) on loopback, which signs tokens with RS256."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VALID_SECONDS = 600


@dataclass(frozen=True)
class TokenEndpoint:
    """A started endpoint.

    Attributes:
        url: Its address.
        keys: The file of the public keys that verify its tokens (JWKS).
        scopes: The scope of each request so far.
    """

    url: str
    keys: Path
    scopes: list


@contextmanager
def token_endpoint(directory: Path, client: str, secret: str) -> Iterator[TokenEndpoint]:
    """Start an endpoint with one client; its tokens have the client's name as subject."""
    key, keys = directory / "tokens-key.pem", directory / "jwks.json"
    openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key)
    modulus = openssl("rsa", "-in", key, "-noout", "-modulus").decode().split("=")[1]
    public = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "e": "AQAB"}
    public["n"] = _encoded(bytes.fromhex(modulus))
    keys.write_text(json.dumps({"keys": [public]}))
    allowed = f"Basic {base64.b64encode(f'{client}:{secret}'.encode()).decode()}"
    scopes = []

    class Handler(BaseHTTPRequestHandler):
        """Grants tokens to one client."""

        def do_POST(self):
            """Answer a request for a token."""
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            scopes.extend(form.get("scope", [None]))
            known = self.headers.get("Authorization") == allowed
            granted = known and form["grant_type"] == ["client_credentials"]
            answer = {"error": "invalid_client"}
            if granted:
                answer = {"access_token": _token(key, client), "token_type": "Bearer"}
                answer["expires_in"] = _VALID_SECONDS
            body = json.dumps(answer).encode()
            self.send_response(200 if granted else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield TokenEndpoint(f"http://127.0.0.1:{server.server_port}/token", keys, scopes)
        server.shutdown()


def _token(key: Path, client: str) -> str:
    now = int(time.time())
    claims = {"sub": client, "iss": "tests", "iat": now, "exp": now + _VALID_SECONDS}
    parts = ({"alg": "RS256", "typ": "JWT", "kid": "1"}, claims)
    text = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
    return f"{text}.{_encoded(openssl('dgst', '-sha256', '-sign', key, text=text.encode()))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def openssl(*arguments: object, text: bytes = b"") -> bytes:
    """Run OpenSSL; gives what it prints."""
    command = ["openssl", *map(str, arguments)]
    return subprocess.run(command, input=text, check=True, capture_output=True).stdout
