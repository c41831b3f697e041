"""From Kafka through Spark to Kafka. Invariant: no message is lost; a bad one is dead-lettered."""
