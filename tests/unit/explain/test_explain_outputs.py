"""What `explain` prints is pinned: it changes by intent only."""

from __future__ import annotations

import pytest
from golden import cases, digest
from unit.explain import outputs

STORED = outputs.stored()
CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_explanations_change_by_intent_only(name):
    """Facts of golden programs and examples, present and absent, as text, JSON and DOT."""
    assert digest([outputs.outputs(CASES[name])]) == STORED.get(name), (
        f"The explanations of {name} changed. Compare those of both releases: python "
        f"tests/unit/explain/outputs.py {name}. If they are right, renew tests/unit/explain/"
        "outputs.json: python tests/unit/explain/outputs.py"
    )


def test_every_digest_has_a_program():
    """A program that is gone leaves no digest."""
    assert STORED.keys() == CASES.keys()
