"""Kafka: topics, consumers, the transactional sink. Invariant: what it says names the remedy."""
