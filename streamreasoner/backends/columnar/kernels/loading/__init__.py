"""Loading lattices: their heads wait in a log, and become facts group by group."""
