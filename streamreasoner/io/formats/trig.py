"""TriG, in documents and messages."""

from __future__ import annotations

from functools import partial

import pyoxigraph

from streamreasoner.io.formats.reading.oxigraph import read_document, read_values

read_facts = partial(read_document, syntax=pyoxigraph.RdfFormat.TRIG)
read_messages = partial(read_values, syntax=pyoxigraph.RdfFormat.TRIG)
