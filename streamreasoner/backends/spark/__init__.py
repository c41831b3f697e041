"""State spread over a Spark cluster: the leaves as DataFrame operations over Delta tables."""
