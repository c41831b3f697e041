"""From rules to delta plans: lower, rewrite, differentiate, explain."""
