"""The laws on the model: the same tests and the same engine, with states in dicts.

What the kernels are compared with thus keeps the laws itself.
"""

from __future__ import annotations

import pytest
from backend_laws import LAWS, run
from driver import Driver
from hypothesis import HealthCheck, settings
from model import ModelBackend
from thorough import THOROUGH

from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.reasoner import Store

EXAMPLES = settings(
    max_examples=200 if THOROUGH else 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
RECURSION_LIMIT = 24  # every iteration of an example that exceeds it is slower than the one before


@pytest.fixture
def on_the_model(monkeypatch):
    """Make drivers keep their states in dicts."""

    def new_store():
        dictionary = Dictionary()
        return Store(dictionary, lambda plan: ModelBackend(plan, dictionary))

    monkeypatch.setattr(Driver, "new_store", staticmethod(new_store))
    monkeypatch.setattr(Driver, "recursion_limit", RECURSION_LIMIT)


@pytest.mark.usefixtures("on_the_model")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_holds(law, monkeypatch):
    """A law of the reasoner holds with its state in the model."""
    run(law, EXAMPLES, monkeypatch)
