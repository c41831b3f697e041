"""Who publishes: claims to topics, and processes that live. Invariant: one process owns a topic."""
