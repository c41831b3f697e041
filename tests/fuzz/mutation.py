"""Inputs made of others. Invariant: the same generator and the same corpus give the same inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

_INTERESTING = (
    *(
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\xf4\x90\x80\x80",
    ),
    *(
        "é".encode(),
        "e\u0301".encode(),
        "\u202e".encode(),
        "\U0001f600".encode(),
        "\ufffe".encode(),
    ),
    *(
        b"\\",
        b"\\u0000",
        b"\\ud800",
        b"\\U00110000",
        b"\\u00e9",
        b'"',
        b"'",
        b"\n",
        b"\r",
        b"\t",
        b" ",
    ),
    *(
        b"0",
        b"-1",
        b"1e999",
        b"-0.0",
        b"1" * 25,
        b"9223372036854775808",
        b"2147483648",
        b"0.1e-400",
    ),
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b"(",
        b")",
        b"<",
        b">",
        b",",
        b".",
        b";",
        b":",
        b"#",
        b"@",
        b"_:",
        b"%00",
    ),
    *(b"null", b"true", b"NaN", b"Infinity", b"9999-12-31T23:59:59Z", b"2026-02-30T00:00:00Z"),
)
_LETTERS = [letter.encode() for letter in "abcxyzEG012379 -+.,:/_%é"]
_LONGEST, _PIECE, _MOST = 4_096, 40, 5_000


class Mutator:
    """Makes inputs by a few changes of earlier ones: as many of accepted ones as of others.

    Args:
        rng: Chooses.
        tokens: Texts to insert, besides those that are interesting everywhere.
    """

    def __init__(self, rng: random.Random, tokens: Sequence[bytes] = ()) -> None:
        self._rng = rng
        self._accepted: list[bytes] = []
        self._rejected: list[bytes] = []
        self._tokens = (*_INTERESTING, *tokens)

    def add(self, data: bytes, *, accepted: bool) -> None:
        """Take an input into the corpus, in place of another one if there are many."""
        corpus = self._accepted if accepted else self._rejected
        if len(data) > _LONGEST:
            return
        if len(corpus) < _MOST:
            corpus.append(data)
        else:
            corpus[self._rng.randrange(_MOST)] = data

    def mutated(self) -> bytes:
        """Another input."""
        data = self._chosen()
        for _ in range(self._rng.choice((1, 1, 1, 1, 2, 5))):
            data = self._changed(data)
        return data[:_LONGEST]

    def _chosen(self) -> bytes:
        corpora = [each for each in (self._accepted, self._rejected) if each]
        return self._rng.choice(self._rng.choice(corpora))

    def _changed(self, data: bytes) -> bytes:
        rng = self._rng
        start = rng.randint(0, len(data))
        end = min(len(data), start + rng.choice((1, 1, 2, 4, 8, 32)))
        before, part, after = data[:start], data[start:end], data[end:]
        match rng.randrange(10):
            case 0:
                part = b""
            case 1:
                part = bytes([rng.randrange(256)]) + part[1:]
            case 2:
                part = rng.choice(self._tokens) + part
            case 3:
                part = rng.choice(self._tokens)
            case 4:
                part += part * rng.choice((1, 1, 2, 40))
            case 5:
                other = self._chosen()
                part, after = other[rng.randint(0, len(other)) :], b""
            case 6:
                other = self._chosen()
                at = rng.randint(0, len(other))
                part = other[at : at + _PIECE]
            case 7 | 8:
                part = rng.choice(_LETTERS) + part[1:]
            case _:
                part = part[::-1]
        return before + part + after
