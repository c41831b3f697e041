"""More than the pipeline can take, or than Kafka takes from it. Invariant: memory stays bounded."""
