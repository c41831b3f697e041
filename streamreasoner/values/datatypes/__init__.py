"""Datatypes: their lexical forms, and their values. Invariant: nothing here raises."""
