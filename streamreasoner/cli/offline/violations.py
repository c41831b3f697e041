"""Violations on standard error. Invariant: in the order of the program, then of the terms."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from streamreasoner.counts import counted

if TYPE_CHECKING:
    from streamreasoner.engine.session import Session

VIOLATED = 3
"""Exit code of a command that found violations."""


def print_violations(session: Session) -> int:
    """Print each present violation like a diagnostic, and their number if there are any.

    Returns:
        The number.
    """
    from streamreasoner.facts import decode_facts, in_order

    count = violated = 0
    constraints = session.program.constraints
    for name, found in session.engine.facts_of(constraints).items():
        constraint = constraints[name]
        span = constraint.span
        args = in_order(found, session.dictionary)
        for fact in decode_facts(name, args, session.dictionary):
            text = constraint.message(fact.arguments)
            print(f"{span.source}:{span.line}:{span.column}: {text}", file=sys.stderr)
            if constraint.template is not None:
                print(f"  {constraint.fact(fact.arguments)}", file=sys.stderr)
        count += len(args)
        violated += bool(len(args))
    if count:
        print(
            f"{counted(count, 'violation')} of {counted(violated, 'constraint')}.",
            file=sys.stderr,
        )
    return count
