"""One file per mistake: what is printed about `<mistake>.dl` or `.srl` is `<mistake>.stderr`.

To add one, write the rules, run `python tests/diagnostics/test_golden.py` and read what it wrote.
What the rules import is in the folder `imported`. Those of a name that begins with `converted` are
converted to SPARQL-RL.
"""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest

from streamreasoner.errors import ProgramError
from streamreasoner.lang.diagnostic import CATALOGUE, render
from streamreasoner.program import load_program
from streamreasoner.program.text import common_prefixes
from streamreasoner.srl.writing.rules import rule_set_text

CONVERTED = "converted"

FILES = sorted(
    path for suffix in (".dl", ".srl") for path in Path(__file__).parent.glob(f"*{suffix}")
)


def printed(path):
    """What `streamreasoner check` prints on standard error."""
    with chdir(path.parent):
        try:
            checked = load_program(Path(path.name))
            if path.stem.startswith(CONVERTED):
                rule_set_text(checked.programs, common_prefixes(checked.programs))
        except ProgramError as error:
            return f"{error}\n"
    return render(checked.warnings, checked.texts) + "\n"


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_diagnostics_are_exactly_the_golden_ones(path):
    """Every mistake is reported at its place, with its code, its reason and a way out."""
    assert printed(path) == path.with_suffix(".stderr").read_text(encoding="utf-8")


def test_every_code_has_a_golden_file():
    """No code of the catalogue is without an example."""
    seen = "".join(path.with_suffix(".stderr").read_text(encoding="utf-8") for path in FILES)

    assert [code for code in CATALOGUE if f" {code} " not in seen] == []


if __name__ == "__main__":
    for file in FILES:
        file.with_suffix(".stderr").write_text(printed(file), encoding="utf-8")
