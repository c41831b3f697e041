"""What several formats write with."""
