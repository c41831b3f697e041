"""Write every `plan.txt` anew: `python tests/programs/rewrite_plans.py [case ...]`.

Cases that are named get one; without names, those that have one do. Read the difference: a plan
that changes is a decision, not an accident.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from programs.cases import read_all

from streamreasoner.plan.print.plans import explain_plan

if __name__ == "__main__":
    cases = read_all()
    for name, case in cases.items():
        path = case.folder / "plan.txt"
        if name in sys.argv[1:] or (len(sys.argv) == 1 and path.exists()):
            path.write_text(explain_plan(case.checked), encoding="utf-8")
