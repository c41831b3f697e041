"""`/` and `/page/…`: a page that asks the other paths. Invariant: it loads nothing from elsewhere.

Its files are plain HTML, CSS and modules of JavaScript, as they lie in the folder `page`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.requests import Request

FOLDER: Final = Path(__file__).parents[1] / "page"
INDEX: Final = "index.html"
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS: Final = {
    # A term that were taken for markup could neither run nor send anything.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Browsers ask each time, and are told that nothing has changed.
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the page.

    Attributes:
        content: Its bytes.
        headers: The headers of an answer with it.
    """

    content: bytes
    headers: dict[str, str]


class Page:
    """Answers with the files of the page, which it holds in memory."""

    def __init__(self) -> None:
        self._files = {path.name: _file(path) for path in FOLDER.iterdir() if path.suffix in TYPES}

    def answer(self, request: Request) -> Response:
        """A file, or that the client's copy of it is the present one.

        Raises:
            HTTPException: There is no such file.
        """
        file = self._files.get(request.path_params.get("name", INDEX))
        if file is None:
            raise HTTPException(404)
        held = request.headers.get("if-none-match", "")
        if file.headers["ETag"] in (tag.strip().removeprefix("W/") for tag in held.split(",")):
            return Response(None, 304, file.headers)
        return Response(file.content, 200, file.headers)


def _file(path: Path) -> _File:
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    return _File(content, {**HEADERS, "ETag": tag, "Content-Type": TYPES[path.suffix]})
