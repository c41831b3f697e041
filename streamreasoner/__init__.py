"""Incremental reasoning over RDF streams: every consequence of a rule program, kept up to date."""

from __future__ import annotations

from streamreasoner.errors import StreamReasonerError
from streamreasoner.reasoner import Diff, Reasoner, Update

__all__ = ["Diff", "Reasoner", "StreamReasonerError", "Update", "__version__"]

__version__ = "0.1.0"
