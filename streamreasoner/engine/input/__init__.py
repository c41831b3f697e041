"""Input whose time, source or origin matters. Invariant: what leaves here is ordinary updates."""
