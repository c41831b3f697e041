"""What the words of a record, a row and a journal mean: the readers of `records/layout`."""
