"""Who connects, and what for: encryption, login, rights. Invariant: no client is connected here."""
