"""Validation reports of shapes. Invariant: a report is of one epoch, and changes nothing."""
