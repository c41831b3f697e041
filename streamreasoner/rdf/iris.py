"""Resolution of relative IRIs. Invariant: the result is that of RFC 3986, section 5.2, strict.

Nothing else is normalized: percent-encoding, case and the dots of an absolute IRI stay as they are.
"""

from __future__ import annotations

import re

from streamreasoner.errors import TermError
from streamreasoner.rdf.terms import parse

# RFC 3986, appendix B: scheme, authority, path, query and fragment.
_PARTS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_LEADING_DOTS = re.compile(r"(?:\.\.?/)*(?:\.\.?\Z)?")
_SEGMENT = re.compile("/[^/]*|[^/]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def is_absolute(reference: str) -> bool:
    """Whether a reference begins with a scheme, so that it needs no base."""
    return _SCHEME.match(reference) is not None


def check_base(base: str) -> None:
    """Raise a TermError if a base is not an absolute IRI."""
    if not is_absolute(base):
        raise TermError(f"The base '{base}' is relative; use an IRI with a scheme.")
    parse(f"<{base}>")


def resolve(reference: str, base: str) -> str:
    """The IRI of a reference, with escapes and characters as they are written.

    Args:
        reference: A relative reference, or an IRI, which is returned as it is.
        base: An absolute IRI.

    Raises:
        TermError: The base is relative, the reference is neither an IRI nor a relative reference,
            or the result would have another meaning as an IRI.
    """
    if is_absolute(reference):
        return reference
    scheme, base_authority, base_path, base_query, _ = _parts(base)
    if scheme is None:
        check_base(base)
    _, authority, path, query, fragment = _parts(reference)
    if authority is None and ":" in path.partition("/")[0]:
        raise TermError(
            f"The reference '{reference}' has a colon before its first slash and does not begin "
            f"with a scheme; write './{reference}' if it is relative."
        )
    if authority is None:
        authority = base_authority
        if path:
            whole = path if path.startswith("/") else _merged(base_authority, base_path, path)
            path = _without_dots(whole)
        else:
            path = base_path
            query = base_query if query is None else query
    else:
        path = _without_dots(path)
    if authority is None and path.startswith("//"):
        raise TermError(
            f"The reference '{reference}' has a path that begins with `//` relative to '{base}', "
            "which has no authority; write the full IRI."
        )
    return "".join(
        (
            f"{scheme}:",
            "" if authority is None else f"//{authority}",
            path,
            "" if query is None else f"?{query}",
            "" if fragment is None else f"#{fragment}",
        )
    )


def _parts(text: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    found = _PARTS.fullmatch(text)
    assert found is not None  # noqa: S101 - every text has this form
    scheme, authority, path, query, fragment = found.groups()
    return scheme, authority, path or "", query, fragment


def _merged(authority: str | None, base: str, path: str) -> str:
    """Section 5.2.3."""
    if authority is not None and not base:
        return f"/{path}"
    return base[: base.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    """Section 5.2.4; a segment is kept with the slash before it."""
    path = _LEADING_DOTS.sub("", path, count=1)
    kept: list[str] = []
    for segment in _SEGMENT.findall(path):
        if segment == "/..":
            del kept[-1:]
        elif segment != "/.":
            kept.append(segment)
    if path.endswith(("/.", "/..")):
        kept.append("/")
    return "".join(kept)
