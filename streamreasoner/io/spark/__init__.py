"""Spark Structured Streaming as the source of batches."""
