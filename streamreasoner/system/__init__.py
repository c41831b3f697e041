"""What the machine provides: disk, memory, Java. Invariant: nothing here knows of the reasoner."""
