"""Fuzz a target guided by coverage: `python tests/fuzz/guided.py TARGET --runs N`; needs atheris.

Coverage is that of the package's modules in Python; kernels and libraries are compiled.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]
_COMPILED = [
    "streamreasoner.native",
    "streamreasoner.rdf.kernels",
    "streamreasoner.values.kernels",
    "streamreasoner.backends",
]
with atheris.instrument_imports(include=["streamreasoner"], exclude=_COMPILED):
    from fuzz.targets import TARGETS, crashers

_SECONDS = 10
"""The most time of one input, in seconds of libFuzzer's clock, which is that of the day."""


def main() -> None:
    """Run libFuzzer, which ends the process at a finding and writes it to a file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("target", choices=TARGETS)
    arguments.add_argument("--runs", type=int, default=100_000, help="how many inputs")
    options = arguments.parse_args()
    target = TARGETS[options.target]()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        corpus, words = Path(folder, "corpus"), Path(folder, "words")
        corpus.mkdir()
        for number, data in enumerate([*target.seeds, *crashers(options.target)]):
            (corpus / f"seed-{number}").write_bytes(data)
        hexadecimal = ("".join(f"\\x{byte:02x}" for byte in token) for token in target.tokens)
        words.write_text("".join(f'"{token}"\n' for token in hexadecimal))
        flags = [f"-runs={options.runs}", f"-dict={words}", f"-timeout={_SECONDS}", "-max_len=4096"]
        atheris.Setup(
            [sys.argv[0], *flags, str(corpus)], lambda data: target.check([data]) and None
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
