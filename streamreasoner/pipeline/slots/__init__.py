"""Epochs that are slots of event time. Invariant: no update is added to a slot that is closed."""
