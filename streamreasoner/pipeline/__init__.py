"""The pipeline from Kafka to Kafka. Invariant: no message is lost; bad ones are dead-lettered."""
