"""Encoded collections: what flows between the codec, the engine, the tables and the sink."""
