"""What is checked and done between the runs of a pipeline."""
