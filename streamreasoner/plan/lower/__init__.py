"""A checked program to plans, rule by rule. Invariant: multiplicities are preserved."""
