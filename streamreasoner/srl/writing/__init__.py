"""Rules as texts of SPARQL-RL."""
