"""What several formats read with."""
