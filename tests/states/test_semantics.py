"""What states hold is pinned: a release that changes it changes the number too."""

from __future__ import annotations

import pytest
from states import digests

from streamreasoner.state.version import SEMANTICS

RENEW = "then renew tests/states/semantics.json: python tests/states/digests.py"


@pytest.fixture(scope="module")
def found():
    """The digests of this release."""
    return digests.digests()


def test_the_number_is_that_of_the_digests():
    """The digests are those of the `semantics` that this release writes into states."""
    assert digests.stored()[1] == SEMANTICS, f"SEMANTICS was changed; {RENEW}"


def test_every_program_has_digests(found):
    """A program that is new, or was edited, has digests of its own."""
    stored, _ = digests.stored()
    sources = {name: one["source"] for name, one in found.items()}

    assert sources == {name: one["source"] for name, one in stored.items()}, (
        f"Programs were added, removed or edited; {RENEW}"
    )


def test_traces_change_with_the_number_only(found):
    """The same program and input have the same trace, or states of earlier releases are wrong."""
    changed = digests.differences(digests.stored()[0], found, "trace")

    assert not changed, (
        f"The traces of {', '.join(changed)} changed, but SEMANTICS is still {SEMANTICS}. States "
        "of earlier releases hold other multiplicities than this release would retract. Raise "
        f"SEMANTICS in streamreasoner/state/version.py, {RENEW}"
    )


def test_plans_change_with_the_number_or_change_no_trace(found):
    """A plan that changes is looked at: is the trace of any program another one with it?"""
    changed = digests.differences(digests.stored()[0], found, "plan")

    assert not changed, (
        f"The plans of {', '.join(changed)} changed, but SEMANTICS is still {SEMANTICS}. If any "
        "program has another trace with the new plans (other strata, rules, hidden predicates or "
        "conditions), raise SEMANTICS in streamreasoner/state/version.py. If none has (only names "
        f"of classes changed), keep it; {RENEW}"
    )
