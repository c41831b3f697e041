"""What Spark offers to itself only. Invariant: a version without it is slower, or refused by name.

Calls of classes that are not of Spark's interfaces for users are here, so that a new version of
Spark is looked at in one place. What is elsewhere in `io` are private attributes of PySpark.
"""
