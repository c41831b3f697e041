"""Fuzz a target guided by coverage: `python tests/fuzz/guided.py TARGET --runs N`; needs atheris.

Coverage is that of the package's modules in Python; kernels and libraries are compiled.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from collections.abc import Iterable

_ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(_ROOT), str(_ROOT / "tests")]
_COMPILED = ("native", "rdf/kernels", "values/kernels", "backends")


def modules(packages: Iterable[str]) -> list[str]:
    """The names of all modules in some packages of the package; Atheris takes no patterns."""
    files = (path for name in packages for path in (_ROOT / "streamreasoner" / name).rglob("*.py"))
    names = (path.relative_to(_ROOT).with_suffix("").parts for path in files)
    return [".".join(parts).removesuffix(".__init__") for parts in names]


with atheris.instrument_imports(include=["streamreasoner"], exclude=modules(_COMPILED)):
    from fuzz.target import checked
    from fuzz.targets import TARGETS, crashers

_SECONDS = 10
"""The most time of one input, in seconds of libFuzzer's clock, which is that of the day."""


def main() -> None:
    """Run libFuzzer, which ends the process at a finding and writes it to a file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("target", choices=TARGETS)
    arguments.add_argument("--runs", type=int, default=100_000, help="how many inputs")
    arguments.add_argument("--limit", type=float, default=1.0, help="processor seconds of an input")
    options = arguments.parse_args()
    target = TARGETS[options.target]()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        corpus, words = Path(folder, "corpus"), Path(folder, "words")
        corpus.mkdir()
        for number, data in enumerate([*target.seeds, *crashers(options.target)]):
            (corpus / f"seed-{number}").write_bytes(data)
        hexadecimal = ("".join(f"\\x{byte:02x}" for byte in token) for token in target.tokens)
        words.write_text("".join(f'"{token}"\n' for token in hexadecimal))
        # What is recorded for the search grows; the package itself is not watched by it.
        limits = [f"-runs={options.runs}", f"-timeout={_SECONDS}", "-rss_limit_mb=0"]
        flags = [*limits, f"-dict={words}", "-max_len=4096"]
        atheris.Setup(
            [sys.argv[0], *flags, str(corpus)],
            lambda data: checked(target, [data], options.limit) and None,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
