"""What changes of facts change in the rows of a tree."""
