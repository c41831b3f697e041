"""Encoded collections, passed between the codec, the engine, the tables and the sink."""
