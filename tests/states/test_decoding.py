"""What messages are decoded to is pinned: a replay by another release gives the same ids."""

from __future__ import annotations

from states import decoding


def test_decoding_changes_by_intent_only():
    """Ids, multiplicities, event times, rejections and dead letters of generated batches."""
    assert decoding.digests() == decoding.stored(), (
        "The codec gives other ids, or rejects otherwise. An epoch that another release began and "
        "this one replays must give the same ids. If only rejections changed, and by intent, renew "
        "tests/states/decoding.json: python tests/states/decoding.py"
    )
