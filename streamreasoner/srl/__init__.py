"""Rule sets of SPARQL 1.2 RL as programs of rules."""
