"""Python in tasks of Spark. Invariant: nothing here runs unless a task does."""
