"""Into the reasoner and out of it: formats, Kafka, Spark. Invariant: nothing here evaluates."""
