"""The rule language: parsing, printing and diagnostics."""
