"""Records in the arena: facts, entries, groups, and what finds them."""
