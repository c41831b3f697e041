"""The demonstration: a university streams through a real broker and pipeline on this machine."""
