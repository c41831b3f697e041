"""Plans as text, for `explain-plan`. Invariant: printing changes nothing."""
