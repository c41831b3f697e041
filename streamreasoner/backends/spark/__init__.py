"""State distributed over a Spark cluster: plan leaves as DataFrame operations on Delta tables."""
