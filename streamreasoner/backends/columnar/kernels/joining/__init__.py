"""Delta plans over the records: lookups, joins and computations."""
