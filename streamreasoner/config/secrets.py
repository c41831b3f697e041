"""Configuration values that are secret, or in files of their own: passwords, certificates, keys.

Invariant: no text that Python makes of a value, such as its `repr`, contains a secret.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamreasoner.config.key_kinds import PATH, TEXT, KeyKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----")
_KEY = re.compile(r"-----BEGIN ((?:[A-Z]+ )*)PRIVATE KEY-----")
# Java reads keys in PKCS #8 only; other labels are those of older formats.
_PKCS8 = ("", "ENCRYPTED ")
# The object identifier 1.2.840.113549.1.5.13 of an encryption that Java 17 does not know by name.
_PBES2 = bytes.fromhex("06092a864886f70d01050d")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """Text that is shown nowhere."""

    _text: str

    def reveal(self) -> str:
        """The text, for the client that needs it."""
        return self._text

    def __repr__(self) -> str:
        """A text that stands for the secret."""
        return "a secret that is not shown"


@dataclass(frozen=True, slots=True)
class PemFile:
    """A file in PEM format.

    Attributes:
        path: Where it is.
        content: What was in it at the start.
    """

    path: Path
    content: Secret

    @property
    def encrypted(self) -> bool:
        """Whether it is a private key that is encrypted with a password."""
        found = _KEY.search(self.content.reveal())
        return found is not None and found[1] == _PKCS8[1]


def _line(value: Any, directory: Path) -> str:
    text: str = TEXT.read(value, directory)
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise ValueError("it has a control character, such as a line break")
    return text


def _secret(value: Any, directory: Path) -> Secret:
    return Secret(_line(value, directory))


def _content(value: Any, directory: Path) -> tuple[Path, str]:
    path: Path = PATH.read(value, directory)
    try:
        return path, path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8") from None


def _secret_file(value: Any, directory: Path) -> Secret:
    path, text = _content(value, directory)
    try:
        return _secret(text.removesuffix("\n").removesuffix("\r"), directory)
    except ValueError as error:
        raise ValueError(f"{path}: {str(error) or 'it is empty'}") from None


def _pem(check: Callable[[str], str | None]) -> Callable[[Any, Path], PemFile]:
    """Read a file of which *check* says what is wrong with its text."""

    def read(value: Any, directory: Path) -> PemFile:
        path, text = _content(value, directory)
        if (problem := check(text)) is not None:
            raise ValueError(f"{path} {problem}")
        return PemFile(path, Secret(text))

    return read


def _wrong_certificates(text: str) -> str | None:
    return None if _CERTIFICATE.search(text) else "has no line -----BEGIN CERTIFICATE-----"


def _wrong_key(text: str) -> str | None:
    found = _KEY.search(text)
    if found is None:
        return "has no line -----BEGIN PRIVATE KEY-----"
    if found[1] not in _PKCS8:
        return (
            f"is a {found[1]}PRIVATE KEY, which Java cannot read; convert it with "
            "`openssl pkcs8 -topk8 -in OLD -out NEW`, and -nocrypt for a key without a password"
        )
    if _PBES2 in _der(text[found.end() :]):
        return (
            "is encrypted by PBES2, which Java 17 cannot read; convert it with `openssl pkcs8 "
            "-topk8 -v1 PBE-SHA1-3DES -in OLD -out NEW`, or use a key without a password that "
            "only this user can read"
        )
    return None


def _der(text: str) -> bytes:
    """The bytes before the end mark of a block in PEM format."""
    try:
        return base64.b64decode(text.partition("-----")[0])
    except ValueError:
        return b""


LINE = KeyKind("text without control characters", _line)
SECRET = KeyKind("text without control characters", _secret, secret=True)
SECRET_FILE = KeyKind("the path of a file with one line of text", _secret_file)
CERTIFICATES = KeyKind("the path of a file of certificates, PEM", _pem(_wrong_certificates))
PRIVATE_KEY = KeyKind("the path of a private key, PEM (PKCS #8)", _pem(_wrong_key))
