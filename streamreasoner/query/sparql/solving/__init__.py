"""Patterns to solutions. Invariant: joins run on ids, in SQL, and only expressions read terms."""
