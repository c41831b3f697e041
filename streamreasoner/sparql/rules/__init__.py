"""How an algebra becomes rules. Invariant: every module writes rules, none reads a text."""
