"""JSON-LD without remote contexts, in documents and messages."""

from __future__ import annotations

from functools import partial

import pyoxigraph

from streamreasoner.io.formats.reading.graphs.oxigraph import read_document, read_values

SYNTAX = pyoxigraph.RdfFormat.JSON_LD

read_facts = partial(read_document, syntax=SYNTAX)
read_messages = partial(read_values, syntax=SYNTAX)
