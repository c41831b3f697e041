"""The laws on the model: the same tests and the same engine, with states in dicts.

What the kernels are compared with thus keeps the laws itself.
"""

from __future__ import annotations

import pytest
from backend_laws import LAWS, run
from hypothesis import HealthCheck, settings
from model import ModelBackend
from thorough import THOROUGH

from streamreasoner.engine.session import Store
from streamreasoner.rdf.dictionary import Dictionary

EXAMPLES = settings(
    max_examples=200 if THOROUGH else 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def new_store():
    """A store that keeps its state in dicts."""
    dictionary = Dictionary()
    return Store(dictionary, lambda plan: ModelBackend(plan, dictionary))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_holds(law, monkeypatch):
    """A law of the reasoner holds with its state in the model."""
    run(law, new_store, EXAMPLES, monkeypatch)
