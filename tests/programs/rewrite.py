"""Write every `expected.txt` anew, as the oracle says: `python tests/programs/rewrite.py`.

The engine has no part in it, so a wrong engine cannot make its own answer the expected one.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from programs.cases import read_all

if __name__ == "__main__":
    for case in read_all().values():
        case.expected.write_text(case.render(case.changes, case.traces[-1]), encoding="utf-8")
