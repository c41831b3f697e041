"""Runs official test suites on the package and on its peers; see `run.py`."""
