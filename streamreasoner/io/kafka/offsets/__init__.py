"""Offsets of topics. Invariant: they are looked up, and none is committed to Kafka."""
