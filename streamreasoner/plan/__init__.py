"""From rules to delta plans: lower, rewrite, differentiate, order, explain."""
