"""What one epoch, or one change of the program, did to the records."""
