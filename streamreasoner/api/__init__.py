"""The Python API: a Reasoner and its terms. Invariant: needs neither Kafka nor Spark."""
